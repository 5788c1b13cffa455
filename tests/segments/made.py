"""Segments that are written for a test: batches of known contents, and what a walk finds in bytes."""

from __future__ import annotations

import io
from typing import Any

from kdbg.payloads.segments import File, SegmentPiece, open_file
from kdbg.payloads.segments.piece import Read
from kdbg.protocol.grammars.records import record_format
from kdbg.protocol.wire.records import build_set

TIME = 1_700_000_000_000


def batch(offset: int, count: int = 2, *, size: int = 10, **header: Any) -> bytes:
    """A record batch; its records have values of so many bytes."""
    records = [{"offset": offset + i, "timestamp": TIME + offset + i, "value": b"v" * size} for i in range(count)]
    return build_set([{"base_offset": offset, "records": records} | header], record_format, "")


def message(offset: int, magic: int = 1, **fields: Any) -> bytes:
    """A message of an old format."""
    time = {"timestamp": TIME + offset} if magic else {}
    return build_set([{"magic": magic, "offset": offset, "value": b"value"} | time | fields], record_format, "")


def flipped(data: bytes, at: int) -> bytes:
    """The data with one bit another."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def reading(data: bytes, most: int = 1 << 30) -> Read:
    """What gives the data, in pieces of at most so many bytes."""
    stream = io.BytesIO(data)
    return lambda size: stream.read(min(size, most))


def opened(data: bytes, name: str = "orders-3/00000000000000000000.log", most: int = 1 << 30) -> File:
    """The file that data is, under a name."""
    found = open_file(name, data[: 1 << 14], reading(data, most))
    assert found is not None
    return found


def pieces(data: bytes, name: str = "orders-3/00000000000000000000.log", most: int = 1 << 30) -> list[SegmentPiece]:
    """What the file is made of."""
    return list(opened(data, name, most).pieces())


def findings(found: list[SegmentPiece]) -> list[tuple[int, str]]:
    """(position, kind) of all that is odd."""
    return [(piece.position, finding.kind) for piece in found for finding in piece.findings]
