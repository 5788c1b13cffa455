"""How many bytes a grammar takes, found without reading values: the cheapest judgement of many grammars on few bytes.

`end_of` goes as far as the one that explains (annotate.py): what is odd but readable, such as a null where none may
be, is passed over, and the content of record sets is not looked at. A reader that is compiled costs more than a
hundred of these walks; it is worth that for a grammar that is met again.
"""

from __future__ import annotations

import io

from ..nodes import (
    TAGGED,
    Fixed,
    Length,
    LengthPrefixed,
    Node,
    NullableStruct,
    RemainingBytes,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
)
from ..nodes.tags import read_tags
from ..records.node import RecordsNode
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
    """Return what `end_of` does; the end may be behind that of the data."""
    if isinstance(node, Fixed):
        return pos + node.size
    if isinstance(node, WireStruct):
        return _struct(node, data, pos)
    if isinstance(node, (Sized, RecordsNode)):
        size, pos = _length(node.length, data, pos)
        return pos + max(size, 0)
    if isinstance(node, WireArray):
        return _array(node, data, pos)
    if isinstance(node, UuidNode):
        return pos + 16
    if isinstance(node, NullableStruct):
        return _nullable_struct(node, data, pos)
    if isinstance(node, LengthPrefixed):
        return _prefixed(node, data, pos)
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
    stream = io.BytesIO(data)
    stream.seek(pos)
    return node._parse(stream, None, ""), stream.tell()


def _length(length: Length, data: bytes, pos: int) -> tuple[int, int]:
    number, pos = _number(length.number, data, pos)
    if number < length.bias - 1:
        raise Unreadable
    return number - length.bias, pos


def _struct(node: WireStruct, data: bytes, pos: int) -> int:
    if node.front:
        pos = _tags(node, data, pos)
    for field in node.fields:
        pos = _end(field.node, data, pos)
    return _tags(node, data, pos) if node.tags is not None and not node.front else pos


def _tags(node: WireStruct, data: bytes, pos: int) -> int:
    if data[pos] == 0:
        return pos + 1
    stream = io.BytesIO(data)
    stream.seek(pos)
    for tag, _, size in read_tags(stream, TAGGED, front=node.front):
        pos, known = stream.tell(), (node.tags or {}).get(tag)
        if pos + size > len(data) or (known and _end(known.node, data, pos) != pos + size):
            raise Unreadable
        stream.seek(pos + size)
    return stream.tell()


def _array(node: WireArray, data: bytes, pos: int) -> int:
    count, pos = _length(node.length, data, pos)
    if isinstance(node.item, Fixed):
        return pos + max(count, 0) * node.item.size
    for _ in range(count):
        if pos > len(data):
            raise Unreadable
        pos = _end(node.item, data, pos)
    return pos


def _nullable_struct(node: NullableStruct, data: bytes, pos: int) -> int:
    if data[pos] == 1:
        return _struct(node.struct, data, pos + 1)
    if data[pos] != node.null & 0xFF:
        raise Unreadable
    return pos + 1


def _prefixed(node: LengthPrefixed, data: bytes, pos: int) -> int:
    size, pos = _length(node.length, data, pos)
    if _end(node.item, data, pos) != pos + size:
        raise Unreadable
    return pos + size
