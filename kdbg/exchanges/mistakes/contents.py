"""Mistakes in a batch whose checksum matches: its program wrote all of it so, records included."""

from __future__ import annotations

from collections.abc import Iterator

from ...protocol.findings.quirks import Sure
from ...protocol.wire.nodes import VARINT, build
from ...protocol.wire.records.compression import CODECS
from ...protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL
from .batch import ATTRIBUTES_AT, COUNT_AT, LAST_AT, RECORDS_AT, BatchMistake, int32, with_crc, with_int32
from .records import RecordReader, decompressed, zigzagged
from .search import Budget


class Contents:
    """Examines the attributes, counts and records of batches."""

    def __init__(self, budget: Budget) -> None:
        self._records = RecordReader(budget)

    def are_whole(self, batch: bytes) -> bool:
        """Return whether the records of a batch that is not compressed end where it does."""
        return self._records.end(batch, RECORDS_AT, int32(batch, COUNT_AT)) == len(batch)

    def mistakes(self, batch: bytes, produced: bool) -> Iterator[BatchMistake]:
        """Yield the mistakes in a batch whose checksum matches: its program wrote all of it so."""
        attributes = int.from_bytes(batch[ATTRIBUTES_AT:LAST_AT], "big")
        count, last = int32(batch, COUNT_AT), int32(batch, LAST_AT)
        codec = attributes & CODEC_MASK
        records = batch[RECORDS_AT:]
        if codec:
            unpacked = decompressed(codec, records)
            if unpacked is None:
                yield from self._other_codec(batch, codec, count)
                return
            if self._records.end(unpacked, 0, count) != len(unpacked):
                found = self._records.counted(unpacked, 0)
                if found and found != count:
                    corrected = with_int32(batch, COUNT_AT, found)
                    yield BatchMistake("wrong-record-count", COUNT_AT, 4, str(count), str(found), corrected)
                return
        elif self._records.end(batch, RECORDS_AT, count) != len(batch):
            yield from self._in_records(batch, count)
            return
        if produced and last != count - 1:
            corrected = with_int32(batch, LAST_AT, count - 1)
            yield BatchMistake("wrong-last-offset-delta", LAST_AT, 4, str(last), str(count - 1), corrected)
        if produced and any(batch[:8]) and not attributes & (APPEND_TIME | CONTROL):
            base = str(int.from_bytes(batch[:8], "big", signed=True))
            yield BatchMistake("wrong-base-offset", 0, 8, base, "0", bytes(8) + batch[8:], Sure.LIKELY)

    def _in_records(self, batch: bytes, count: int) -> Iterator[BatchMistake]:
        """Yield the mistake by which the records of a batch do not end where it does."""
        found = self._records.counted(batch, RECORDS_AT)
        if found and found != count:
            corrected = with_int32(batch, COUNT_AT, found)
            yield BatchMistake("wrong-record-count", COUNT_AT, 4, str(count), str(found), corrected)
            return
        values = self._records.read(batch, RECORDS_AT, count, plain=True)
        if values is not None and values.end == len(batch):
            corrected = with_crc(batch[:RECORDS_AT] + zigzagged(batch, values))
            yield BatchMistake(
                "missing-zigzag", RECORDS_AT, 1, f"{batch[RECORDS_AT]:02x}", f"{corrected[RECORDS_AT]:02x}", corrected,
                path=".records[0]",
            )  # fmt: skip
            return
        values = self._records.read(batch, RECORDS_AT, count, lengths=False)
        if values is not None and values.end == len(batch) and values.wrong:
            corrected = batch
            for start, end, _, size in reversed(values.wrong):
                corrected = corrected[:start] + build(VARINT, size) + corrected[end:]
            start, end, actual, size = values.wrong[0]
            index = values.starts.index(start)
            yield BatchMistake(
                "wrong-record-length", start, end - start, str(actual), str(size), with_crc(corrected),
                path=f".records[{index}]",
            )  # fmt: skip
            return
        for number, name in CODECS.items():
            unpacked = decompressed(number, batch[RECORDS_AT:])
            if unpacked is not None and self._records.end(unpacked, 0, count) == len(unpacked):
                yield _codec(batch, 0, number, name)
                return

    def _other_codec(self, batch: bytes, codec: int, count: int) -> Iterator[BatchMistake]:
        """Yield the mistake in a batch whose records are not compressed as its attributes declare."""
        if self._records.end(batch, RECORDS_AT, count) == len(batch):
            yield _codec(batch, codec, 0, "no codec")
            return
        for number, name in CODECS.items():
            unpacked = decompressed(number, batch[RECORDS_AT:]) if number != codec else None
            if unpacked is not None and self._records.end(unpacked, 0, count) == len(unpacked):
                yield _codec(batch, codec, number, name)
                return


def _codec(batch: bytes, declared: int, number: int, name: str) -> BatchMistake:
    attributes = batch[ATTRIBUTES_AT + 1] & ~CODEC_MASK | number
    corrected = with_crc(batch[: ATTRIBUTES_AT + 1] + bytes([attributes]) + batch[LAST_AT:])
    actual = CODECS.get(declared, f"codec {declared}") if declared else "no codec"
    return BatchMistake("undeclared-codec", ATTRIBUTES_AT, 2, actual, name, corrected)
