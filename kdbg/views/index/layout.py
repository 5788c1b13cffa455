"""The form of an index: blocks of exchanges one after another, a summary as JSON, and a trailer with a checksum.

A block has four parts, each compressed: what its exchanges have in common, as JSON; the number of its kind for each
exchange; `COLUMNS` of numbers; lists of pieces, as JSON. Numbers are stored byte by byte: first the first byte of each
number, then the second ones. No bytes of messages are stored.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...protocol.wire.language import Direction

MAGIC = b"kdbg index 5\n"
TRAILER = struct.Struct("<QQI")
"""Where the summary begins, its bytes, the CRC-32 of all before the trailer."""
NO_HALF, PIECES = -1, -2
"""Where the bytes of a message are: from 0 on a place in the capture, else one of these: no half; `PIECES` less the
number of a list of the block, which has pieces: places in the capture, and how many bytes are there."""
HALF = {
    "place": "q", "size": "I", "first_time": "q", "last_time": "q", "first_packet": "q", "last_packet": "q",
    "missing": "q",
}  # fmt: skip
"""The numbers of a half, and their types as `array` calls them."""
SIDES: tuple[Direction, Direction] = ("request", "response")
COLUMNS = {"correlation_id": "i", "repeats": "I"} | {
    f"{side}_{name}": code for side in SIDES for name, code in HALF.items()
}
SAME = {"repeats": ""} | {
    f"{side}_{name}": other and f"{side}_{other}"
    for side in SIDES
    for name, other in (("last_time", "first_time"), ("last_packet", "first_packet"), ("missing", ""))
}
"""Columns that are not stored where they are the same as another, or all 0."""


class Unfit(Exception):
    """The capture gets no index, or the state at hand is not kept in it: the text says why."""


class Columns(dict[str, "array[int]"]):
    """The numbers of a block by the names of `COLUMNS`, each made when it is first used."""

    def __init__(self, stored: bytes, count: int, there: Iterable[str]) -> None:
        super().__init__()
        self._stored, self._count, self._places = stored, count, dict[str, int]()
        place = 0
        for name in there:
            self._places[name] = place
            place += count * array(COLUMNS[name]).itemsize

    def __missing__(self, name: str) -> array[int]:
        place = self._places.get(name)
        if place is not None:
            self[name] = column(self._stored, self._count, place, COLUMNS[name])
        else:
            self[name] = self[SAME[name]] if SAME[name] else array(COLUMNS[name], [0]) * self._count
        return self[name]


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


class Counts(NamedTuple):
    """What was counted when exchanges were handed out: for a reading that ends with one of these."""

    packets: int
    connections: int
    other_connections: int
    lost: list[int] | None
    problems: list[Any]


class Summary(NamedTuple):
    """What an index says of the capture as a whole."""

    environment: list[Any]
    """What readings depend on beside the file: see `cache.environment`."""
    identity: list[Any]
    """The size of the capture, the time of its last change, and a hash of parts of it."""
    name: str
    bytes: int
    other: int
    first_time: int | None
    last_time: int | None
    exchanges: int
    counts: list[Any]
    """`Counts` at its end."""
    findings: list[Any]
    """Findings of connections after the last exchange, each after the peers."""
    topics: list[list[str]]
    """The names of topic ids, in the order in which they were learnt."""
    blocks: list[Any]
    checkpoint: list[int] | None
    """Where the state of the reading before its last packets is, and its bytes: see checkpoint.py; then how many blocks
    and exchanges are before it, and how many of these were searched. None where it is not kept."""


def planes(numbers: array[int]) -> bytes:
    """Return the first bytes of all numbers, then the second bytes, and so on."""
    data, width = numbers.tobytes(), numbers.itemsize
    return b"".join([data[place::width] for place in range(width)])


def column(stored: Sequence[int], count: int, place: int, code: str) -> array[int]:
    """Return the numbers that `planes` made bytes of, which begin at a place."""
    found = array(code)
    width = found.itemsize
    data = bytearray(count * width)
    for byte in range(width):
        data[byte::width] = stored[place + byte * count : place + (byte + 1) * count]
    found.frombytes(data)
    return found
