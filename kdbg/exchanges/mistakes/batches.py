"""Mistakes in record batches: their lengths and checksums, and message sets in their place.

The checksum proves most of them: the batch's program computed it over its own mistake, or it matches when the mistake
is undone.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...protocol.findings.quirks import Sure
from ...protocol.wire.records.sets import crc32, crc32c
from .batch import ATTRIBUTES_AT, CRC_AT, LENGTH_AT, MAGIC_AT, RECORDS_AT, BatchMistake, int32, with_crc
from .changes import length_bytes
from .contents import Contents
from .mistake import Mistake, Subject, sized
from .search import Budget, RecordSetAt

PRODUCE, FIRST_BATCHES = 0, 3
"""The key of Produce, and its first version that takes record batches only."""


def batch_mistake(subject: Subject, sets: list[RecordSetAt], budget: Budget) -> Mistake | None:
    """Return the first mistake in the record sets of a message."""
    produced = subject.api.key == PRODUCE and subject.direction == "request"
    contents = Contents(budget)
    for one in sets:
        data = subject.frame[one.start : one.end]
        new = produced and subject.version >= FIRST_BATCHES
        found = next(_in_set(data, produced, new, contents), None)
        if found is not None:
            return _mistake(subject, one, found)
    return None


def _mistake(subject: Subject, at: RecordSetAt, found: BatchMistake) -> Mistake:
    corrected = b""
    if found.corrected:
        length = length_bytes(at.node.length, len(found.corrected))
        corrected = sized(subject.frame[: at.length_at] + length + found.corrected + subject.frame[at.end :])
    return subject.mistake(found.kind)._replace(
        path=at.path + found.path, start=at.start + found.start, length=found.length, actual=found.actual,
        expected=found.expected, sure=found.sure, corrected=corrected,
    )  # fmt: skip


def _in_set(data: bytes, produced: bool, new: bool, contents: Contents) -> Iterator[BatchMistake]:
    """Yield the mistakes in the bytes of a record set."""
    at = number = 0
    while len(data) - at > MAGIC_AT:
        magic = data[at + MAGIC_AT]
        if magic < 2 and new and _is_message(data, at):
            yield BatchMistake("message-set", at + MAGIC_AT, 1, str(magic), "2")
            return
        if magic != 2 or len(data) - at < RECORDS_AT:
            return
        end = at + LENGTH_AT + 4 + int32(data, at + LENGTH_AT)
        for found in _in_batch(data, at, end, produced, contents):
            whole = data[:at] + found.corrected + data[_end(found, at, end, len(data)) :] if found.corrected else b""
            yield found._replace(start=at + found.start, corrected=whole, path=f"[{number}]{found.path}")
        if end <= at:
            return
        at, number = end, number + 1


def _end(found: BatchMistake, at: int, end: int, size: int) -> int:
    return at + len(found.corrected) if found.kind == "wrong-batch-length" else min(end, size)


def _is_message(data: bytes, at: int) -> bool:
    """Return whether a message of magic 0 or 1 is there, by its checksum."""
    end = at + 12 + int32(data, at + LENGTH_AT)
    return at + 26 <= end <= len(data) and crc32(data[at + 16 : end]) == int.from_bytes(data[at + 12 : at + 16], "big")


def _in_batch(data: bytes, at: int, end: int, produced: bool, contents: Contents) -> Iterator[BatchMistake]:
    crc = int.from_bytes(data[at + CRC_AT : at + ATTRIBUTES_AT], "big")
    if at + RECORDS_AT <= end <= len(data) and crc32c(data[at + ATTRIBUTES_AT : end]) == crc:
        yield from contents.mistakes(data[at:end], produced)
        return
    for other in _ends(data, at):
        if other != end and crc32c(data[at + ATTRIBUTES_AT : other]) == crc:
            actual, length = int32(data, at + LENGTH_AT), other - at - LENGTH_AT - 4
            corrected = data[at : at + LENGTH_AT] + length.to_bytes(4, "big") + data[at + LENGTH_AT + 4 : other]
            yield BatchMistake("wrong-batch-length", LENGTH_AT, 4, str(actual), str(length), corrected)
            return
    if at + RECORDS_AT <= end <= len(data):
        yield from _checksum(data[at:end], crc, contents)


def _ends(data: bytes, at: int) -> Iterator[int]:
    """Yield where a batch may end: where the record set does, or where another batch may begin."""
    yield len(data)
    for start in range(at + RECORDS_AT, min(len(data) - RECORDS_AT, at + (1 << 13))):
        if data[start + MAGIC_AT] == 2 and not any(data[start : start + 2]) and data[start + 12] in (0, 255):
            yield start


STARTS = {
    0: "base_offset", 8: "batch_length", 12: "partition_leader_epoch", 16: "magic", 17: "crc", 21: "attributes",
    23: "last_offset_delta", 27: "base_timestamp", 57: "records_count", 61: "records",
}  # fmt: skip


def _checksum(batch: bytes, crc: int, contents: Contents) -> Iterator[BatchMistake]:
    """Yield the mistake by which the checksum is what it is."""
    right = crc32c(batch[ATTRIBUTES_AT:])
    corrected = with_crc(batch)
    names = {
        crc32(batch[ATTRIBUTES_AT:]): "CRC-32", int.from_bytes(right.to_bytes(4, "little"), "big"): "little-endian",
        right ^ 0xFFFFFFFF: "the complement of the CRC-32C",
    }  # fmt: skip
    if crc in names:
        yield BatchMistake("wrong-crc-kind", CRC_AT, 4, names[crc], "a CRC-32C", corrected)
        return
    for start, name in STARTS.items():
        for covered in _ranges(batch, start):
            for kind, function in (("", crc32c), (" with CRC-32", crc32)):
                if function(covered) == crc and (start, kind) != (ATTRIBUTES_AT, ""):
                    yield BatchMistake("wrong-crc-range", CRC_AT, 4, name + kind, "attributes", corrected)
                    return
    if crc in (0, 0xFFFFFFFF) and contents.are_whole(batch):
        actual = "0" if not crc else "ffffffff"
        yield BatchMistake("wrong-crc-kind", CRC_AT, 4, actual, "a CRC-32C", corrected, Sure.LIKELY)


def _ranges(batch: bytes, start: int) -> Iterator[bytes]:
    """Yield the bytes from a place on, with the checksum itself as 0, or without it."""
    if start > CRC_AT:
        yield batch[start:]
        return
    yield batch[start:CRC_AT] + bytes(4) + batch[ATTRIBUTES_AT:]
    if start < CRC_AT:
        yield batch[start:CRC_AT] + batch[ATTRIBUTES_AT:]
