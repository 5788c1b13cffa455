"""The form of an index: blocks of exchanges one after another, a summary as JSON, and a trailer with a checksum.

A block has four parts, each compressed: what its exchanges have in common, as JSON; the `Keys` of each exchange; its
row; bytes that are not in the capture in one piece. A row is what `serialization.NUMBERS` has of an exchange, and where
the bytes of its two halves are. Rows are stored byte by byte: first the first byte of each row, then the second ones.
"""

from __future__ import annotations

import struct
from array import array
from typing import Any, NamedTuple

MAGIC = b"kdbg index 1\n"
TRAILER = struct.Struct("<QQI")
"""Where the summary begins, its bytes, the CRC-32 of all before the trailer."""
HALVES = struct.Struct("<qq")
"""Where the bytes of request and response are: from 0 on a place in the capture, else one of these:"""
NO_HALF, PIECES, KEPT = -1, -2, -3
"""No half; `PIECES` less twice a place in the block's bytes, where a list of `PIECE` is; `KEPT` less twice the place of
the bytes themselves."""
PIECE = struct.Struct("<qI")
"""A place in the capture, and how many bytes are there."""
COUNT = struct.Struct("<I")
"""How many pieces follow."""


class Columns(NamedTuple):
    """Numbers of all exchanges of a block."""

    number: array[int]
    correlation_id: array[int]
    asked: array[int]
    """The bytes of the request, -1 where there is none."""
    first_time: array[int]
    asked_until: array[int]
    asked_packet: array[int]
    asked_last: array[int]
    answered: array[int]
    """The bytes of the response, -1 where there is none."""
    answered_at: array[int]
    answered_packet: array[int]
    answered_last: array[int]


PLACES = {
    "number": (4, "q"), "correlation_id": (20, "i"), "asked": (25, "q"), "first_time": (33, "q"),
    "asked_until": (41, "q"), "asked_packet": (49, "q"), "asked_last": (57, "q"), "answered": (73, "q"),
    "answered_at": (81, "q"), "answered_packet": (97, "q"), "answered_last": (105, "q"),
}  # fmt: skip
"""Where `Columns` are in a row, and the type of their numbers as `array` calls it."""


class Bounds(NamedTuple):
    """What the exchanges of a block lie between, and where the block is in the index."""

    start: int
    sizes: list[int]
    """Bytes of its parts."""
    exchanges: int
    first_number: int
    first_time: int
    last_time: int
    slowest: int
    """The longest latency in nanoseconds, -1 where none is known."""
    first_packet: int
    last_packet: int
    kinds: dict[str, int]
    """How many findings of each kind the exchanges have, read no further than for that."""
    is_read: bool
    """Whether it is read in any case: it has findings of connections, or messages that were searched for mistakes."""


class Summary(NamedTuple):
    """What an index says of the capture as a whole."""

    environment: list[Any]
    """What readings depend on beside the file: see `cache.environment`."""
    identity: list[Any]
    """The size of the capture, the time of its last change, and a hash of parts of it."""
    name: str
    packets: int
    bytes: int
    other: int
    first_time: int | None
    last_time: int | None
    lost: list[int] | None
    problems: list[Any]
    exchanges: int
    connections: int
    other_connections: int
    findings: list[Any]
    """Findings of connections after the last exchange, each after the peers."""
    topics: list[list[str]]
    """The names of topic ids, in the order in which they were learnt."""
    blocks: list[Any]


def planes(rows: bytes, width: int) -> bytes:
    """Return rows of so many bytes as the first bytes of all rows, then the second bytes, and so on."""
    return b"".join([rows[place::width] for place in range(width)])


def column(stored: bytes, count: int, place: int, code: str) -> array[int]:
    """Return a column of numbers out of what `planes` returned."""
    found = array(code)
    width = found.itemsize
    data = bytearray(count * width)
    for byte in range(width):
        data[byte::width] = stored[(place + byte) * count : (place + byte + 1) * count]
    found.frombytes(data)
    return found


def columns(stored: bytes, count: int) -> Columns:
    """Return all `Columns` of a block."""
    return Columns(*(column(stored, count, *PLACES[name]) for name in Columns._fields))
