"""A grammar as a generated function that makes plain Python values: the fast reading, for bulk (see codegen.py).

`reader(node)` returns `read(data, start) -> (value, end)`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ..nodes import Field, Fixed, LengthPrefixed, Node, NullableStruct, WireArray, WireStruct
from ..records import RecordsNode
from ..records.sets import Readers, decode
from . import runtime
from .codegen import UNREADABLE, CodeGenerator, fixed_size
from .measure import begin

__all__ = [
    "COMPILED", "UNREADABLE", "Reader", "items_reader", "message_reader", "read_whole", "reader", "records_reader",
]  # fmt: skip
Reader = Callable[[bytes, int], tuple[Any, int]]


@cache
def reader(node: Node, *, shallow: bool = False, raw: bool = False) -> Reader:
    """Return the compiled reader of a node, made on first use.

    `shallow` leaves the records of batches unread; `raw` leaves record sets as bytes.
    """
    walk = Values(shallow, raw=raw)
    result = walk.read(node, 1)
    walk.flush(1)
    return walk.define("read(data, pos=0)", f"{result}, pos")  # type: ignore[no-any-return]


def read_whole(grammar: Node, data: bytes) -> Any:
    """Return the value of bytes that the grammar reads without error to the last byte; None where it does not."""
    try:
        value, end = reader(grammar)(data, 0)
    except UNREADABLE:
        return None
    return value if end == len(data) else None


@cache
def items_reader(node: Node) -> Callable[[bytes, int, int], tuple[list[Any], int]]:
    """Return a compiled reader like `reader`'s that takes a third argument, the number of items to read."""
    return Values(False).items_function(node)  # type: ignore[no-any-return]


@cache
def message_reader(header: Node, body: Node, *, shallow: bool = False, raw: bool = False) -> Reader:
    """Return the compiled reader of a header and the body after it; its value is the pair of both."""
    walk = Values(shallow, raw=raw)
    begin(walk, header, body)
    pair = f"({walk.read(header, 1)}, {walk.read(body, 1)})"
    walk.flush(1)
    return walk.define("read(data, pos=0)", f"{pair}, pos")  # type: ignore[no-any-return]


@cache
def records_reader(record: Node) -> Callable[[bytes, int, int, int, int], tuple[list[Any], int]]:
    """Return a reader like `items_reader`'s for records; it adds a base offset and a base timestamp to their deltas."""
    writer = Values(False, {"offset_delta": "offset", "timestamp_delta": "timestamp"})
    return writer.items_function(record)  # type: ignore[no-any-return]


COMPILED = Readers(reader, items_reader, records_reader)
"""The compiled readers for record sets."""
NOTHING: Mapping[str, str] = {}


