"""kdbg's grammars in construct's own classes: what interpreting them costs when nothing of ours is in the way."""

from __future__ import annotations

from typing import Any

import construct as c

from kdbg.protocol.wire.nodes import (
    Fixed,
    Length,
    LengthPrefixed,
    Node,
    NullableStruct,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
)
from kdbg.protocol.wire.records import RecordsNode
from kdbg.protocol.wire.records.sets import RecordFormat

FIXED = {
    "b": c.Int8sb, "B": c.Int8ub, "h": c.Int16sb, "H": c.Int16ub, "i": c.Int32sb, "I": c.Int32ub, "q": c.Int64sb,
    "d": c.Float64b,
}  # fmt: skip


def stock(node: Node) -> c.Construct[Any, Any]:
    """The same layout as construct's documentation would have it written."""
    if isinstance(node, Fixed):
        return c.Flag if node.boolean else FIXED[node.code]
    if isinstance(node, Varint):
        return c.ZigZag if node.signed else c.VarInt
    if isinstance(node, UuidNode):
        return c.Bytes(16)
    if isinstance(node, Sized):
        content = c.GreedyString("utf8") if node.text else c.GreedyBytes
        return _counted(node.length, lambda length: c.FixedSized(length, content))
    if isinstance(node, WireArray):
        item = stock(node.item)
        return _counted(node.length, lambda length: c.Array(length, item))
    if isinstance(node, WireStruct):
        return c.Struct(*_fields(node))
    if isinstance(node, NullableStruct):
        return c.FocusedSeq("value", "present" / c.Int8sb, "value" / c.If(c.this.present == 1, stock(node.struct)))
    if isinstance(node, LengthPrefixed):
        return c.Prefixed(stock(node.length.number), stock(node.item))
    if isinstance(node, RecordsNode):
        return _counted(node.length, lambda length: c.FixedSized(length, c.GreedyRange(_batch(node.format))))
    raise TypeError(type(node).__name__)


def _fields(node: WireStruct) -> list[c.Construct[Any, Any]]:
    fields = [field.name / stock(field.node) for field in node.fields]
    if node.tags is not None:
        tag = c.Struct("tag" / c.VarInt, "data" / c.Prefixed(c.VarInt, c.GreedyBytes))
        fields.append("tagged_fields" / c.PrefixedArray(c.VarInt, tag))
    return fields


def _counted(length: Length, content: Any) -> c.Construct[Any, Any]:
    """A length or count, null where it is negative, then the content."""
    number = stock(length.number)
    present = c.this.length - length.bias >= 0
    return c.FocusedSeq("value", "length" / number, "value" / c.If(present, content(c.this.length - length.bias)))


def _batch(format: RecordFormat) -> c.Construct[Any, Any]:
    """A record batch that is not compressed."""
    record = stock(format.records.item)
    return c.Struct(*_fields(format.batch), "records" / c.Array(c.this.records_count, record))


def parser(header: WireStruct, body: WireStruct) -> c.Construct[Any, Any]:
    """A whole message."""
    return c.Struct("header" / stock(header), "body" / stock(body))
