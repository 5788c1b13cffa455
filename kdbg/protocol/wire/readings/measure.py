"""How many bytes a grammar takes, and what becomes of them, found without reading values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

from ....budget import ESCAPE, ESCAPED, MEMORY
from ..nodes import LengthPrefixed, NullableStruct, WireArray, WireStruct, children, contains
from ..nodes.leaves import UINT16, UVARINT, VARINT, Fixed, Length, Node, RemainingBytes, Sized, UuidNode, Varint
from ..records import RecordsNode
from ..records.sets import CODEC_MASK, MESSAGE, RecordFormat, entries, interpret, records_weight
from .codegen import CodeGenerator, fixed_size
from .runtime import Unreadable


def end_of(node: Node, data: bytes, start: int) -> int:
    """Return where the bytes of a node end that begin at `start`.

    Raise `Unreadable` or `WireError` where annotate.py breaks off, which is also where the data ends too early.
    """
    end = _end(node, data, start)
    if end > len(data):
        raise Unreadable
    return end


def _end(node: Node, data: bytes, pos: int) -> int:
    """Return what `end_of` does; the end may be past that of the data."""
    if isinstance(node, Fixed):
        return pos + node.size
    if isinstance(node, WireStruct):
        pos = _tags(node, data, pos) if node.front else pos
        for field in node.fields:
            pos = _end(field.node, data, pos)
        return _tags(node, data, pos) if node.tags is not None and not node.front else pos
    if isinstance(node, (Sized, RecordsNode)):
        size, pos = _length(node.length, data, pos)
        return pos + max(size, 0)
    if isinstance(node, WireArray):
        count, pos = _length(node.length, data, pos)
        if isinstance(node.item, Fixed):
            return pos + max(count, 0) * node.item.size
        for _ in range(count):
            if pos > len(data):
                raise Unreadable
            pos = _end(node.item, data, pos)
        return pos
    if isinstance(node, UuidNode):
        return pos + 16
    if isinstance(node, NullableStruct):
        if data[pos] not in (1, node.null & 0xFF):
            raise Unreadable
        return _end(node.struct, data, pos + 1) if data[pos] == 1 else pos + 1
    if isinstance(node, LengthPrefixed):
        size, pos = _length(node.length, data, pos)
        if _end(node.item, data, pos) != pos + size:
            raise Unreadable
        return pos + size
    return max(pos, len(data)) if isinstance(node, RemainingBytes) else _number(node, data, pos)[1]


def _number(node: Node, data: bytes, pos: int) -> tuple[int, int]:
    """Return a number and where it ends; of a leaf that is read as construct does, any value."""
    if isinstance(node, Fixed):
        end = pos + node.size
        if end > len(data):
            raise Unreadable
        return int.from_bytes(data[pos:end], "big", signed=node.code.islower()), end
    if isinstance(node, Varint) and data[pos] < 0x80:
        return (data[pos] >> 1) ^ -(data[pos] & 1) if node.signed else data[pos], pos + 1
    return interpret(node)(data, pos)


def _length(length: Length, data: bytes, pos: int) -> tuple[int, int]:
    number, pos = _number(length.number, data, pos)
    if number < length.bias - 1:
        raise Unreadable
    return number - length.bias, pos


def _tags(node: WireStruct, data: bytes, pos: int) -> int:
    if data[pos] == 0:
        return pos + 1
    count, pos = (len(data), pos) if node.front else _number(UVARINT, data, pos)
    for _ in range(count):
        if node.front:
            size, pos = _number(VARINT, data, pos)
            if size == 0:
                break
            tag, pos = _number(UINT16, data, pos)
        else:
            tag, pos = _number(UVARINT, data, pos)
            size, pos = _number(UVARINT, data, pos)
        known = (node.tags or {}).get(tag)
        if size < 0 or pos + size > len(data) or (known and _end(known.node, data, pos) != pos + size):
            raise Unreadable
        pos += size
    return pos


LEAF = 120
"""Bytes that a number, a text or a list takes, with what a view writes of it."""


@cache
def cost_of(node: Node) -> int:
    """Return how many bytes a node's value takes at least, beside the bytes of its texts; arrays count as empty."""
    if isinstance(node, WireStruct):
        return sys.getsizeof(dict.fromkeys(node.keys)) + sum(cost_of(child.node) for child in children(node))
    if isinstance(node, NullableStruct):
        return cost_of(node.struct)
    return cost_of(node.item) if isinstance(node, LengthPrefixed) else LEAF


@cache
def weigher(header: Node, body: Node) -> Callable[[bytes, int], None]:
    """Return what weighs messages of this grammar."""
    walk = Weigher()
    walk.names |= {"spent": MEMORY.spent, "weight_of_set": weight_of_set, "text_weight": text_weight}
    walk.line(1, "weight = text_weight(data)")
    walk.read(header, 1)
    walk.read(body, 1)
    walk.flush(1)
    return walk.define("weigh(data, most, pos=0)", "None")  # type: ignore[no-any-return]


def begin(walk: CodeGenerator, header: Node, body: Node) -> None:
    """Write how a reading of whole messages begins: what may take too much memory is weighed, and all of it is left."""

    def weigh(data: bytes) -> None:
        """Raise `WireError` for a message of which the reading would make more than memory allows."""
        weigher(header, body)(data, int(MEMORY.message / walk.factor))

    walk.names |= {"memory": MEMORY, "weigh": weigh}
    walk.line(1, "if len(data) > memory.heavy: weigh(data)")
    if contains(body, lambda node: isinstance(node, RecordsNode)):
        walk.line(1, "memory.left = memory.message")


class Weigher(CodeGenerator):
    """Writes a function that passes over a message, and adds up what its arrays and records take."""

    def array(self, node: WireArray, depth: int) -> str:
        size, cost = fixed_size(node.item), cost_of(node.item)
        count, depth = self.counted(node.length, node.nullable, depth), depth + 1
        self.line(depth, f"if {count} * {size or 1} > len(data) - pos: raise Unreadable")
        self.line(depth, f"weight += {count} * {cost}")
        self.line(depth, "if weight > most: raise spent()")
        if size:
            self.line(depth, f"pos += {count} * {size}")
        else:
            self.loop(count, depth, lambda depth: self.item(node.item, depth))
        return ""

    def records(self, node: RecordsNode, depth: int) -> str:
        format = self.named("format", node.format)
        size, depth = self.counted(node.length, node.nullable, depth), depth + 1
        self.line(depth, f"if {size} > len(data) - pos: raise Unreadable")
        self.line(depth, f"weight += weight_of_set(data, pos, pos + {size}, {format})")
        self.line(depth, "if weight > most: raise spent()")
        self.line(depth, f"pos += {size}")
        return ""


def text_weight(data: bytes) -> int:
    """Return what the bytes of a message take as text, at most."""
    return len(data) + ESCAPE * (len(data) - len(data.translate(None, ESCAPED)))


def weight_of_set(data: bytes, start: int, end: int, format: RecordFormat) -> int:
    """Return what the records of a record set take; those that are compressed are reckoned when they are not."""
    weight = 0
    for entry in entries(data, start, end, format):
        if entry.magic != 2:
            weight += MESSAGE
        elif not data[entry.start + format.crc_at + 5] & CODEC_MASK:
            count = int.from_bytes(data[entry.start + format.header_size - 4 : entry.start + format.header_size], "big")
            weight += records_weight(count, entry.end - entry.start)
    return weight
