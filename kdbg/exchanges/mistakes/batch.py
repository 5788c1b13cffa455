"""A record batch as bytes: where its fields are, what a mistake in it is, and how one is written anew."""

from __future__ import annotations

from typing import Final, NamedTuple

from ...protocol.findings.quirks import Sure
from ...protocol.grammars.records import record_format
from ...protocol.wire.records.sets import crc32c

LENGTH_AT: Final = 8
MAGIC_AT: Final = 16
CRC_AT: Final = record_format.crc_at
ATTRIBUTES_AT: Final = CRC_AT + 4
LAST_AT: Final = CRC_AT + 6
RECORDS_AT: Final = record_format.header_size
COUNT_AT: Final = RECORDS_AT - 4


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


def with_int32(batch: bytes, at: int, value: int) -> bytes:
    """Return a batch with another INT32 at a place, and its checksum."""
    return with_crc(batch[:at] + value.to_bytes(4, "big", signed=True) + batch[at + 4 :])
