"""A grammar weighed on bytes: how surprising it would be if they were that, in bits; read once, no values are made.

It goes as far as the bytes do, so that a message that was cut off is weighed like a whole one, and it gives up as soon
as the bytes make so little sense that another reading must be better. What the numbers mean says
messages/score.py.
"""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..errors import WireError
from ..wire.nodes import (
    Fixed,
    Length,
    LengthPrefixed,
    Node,
    NullableStruct,
    Rest,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
)
from ..wire.records.node import RecordsNode
from .score import NONSENSE, number, number_bits, text_bits

BATCH = 49
"""The shortest batch, without its offset and length."""
FEW = 64
"""So many items are nothing special."""
MANY = 100_000
"""More items than that are in no message that somebody pasted."""
UNTIDY = (WireError, struct.error, IndexError, ValueError, UnicodeDecodeError, TypeError)


class Weight(NamedTuple):
    """What a reading costs: `bits`, how many values no peer would write (`faults`), where it ended.

    `cut`: the bytes ended before the message did, inside `path` if that is a field's.
    """

    bits: float
    faults: int
    end: int
    cut: bool


class _Ended(Exception):
    """The bytes end inside the message."""


class _Impossible(Exception):
    """No message has these bytes in this place."""


def weigh(nodes: Iterable[Node], data: bytes, start: int, most: float, announced: int | None = None) -> Weight | None:
    """Weigh the nodes, one behind the other, on the bytes from `start`; None where they are impossible.

    `most` is what a reading may cost before it is given up. `announced` is where the message ends by its size: what
    would go beyond that is impossible.
    """
    weigher = _Weigher(data, start, most, announced)
    try:
        for node in nodes:
            weigher.read(node, "")
    except _Ended:
        return Weight(weigher.bits, weigher.faults, len(data), True)
    except (_Impossible, RecursionError):
        return None
    return Weight(weigher.bits, weigher.faults, weigher.at, False)


