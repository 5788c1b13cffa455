"""Mistakes in record batches: their lengths, checksums and contents, and message sets in their place.

The checksum proves most of them: the batch's program computed it over its own mistake, or it matches when the mistake
is undone.
"""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple

from ...errors import WireError
from ...protocol.findings.quirks import Sure
from ...protocol.grammars.records import record_format
from ...protocol.wire.nodes import VARINT, VARLONG, LengthPrefixed, Varint, build
from ...protocol.wire.records.compression import CODECS, decompress
from ...protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL, crc32, crc32c
from ..messages.weigh import ROOT, Impossible, Todo, Weigher
from .changes import length_bytes
from .search import Budget, Mistake, RecordSetAt, Subject, sized

LENGTH_AT: Final = 8
MAGIC_AT: Final = 16
CRC_AT: Final = record_format.crc_at
ATTRIBUTES_AT: Final = CRC_AT + 4
LAST_AT: Final = CRC_AT + 6
RECORDS_AT: Final = record_format.header_size
COUNT_AT: Final = RECORDS_AT - 4
LARGEST = 1 << 23
"""Bytes of decompressed records that are examined."""
STEPS = 2
"""Fields that a record counts as in the budget."""
PRODUCE, FIRST_BATCHES = 0, 3
"""The key of Produce, and its first version that takes record batches only."""
STARTS = {
    0: "base_offset", 8: "batch_length", 12: "partition_leader_epoch", 16: "magic", 17: "crc", 21: "attributes",
    23: "last_offset_delta", 27: "base_timestamp", 57: "records_count", 61: "records",
}  # fmt: skip


class BatchMistake(NamedTuple):
    """A mistake in a batch: where in its record set, and the batch as it should be (b"" where that is unknown)."""

    kind: str
    start: int
    length: int
    actual: str
    expected: str
    corrected: bytes = b""
    sure: Sure = Sure.CERTAIN
    path: str = ""


def int32(data: bytes, at: int) -> int:
    """Return the INT32 at a place."""
    return int.from_bytes(data[at : at + 4], "big", signed=True)


def with_crc(batch: bytes) -> bytes:
    """Return a batch with the length and the checksum that it should have."""
    length = (len(batch) - LENGTH_AT - 4).to_bytes(4, "big")
    checksum = crc32c(batch[ATTRIBUTES_AT:]).to_bytes(4, "big")
    return batch[:LENGTH_AT] + length + batch[LENGTH_AT + 4 : CRC_AT] + checksum + batch[ATTRIBUTES_AT:]


class RecordsReader(Weigher):
    """Reads records; notes where they start, the lengths that are wrong, and all varints."""

    starts: list[int]
    wrong: list[tuple[int, int, int, int]]
    """(start, end, actual, expected) of each."""
    varints: list[tuple[int, int, int]]
    """(start, end, value) of each."""

    def base128(self, node: Varint) -> int:
        start, value = self.at, super().base128(node)
        self.varints.append((start, self.at, value))
        return value


def zigzagged(batch: bytes, found: RecordsReader) -> bytes:
    """Return records without zigzag as they should be."""
    parts, ends = [], [*found.starts[1:], found.at]
    for start, end in zip(found.starts, ends, strict=True):
        (_, at, _), *varints = (one for one in found.varints if start <= one[0] < end)
        record = b""
        for first, last, value in varints:
            record += batch[at:first] + build(VARLONG, value)
            at = last
        record += batch[at:end]
        parts.append(build(VARINT, len(record)) + record)
    return b"".join(parts)


def unpacked(codec: int, data: bytes) -> bytes | None:
    """Return records as they are inside of what is compressed; None where it is of another codec, or too large."""
    if not codec:
        return data
    try:
        return decompress(codec, data, limit=LARGEST)
    except (WireError, ValueError, IndexError, zlib.error):
        return None