class Values(CodeGenerator):
    """Writes a function that makes values; each method returns the expression of its node's value.

    `absolute` names fields that are deltas to a base, an argument of the function, and what the sum is called.
    """

    def __init__(self, shallow: bool, absolute: Mapping[str, str] = NOTHING, *, raw: bool = False) -> None:
        super().__init__()
        self.shallow, self.absolute, self.raw = shallow, absolute, raw

    def items_function(self, node: Node) -> Any:
        items = self.items(node, "count", 1)
        bases = "".join(f", base_{name}" for name in self.absolute.values())
        return self.define(f"read(data, pos, count{bases})", f"{items}, pos")

    def leaf(self, node: Node, depth: int) -> str:
        return self.value(node, depth)

    def struct(self, node: WireStruct, depth: int) -> str:
        if not node.front:
            return self.plain_struct(node, depth)
        self.flush(depth)
        value = self.fresh("s")
        self.line(depth, f"{value} = {{}}")
        self.tags(node, value, depth)
        fields = self.plain_struct(WireStruct(node.fields, None), depth)
        self.flush(depth)
        self.line(depth, f"{value}.update({fields})")
        return value

    def plain_struct(self, node: WireStruct, depth: int) -> str:
        """Write what reads a structure without optional fields in front of it."""
        entries = {}
        for field in node.fields:
            value, name = self.read(field.node, depth), self.absolute.get(field.name)
            entries[field.name] = f"{field.name!r}: {value}" if name is None else f"{name!r}: base_{name} + {value}"
        first = [entries.pop(name) for name in self.absolute if name in entries]  # where and when come before what
        parts = [*first, *entries.values()]
        if node.tags is None:
            return "{" + ", ".join(parts) + "}"
        self.flush(depth)
        value = self.fresh("s")
        self.line(depth, f"{value} = {{{', '.join(parts)}}}")
        self.tags(node, value, depth)
        return value

    def tag_reader(self, field: Field) -> Reader:
        return reader(field.node, shallow=self.shallow, raw=self.raw)

    def array(self, node: WireArray, depth: int) -> str:
        value = self.fresh()
        count = self.counted(node.length, node.nullable, depth, f"{value} = None")
        items = self.items(node.item, count, depth + 1)
        self.line(depth + 1, f"{value} = {items}")
        return value

    def items(self, item: Node, count: str, depth: int) -> str:
        items = self.fresh("a")
        if isinstance(item, Fixed) and not item.boolean:
            name = f"many_{item.code}"
            self.names[name] = runtime.MANY[item.code]
            self.line(depth, f"{items} = list({name}[{count}](data, pos))")
            self.line(depth, f"pos += {count} * {item.size}")
            return items
        if isinstance(item, WireStruct) and item.fields and not item.front:
            numbers = [field.node for field in item.fields if isinstance(field.node, Fixed) and fixed_size(field.node)]
            if len(numbers) == len(item.fields):  # any bytes of them are sound
                return self.numbers(item, items, count, depth)
        self.one_by_one(item, items, count, depth)
        return items

    def one_by_one(self, item: Node, items: str, count: str, depth: int) -> None:
        """Write a loop that reads items."""
        self.line(depth, f"{items} = []")
        self.line(depth, f"for _ in range({count}):")
        value = self.read(item, depth + 1)
        self.flush(depth + 1)
        self.line(depth + 1, f"{items}.append({value})")

    def numbers(self, item: WireStruct, items: str, count: str, depth: int) -> str:
        """Write what reads structures of nothing but numbers, all of them at once.

        Tagged fields are mostly none, which zeros after the numbers say; if one is not, items are read one by one.
        """
        size = sum(field.node.size for field in item.fields)  # type: ignore[attr-defined]
        end, raw = self.fresh("e"), self.fresh("raw")
        if item.tags is None:
            self.line(depth, f"{end} = pos + {count} * {size}")
            self.line(depth, f"if {end} > len(data): raise Unreadable")
            self.line(depth, f"{raw} = data[pos:{end}]")
        else:
            self.line(depth, f"{end} = pos + {count} * {size + 1}")
            self.line(depth, f"{raw} = data[pos:{end}]")
            self.line(depth, f"if {raw}[{size}::{size + 1}].count(0) != {count}:")
            self.one_by_one(item, items, count, depth + 1)
            self.line(depth, "else:")
            depth += 1
        codes = "".join(field.node.code for field in item.fields)  # type: ignore[attr-defined]
        values = [self.fresh() for _ in item.fields]
        entries = ", ".join(f"{field.name!r}: {value}" for field, value in zip(item.fields, values, strict=True))
        layout = struct.Struct(f">{codes}{'' if item.tags is None else 'x'}")
        many, again = self.named("many", layout.iter_unpack), self.named("again", runtime.Again())
        made = f"[{{{entries}}} for {', '.join(values)}, in {many}({raw})]"
        self.line(depth, f"if {count} < {runtime.MANY_ITEMS}:")  # others are remembered by their bytes
        self.line(depth + 1, f"{items} = {made}")
        self.line(depth, "else:")
        self.line(depth + 1, f"try: {items} = [*map(copy, {again}[{raw}])]")
        self.line(depth + 1, "except KeyError:")
        self.line(depth + 2, f"{items} = {made}")
        self.line(depth + 2, f"{again}.note({raw}, {items})")
        self.line(depth, f"pos = {end}")
        return items

    def nullable_struct(self, node: NullableStruct, depth: int) -> str:
        value = self.fresh()
        self.marked(node, depth, f"{value} = None")
        inner = self.read(node.struct, depth + 1)
        self.flush(depth + 1)
        self.line(depth + 1, f"{value} = {inner}")
        return value

    def prefixed(self, node: LengthPrefixed, depth: int) -> str:
        end = self.begin_prefixed(node, depth)
        inner, value = self.read(node.item, depth), self.fresh()
        self.flush(depth)
        self.line(depth, f"{value} = {inner}")
        self.line(depth, f"if pos != {end}: raise Unreadable")
        return value

    def records(self, node: RecordsNode, depth: int) -> str:
        if self.raw:
            return self.sized(node.sized(), depth, keep=True)
        value = self.fresh()
        read = self.named(
            "records", lambda data: decode(data, node.format, COMPILED, cut=node.cut, shallow=self.shallow)
        )
        size = self.counted(node.length, node.nullable, depth, f"{value} = None")
        self.line(depth + 1, f"if pos + {size} > len(data): raise Unreadable")
        self.line(depth + 1, f"{value} = {read}(data[pos:pos + {size}])")
        self.line(depth + 1, f"pos += {size}")
        return value


FrontReader = Callable[[bytes], Mapping[str, Any]]
"""Returns the fields of a sound message up to the last that is wanted, by their names."""


@cache
def front_reader(header: Node, body: WireStruct, names: tuple[str, ...]) -> FrontReader | None:
    """Return what reads these fields of a body after such a header; None where the body has none of them.

    Tagged fields follow all others, so the complete body is read for one.
    """
    wanted = [i for i, field in enumerate(body.fields) if field.name in names]
    tagged = any(field.name in names for field in (body.tags or {}).values())
    if not (wanted or tagged) or body.front:
        return None
    part = body if tagged else WireStruct(body.fields[: wanted[-1] + 1], None)
    read_both = message_reader(header, part, shallow=True)

    def read(data: bytes) -> Mapping[str, Any]:
        (_, fields), _ = read_both(data, 0)
        return fields  # type: ignore[no-any-return]

    return read