class _Weigher:
    """Where a reading stands in the bytes, and what it has cost so far."""

    def __init__(self, data: bytes, start: int, most: float, announced: int | None) -> None:
        self.data, self.at, self.most = data, start, most
        self.end = len(data)
        self.announced = announced
        self.bits, self.faults = 0.0, 0

    def read(self, node: Node, name: str) -> None:
        _READS.get(type(node), _Weigher.other)(self, node, name)
        if self.bits > self.most:
            raise _Impossible

    def fault(self, bits: float = NONSENSE) -> None:
        self.bits += bits
        self.faults += 1

    def left(self, wanted: int) -> None:
        """Raise `_Ended` where fewer bytes are left, with their cost."""
        if self.at + wanted > self.end:
            if self.announced is not None and self.at + wanted > self.announced:
                raise _Impossible
            self.bits += 4.0 * (self.end - self.at)
            self.at = self.end
            raise _Ended

    def fixed(self, node: Fixed, name: str) -> None:
        self.left(node.size)
        value = node.unpack(self.data[self.at : self.at + node.size])[0]
        self.at += node.size
        if node.boolean and value > 1:
            self.fault()
        self.priced(number_bits(node, value, name), 8.0 * node.size)

    def priced(self, bits: float, raw: float) -> None:
        """Add the cost of a value; more than its bytes and nonsense make it a fault."""
        self.bits += bits
        self.faults += bits >= raw + NONSENSE

    def varint(self, node: Varint, name: str) -> None:
        self.bits += number(self.number(node))

    def number(self, node: Node) -> int:
        """Return the number that a length or a varint is."""
        if isinstance(node, Fixed):
            self.left(node.size)
            value: int = node.unpack(self.data[self.at : self.at + node.size])[0]
            self.at += node.size
            return value
        if isinstance(node, Varint):
            return self.base128(node)
        return int(self.parsed(node))

    def base128(self, node: Varint) -> int:
        raw = shift = 0
        while True:
            self.left(1)
            byte = self.data[self.at]
            self.at += 1
            raw |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= node.bits:
                raise _Impossible
        if raw >> node.bits or (not byte and shift > 7):
            raise _Impossible
        return (raw >> 1) ^ -(raw & 1) if node.signed else raw

    def parsed(self, node: Node) -> Any:
        stream = io.BytesIO(self.data)
        stream.seek(self.at)
        try:
            value = node._parse(stream, None, "")
        except UNTIDY:
            raise _Impossible from None
        self.bits += 8.0 * (stream.tell() - self.at)
        self.at = stream.tell()
        return value

    def other(self, node: Node, name: str) -> None:
        for base in type(node).__mro__[1:]:
            if base in _READS:
                _READS[base](self, node, name)
                return
        self.parsed(node)

    def length(self, length: Length, nullable: bool) -> int:
        size = self.number(length.number) - length.bias
        if size < -1:
            raise _Impossible
        if size < 0 and not nullable:
            self.fault()
        return size

    def beyond(self, size: int) -> None:
        """Raise `_Impossible` where so many bytes do not fit in what the size in front announces."""
        if self.announced is not None and self.at + size > self.announced:
            raise _Impossible

    def sized(self, node: Sized, name: str) -> None:
        size = self.length(node.length, node.nullable)
        if size <= 0:
            self.bits += 4.0 if node.text else 3.0
            return
        self.beyond(size)
        data = self.data[self.at : self.at + size]
        cut = len(data) < size
        if node.text:
            self.text(data, size, node.kind, name, cut)
        else:
            self.bits += number(size) + 8.0 * len(data)
        self.at += len(data)
        if cut:
            raise _Ended

    def text(self, data: bytes, size: int, kind: str, name: str, cut: bool) -> None:
        try:
            value = data.decode("utf-8", "ignore" if cut and len(data) > 4 else "strict")
        except UnicodeDecodeError:
            self.fault(NONSENSE + 9.0 * len(data))
            return
        if size > 32767:
            self.fault()
        before = self.bits
        self.bits += number(size) - number(len(value)) + text_bits(value, kind, name)
        self.faults += any(letter < " " or "\x7f" <= letter < "\xa0" for letter in value)
        if self.bits - before > 12.0 * len(data) + NONSENSE:
            self.faults += 1

    def array(self, node: WireArray, name: str) -> None:
        count = self.length(node.length, node.nullable)
        if count <= 0:
            self.bits += 4.0
            return
        self.beyond(count * _least(node.item))
        self.bits += number(count) + max(2.0 * math.log2(count / FEW), 0.0)
        if count > MANY:
            self.fault()
        for _ in range(count):
            self.read(node.item, name)

    def struct(self, node: WireStruct, name: str) -> None:
        if node.front:
            self.other_struct(node)
            return
        for field in node.fields:
            self.read(field.node, field.name)
        if node.tags is not None:
            self.tags(node)

    def other_struct(self, node: WireStruct) -> None:
        """Read a structure with optional fields in front, as no release has them, as a value."""
        self.parsed(node)

    def tags(self, node: WireStruct) -> None:
        count, last = self.number(_UVARINT), -1
        self.bits += 0.5 if not count else 8.0
        if count > 32:
            raise _Impossible
        for _ in range(count):
            tag, size = self.number(_UVARINT), self.number(_UVARINT)
            self.beyond(size)
            if tag <= last:
                raise _Impossible
            last, end = tag, self.at + size
            known = (node.tags or {}).get(tag)
            if known is None:
                self.bits += NONSENSE + 8.0 * min(size, self.end - self.at)
                self.left(size)
                self.at = end
            else:
                self.bits += 8.0
                self.read(known.node, known.name)
            if self.at != end:
                raise _Impossible

    def nullable_struct(self, node: NullableStruct, name: str) -> None:
        self.left(1)
        mark = self.data[self.at]
        self.at += 1
        self.bits += 1.0
        if mark == 1:
            self.read(node.struct, name)
        elif mark != node.null & 0xFF:
            raise _Impossible

    def prefixed(self, node: LengthPrefixed, name: str) -> None:
        size = self.length(node.length, False)
        self.beyond(size)
        end = self.at + size
        self.bits += 1.0
        self.read(node.item, name)
        if self.at != end:
            raise _Impossible

    def uuid(self, node: UuidNode, name: str) -> None:
        self.left(16)
        data = self.data[self.at : self.at + 16]
        self.at += 16
        sound = data[6] >> 4 == 4 and data[8] >> 6 == 2
        known = not any(data[:15])
        self.priced(3.0 if known else 122.0 if sound else 128.0 + NONSENSE, 128.0)

    def rest(self, node: Rest, name: str) -> None:
        self.bits += 8.0 * (self.end - self.at)
        self.at = self.end

    def records(self, node: RecordsNode, name: str) -> None:
        size = self.length(node.length, node.nullable)
        if size <= 0:
            self.bits += 3.0
            return
        self.beyond(size)
        data = self.data[self.at : self.at + size]
        sound = _is_set(data, size)
        self.bits += 2.0 + number(size) + (2.0 * len(data) if sound else 9.0 * len(data) + NONSENSE)
        self.faults += not sound
        self.at += len(data)
        if len(data) < size:
            raise _Ended


def _is_set(data: bytes, size: int) -> bool:
    """Return whether bytes begin as a record set of so many bytes does, as far as they go."""
    if len(data) < 17:
        return not any(data[:4]) and len(data) < size
    length = int.from_bytes(data[8:12], "big", signed=True)
    least = 14 if data[16] < 2 else BATCH
    return data[16] <= 2 and not any(data[:2]) and least <= length <= size - 12


def _least(node: Node) -> int:
    """Return how many bytes a node takes at least."""
    if isinstance(node, (Fixed, UuidNode)):
        return getattr(node, "size", 16)
    if isinstance(node, WireStruct):
        return max(1, sum(_least(field.node) for field in node.fields[:8]))
    return 1


_UVARINT = Varint("UNSIGNED_VARINT", 32, signed=False)
_READS: dict[type[Node], Callable[[Any, Any, str], None]] = {
    Fixed: _Weigher.fixed, Varint: _Weigher.varint, Sized: _Weigher.sized, WireStruct: _Weigher.struct,
    WireArray: _Weigher.array, NullableStruct: _Weigher.nullable_struct, LengthPrefixed: _Weigher.prefixed,
    UuidNode: _Weigher.uuid, Rest: _Weigher.rest, RecordsNode: _Weigher.records,
}  # fmt: skip