class Contents:
    """Examines the attributes, counts and records of batches, as long as the budget lasts."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def end(self, data: bytes, at: int, count: int) -> int:
        """Return where so many records end; -1 where they do not."""
        found = self.read(data, at, count)
        return found.at if found is not None else -1

    def read(
        self, data: bytes, at: int, count: int, *, plain: bool = False, lengths: bool = True
    ) -> RecordsReader | None:
        """Read records; `plain`: their varints have no zigzag; not `lengths`: each ends where its fields do."""
        item = record_format.records.item
        assert isinstance(item, LengthPrefixed)
        if not 0 <= count <= len(data):
            return None
        reader = RecordsReader(data, at, float("inf"), len(data))
        reader.plain_varints = plain
        reader.starts, reader.wrong, reader.varints = [], [], []
        try:
            for _ in range(count):
                self._budget.take(STEPS)
                start = reader.at
                reader.starts.append(start)
                size = reader.number(item.length.number)
                after = reader.at
                reader.todo = Todo(Weigher.read, item.item, ROOT, None)
                reader.run()
                if reader.at != after + size:
                    if lengths:
                        return None
                    reader.wrong.append((start, after, size, reader.at - after))
        except (Impossible, RecursionError):
            return None
        return reader

    def mistakes(self, batch: bytes, produced: bool) -> BatchMistake | None:
        """Return the first mistake in a batch whose checksum matches: its program wrote all of it so."""
        attributes = int.from_bytes(batch[ATTRIBUTES_AT:LAST_AT], "big")
        count, last = int32(batch, COUNT_AT), int32(batch, LAST_AT)
        codec = attributes & CODEC_MASK
        records = unpacked(codec, batch[RECORDS_AT:])
        if records is None:
            return self._other_codec(batch, codec, count)
        if self.end(records, 0, count) != len(records):
            at = found = 0
            while at < len(records) and (one := self.read(records, at, 1)) is not None:
                at, found = one.at, found + 1
            if found and found != count and at == len(records):
                corrected = with_crc(batch[:COUNT_AT] + found.to_bytes(4) + batch[RECORDS_AT:])
                return BatchMistake("wrong-record-count", COUNT_AT, 4, str(count), str(found), corrected)
            return self._in_records(batch, count) if not codec else None
        if produced and last != count - 1:
            corrected = with_crc(batch[:LAST_AT] + (count - 1).to_bytes(4, signed=True) + batch[LAST_AT + 4 :])
            return BatchMistake("wrong-last-offset-delta", LAST_AT, 4, str(last), str(count - 1), corrected)
        if produced and any(batch[:8]) and not attributes & (APPEND_TIME | CONTROL):
            base = str(int.from_bytes(batch[:8], "big", signed=True))
            return BatchMistake("wrong-base-offset", 0, 8, base, "0", bytes(8) + batch[8:], Sure.LIKELY)
        return None

    def _in_records(self, batch: bytes, count: int) -> BatchMistake | None:
        """Return the mistake by which the records of a batch do not end where it does."""
        values = self.read(batch, RECORDS_AT, count, plain=True)
        if values is not None and values.at == len(batch):
            corrected = with_crc(batch[:RECORDS_AT] + zigzagged(batch, values))
            return BatchMistake(
                "missing-zigzag", RECORDS_AT, 1, f"{batch[RECORDS_AT]:02x}", f"{corrected[RECORDS_AT]:02x}", corrected,
                path=".records[0]",
            )  # fmt: skip
        values = self.read(batch, RECORDS_AT, count, lengths=False)
        if values is not None and values.at == len(batch) and values.wrong:
            corrected = batch
            for start, end, _, size in reversed(values.wrong):
                corrected = corrected[:start] + build(VARINT, size) + corrected[end:]
            start, end, actual, size = values.wrong[0]
            index = values.starts.index(start)
            return BatchMistake(
                "wrong-record-length", start, end - start, str(actual), str(size), with_crc(corrected),
                path=f".records[{index}]",
            )  # fmt: skip
        return self._other_codec(batch, 0, count)

    def _other_codec(self, batch: bytes, declared: int, count: int) -> BatchMistake | None:
        """Return the mistake in a batch whose records are not compressed as its attributes declare."""
        names = {0: "no codec", **CODECS}
        for number, name in names.items():
            records = unpacked(number, batch[RECORDS_AT:]) if number != declared else None
            if records is not None and self.end(records, 0, count) == len(records):
                attributes = batch[ATTRIBUTES_AT + 1] & ~CODEC_MASK | number
                corrected = with_crc(batch[: ATTRIBUTES_AT + 1] + bytes([attributes]) + batch[LAST_AT:])
                actual = names.get(declared, f"codec {declared}")
                return BatchMistake("undeclared-codec", ATTRIBUTES_AT, 2, actual, name, corrected)
        return None


def batch_mistake(subject: Subject, sets: list[RecordSetAt], budget: Budget) -> Mistake | None:
    """Return the first mistake in the record sets of a message."""
    produced = subject.api.key == PRODUCE and subject.direction == "request"
    contents = Contents(budget)
    for one in sets:
        data = subject.frame[one.start : one.end]
        new = produced and subject.version >= FIRST_BATCHES
        found = _in_set(data, produced, new, contents)
        if found is None:
            continue
        corrected = b""
        if found.corrected:
            length = length_bytes(one.node.length, len(found.corrected))
            corrected = sized(subject.frame[: one.length_at] + length + found.corrected + subject.frame[one.end :])
        return subject.mistake(
            found.kind, path=one.path + found.path, start=one.start + found.start, length=found.length,
            actual=found.actual, expected=found.expected, sure=found.sure, corrected=corrected,
        )  # fmt: skip
    return None


def _in_set(data: bytes, produced: bool, new: bool, contents: Contents) -> BatchMistake | None:
    """Return the mistakes in the bytes of a record set."""
    at = number = 0
    while len(data) - at > MAGIC_AT:
        magic = data[at + MAGIC_AT]
        size = 12 + int32(data, at + LENGTH_AT)
        old = data[at + 16 : at + size] if magic < 2 and new and 26 <= size <= len(data) - at else b""
        if old and crc32(old) == int.from_bytes(data[at + 12 : at + 16], "big"):
            return BatchMistake("message-set", at + MAGIC_AT, 1, str(magic), "2")
        if magic != 2 or len(data) - at < RECORDS_AT:
            return None
        end = at + LENGTH_AT + 4 + int32(data, at + LENGTH_AT)
        found = _in_batch(data, at, end, produced, contents)
        if found is not None:
            after = at + len(found.corrected) if found.kind == "wrong-batch-length" else min(end, len(data))
            whole = data[:at] + found.corrected + data[after:] if found.corrected else b""
            return found._replace(start=at + found.start, corrected=whole, path=f"[{number}]{found.path}")
        if end <= at:
            return None
        at, number = end, number + 1
    return None


def _in_batch(data: bytes, at: int, end: int, produced: bool, contents: Contents) -> BatchMistake | None:
    crc = int.from_bytes(data[at + CRC_AT : at + ATTRIBUTES_AT], "big")
    if at + RECORDS_AT <= end <= len(data) and crc32c(data[at + ATTRIBUTES_AT : end]) == crc:
        return contents.mistakes(data[at:end], produced)
    ends = [len(data)]  # or where another batch may begin
    for start in range(at + RECORDS_AT, min(len(data) - RECORDS_AT, at + (1 << 13))):
        if data[start + MAGIC_AT] == 2 and not any(data[start : start + 2]) and data[start + 12] in (0, 255):
            ends.append(start)
    for other in ends:
        if other != end and crc32c(data[at + ATTRIBUTES_AT : other]) == crc:
            actual, length = int32(data, at + LENGTH_AT), other - at - LENGTH_AT - 4
            corrected = data[at : at + LENGTH_AT] + length.to_bytes(4, "big") + data[at + LENGTH_AT + 4 : other]
            return BatchMistake("wrong-batch-length", LENGTH_AT, 4, str(actual), str(length), corrected)
    if at + RECORDS_AT <= end <= len(data):
        return _checksum(data[at:end], crc, contents)
    return None


def _checksum(batch: bytes, crc: int, contents: Contents) -> BatchMistake | None:
    """Return the mistake by which the checksum is what it is."""
    right = crc32c(batch[ATTRIBUTES_AT:])
    corrected = with_crc(batch)
    names = {
        crc32(batch[ATTRIBUTES_AT:]): "CRC-32", int.from_bytes(right.to_bytes(4, "little"), "big"): "little-endian",
        right ^ 0xFFFFFFFF: "the complement of the CRC-32C",
    }  # fmt: skip
    if crc in names:
        return BatchMistake("wrong-crc-kind", CRC_AT, 4, names[crc], "a CRC-32C", corrected)
    for start, name in STARTS.items():
        ranges = [batch[start:]]
        if start <= CRC_AT:  # with the checksum itself as 0, or without it
            ranges = [batch[start:CRC_AT] + between + batch[ATTRIBUTES_AT:] for between in (bytes(4), b"")]
        for covered in ranges:
            for kind, function in (("", crc32c), (" with CRC-32", crc32)):
                if function(covered) == crc and (start, kind) != (ATTRIBUTES_AT, ""):
                    return BatchMistake("wrong-crc-range", CRC_AT, 4, name + kind, "attributes", corrected)
    if crc in (0, 0xFFFFFFFF) and contents.end(batch, RECORDS_AT, int32(batch, COUNT_AT)) == len(batch):
        actual = "0" if not crc else "ffffffff"
        return BatchMistake("wrong-crc-kind", CRC_AT, 4, actual, "a CRC-32C", corrected, Sure.LIKELY)
    return None
