"""What generated readings call: varints, tagged fields, many numbers at once, and notes of what is odd.

Whatever is odd raises `Unreadable`, or an `IndexError` or `struct.error` of its own; nothing is explained here. What
leaves no doubt about any field of a message is noted in the argument `odd` of the readings' functions, and read on
after; where that is None nobody wants to hear of it, and it is unreadable as all else that is odd.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from ..nodes.leaves import VARINT

Known = dict[int, tuple[str, Callable[[bytes, int], tuple[Any, int]]]]
"""The tagged fields that a structure knows: tag -> (name, compiled reader of the value)."""


class Unreadable(IndexError):
    """Raised by generated code; says nothing on purpose."""


def uvarint(data: bytes, pos: int) -> tuple[int, int]:
    """Read an unsigned varint at `pos`; return it and the position after it.

    Raise `Unreadable` if it takes more than ten bytes or more than it needs, `IndexError` if the data ends in it.
    """
    value = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise Unreadable
    if byte == 0 and shift:
        raise Unreadable
    return value, pos


def tags(data: bytes, pos: int, value: dict[str, Any], known: Known) -> int:
    """Read the tagged fields after one structure into `value`."""
    count, pos = (data[pos], pos + 1) if data[pos] < 128 else uvarint(data, pos)
    last = -1
    for _ in range(count):
        tag, pos = (data[pos], pos + 1) if data[pos] < 128 else uvarint(data, pos)
        size, pos = (data[pos], pos + 1) if data[pos] < 128 else uvarint(data, pos)
        pos = _tag(data, pos, value, known, tag, size, last)
        last = tag
    return pos


def front_tags(data: bytes, pos: int, value: dict[str, Any], known: Known) -> int:
    """Read the optional fields in front of one structure into `value`."""
    last = -1
    while True:
        length, pos = uvarint(data, pos)  # zigzag: even numbers are twice the length, odd ones negative
        if not length:
            return pos
        if length & 1 or length >> VARINT.bits:
            raise Unreadable
        tag = data[pos] << 8 | data[pos + 1]
        pos = _tag(data, pos + 2, value, known, tag, length >> 1, last)
        last = tag


def _tag(data: bytes, pos: int, value: dict[str, Any], known: Known, tag: int, size: int, last: int) -> int:
    """Read the value of one tagged field, which follows that of the tag `last`."""
    if tag <= last or tag not in known:
        raise Unreadable
    name, read = known[tag]
    value[name], end = read(data, pos)
    if end != pos + size or end > len(data):
        raise Unreadable
    return end


class Many(dict[int, Callable[[bytes, int], tuple[Any, ...]]]):
    """How many -> what unpacks so many numbers of one type; remembers small counts, which is nearly all there are."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code

    def __missing__(self, count: int) -> Callable[[bytes, int], tuple[Any, ...]]:
        unpack = struct.Struct(f">{count}{self.code}").unpack_from
        if count < 256:
            self[count] = unpack
        return unpack


MANY = {code: Many(code) for code in "bBhHiIqd"}


MOST_UUIDS = 4096


class Uuids(dict[bytes, UUID]):
    """16 bytes -> their UUID; remembers those that came, as ids of topics come again and again."""

    def __missing__(self, data: bytes) -> UUID:
        if len(self) >= MOST_UUIDS:
            self.clear()
        found = self[data] = UUID(bytes=data)
        return found


UUIDS = Uuids()


MANY_ITEMS, MOST_ARRAYS, LONGEST_ARRAY = 8, 256, 4096
"""Items from which on an array is worth remembering; arrays that are remembered, and bytes of one of them."""


class Again(dict[bytes, list[dict[str, Any]]]):
    """Arrays of numbers that came twice, by their bytes: a copy is made in half the time that reading takes.

    Brokers say the same of their APIs on each connection, and of the same partitions in each answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self._once: set[bytes] = set()

    def note(self, data: bytes, items: list[dict[str, Any]]) -> None:
        """Take note of an array; remember it, as a copy, where it comes for the second time."""
        if data in self._once:
            if len(self) >= MOST_ARRAYS:
                self.clear()
            self[data] = list(map(dict.copy, items))
        elif len(data) <= LONGEST_ARRAY:
            if len(self._once) >= MOST_ARRAYS:
                self._once.clear()
            self._once.add(data)


class Surplus(NamedTuple):
    """Bytes that are left over from `start` on, after a message that is complete."""

    start: int
    length: int


class WrongChecksum(NamedTuple):
    """The batch that begins at `start` says one checksum, its bytes give another."""

    start: int
    says: int
    gives: int


Odd: TypeAlias = Surplus | WrongChecksum


def surplus(odd: list[Odd] | None, start: int, end: int) -> None:
    """Note that a message ends at `start`, its bytes at `end`; raise `Unreadable` where it needs more than those."""
    if odd is None or start > end:
        raise Unreadable
    odd.append(Surplus(start, end - start))


def wrong_checksum(odd: list[Odd] | None, start: int, says: int, gives: int) -> None:
    """Note a batch whose checksum does not match."""
    if odd is None:
        raise Unreadable
    odd.append(WrongChecksum(start, says, gives))
