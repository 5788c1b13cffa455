"""Record batches and messages known by their structure, where a checksum is wrong or the end is missing."""

from __future__ import annotations

from typing import NamedTuple

from ...protocol.grammars.records import record_format
from ...protocol.wire.records.sets import crc32, crc32c
from ..messages.score import YEARS

HEADER, CRC_AT, LENGTH_AT, MAGIC_AT = record_format.header_size, record_format.crc_at, 8, 16
LARGEST = 128 << 20


class Mended(NamedTuple):
    """A field that is not as it should be: its path, where it stands, what it says and what it should say."""

    path: str
    start: int
    says: int
    should: int
    size: int


class BatchGuess(NamedTuple):
    """A record batch: `mended` is a field in front that is wrong, `proved` whether its checksum is right.

    `cut`: it says that it is longer than the bytes. `doubts` are fields whose values no peer would write.
    """

    proved: bool
    cut: bool
    mended: Mended | None = None
    doubts: tuple[str, ...] = ()


def batch(data: bytes) -> BatchGuess | None:
    """Return what is known of a record batch that begins with the bytes; None where they are none.

    Two of three must be right, one byte being wrong at most: its length, its magic, its checksum.
    """
    if len(data) < CRC_AT + 4:
        return None
    length, magic, crc = _int(data, LENGTH_AT), data[MAGIC_AT], _int(data, CRC_AT) & 0xFFFFFFFF
    fits = length >= HEADER - 12 and 12 + length == len(data)
    if not fits and _ends(data) and magic == 2:
        fits = True
    end = 12 + length if HEADER <= 12 + length <= len(data) else len(data)
    summed = crc32c(memoryview(data)[CRC_AT + 4 : end])
    proved = summed == crc
    proved_whole = proved or crc32c(memoryview(data)[CRC_AT + 4 :]) == crc
    if magic == 2 and proved and end == 12 + length:
        return BatchGuess(True, False)
    if magic == 2 and proved_whole:
        return BatchGuess(True, False, Mended("batch_length", LENGTH_AT, length, len(data) - 12, 4))
    if fits and proved and len(data) > HEADER:
        return BatchGuess(True, False, Mended("magic", MAGIC_AT, magic, 2, 1))
    if fits and magic == 2:
        return BatchGuess(False, False, None, doubts(data))
    cut = magic == 2 and 12 + length > len(data) and length < LARGEST
    odd = doubts(data)
    return (
        BatchGuess(False, True, None, odd) if cut and (_begins(data) or (len(odd) < 2 and not any(data[:3]))) else None
    )


def _ends(data: bytes) -> bool:
    """Return whether the lengths of batches lead to the end of the bytes, two batches or more, or into the last."""
    at = count = 0
    while len(data) - at > MAGIC_AT:
        length = _int(data, at + LENGTH_AT)
        if length < HEADER - 12 or data[at + MAGIC_AT] != 2:
            return False
        at, count = at + 12 + length, count + 1
    return count > 1


def _begins(data: bytes) -> bool:
    """Return whether the first 17 bytes are those of a batch beyond doubt, whatever follows."""
    return not any(data[:4]) and _int(data, LENGTH_AT) < 1 << 24 and 0 <= _int(data, 12) < 1 << 16


def doubts(data: bytes) -> tuple[str, ...]:
    """Return the fields of a batch's header that no peer would write so, as far as the header is there."""
    last, count = _int(data, 23), _int(data, 57)
    times = {path: _int(data, at, 8) for path, at in (("base_timestamp", 27), ("max_timestamp", 35))}
    checks = (
        ("partition_leader_epoch", 16, _int(data, 12) >= -1),
        ("attributes", 23, _int(data, 21, 2) in range(0x80) and _int(data, 21, 2) & 7 <= 4),
        ("last_offset_delta", 27, last in range(1 << 24)),
        *((path, 43, time in YEARS or time in (-1, 0)) for path, time in times.items()),
        ("producer_id", 51, _int(data, 43, 8) >= -1),
        ("producer_epoch", 53, _int(data, 51, 2) >= -1),
        ("records_count", HEADER, 0 < count <= last + 1),
    )
    return tuple(path for path, end, sound in checks if len(data) >= end and not sound)


def message(data: bytes) -> bool:
    """Return whether a message of magic 0 or 1, without offset and size, is all of the bytes; by its checksum."""
    return len(data) >= 14 and data[4] <= 1 and crc32(memoryview(data)[4:]) == _int(data, 0) & 0xFFFFFFFF


def _int(data: bytes, at: int, size: int = 4) -> int:
    return int.from_bytes(data[at : at + size], "big", signed=True)
