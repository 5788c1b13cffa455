"""A grammar as one flat Python function over a buffer: the fast reading, for bulk.

`reader(node)` returns `read(data, start) -> (value, end)`. Neighbouring fields of fixed width, and the length behind
them, become one `unpack_from`; structures are written out in place, without a call. The function explains nothing:
whatever is odd (bytes that are missing, a null where none may be, bad UTF-8, an unknown tag, a checksum) raises
one of `UNREADABLE`, and then spans.py reads the same bytes again and says what and where. Slices never raise, so
the caller must check that `end` is where the message ends; no list is made longer than the bytes allow.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ...errors import WireError
from ..nodes import (
    Field,
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
from ..records.node import RecordsNode
from . import runtime

if TYPE_CHECKING:
    from ..records.sets import Readers

Reader = Callable[[bytes, int], tuple[Any, int]]
UNREADABLE = (WireError, struct.error, IndexError, UnicodeDecodeError, OverflowError)
"""What a compiled reader raises for bytes that it does not understand."""


@cache
def reader(node: Node, *, shallow: bool = False) -> Reader:
    """Return the compiled reader of a node, made on first use; `shallow` leaves the records of batches unread."""
    return _Writer(shallow).function(node)


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
    return _Writer(False).items_function(node)  # type: ignore[no-any-return]


@cache
def message_reader(header: Node, body: Node, *, shallow: bool = False) -> Reader:
    """Return the compiled reader of a header and the body behind it; its value is the pair of both."""
    return _Writer(shallow).pair_function(header, body)


@cache
def records_reader(record: Node) -> Callable[[bytes, int, int, int, int], tuple[list[Any], int]]:
    """Return a reader like `items_reader`'s for records; it adds a base offset and a base timestamp to their deltas."""
    writer = _Writer(False, {"offset_delta": "offset", "timestamp_delta": "timestamp"})
    return writer.items_function(record)  # type: ignore[no-any-return]


@cache
def record_readers() -> Readers:
    """Return the compiled readers for record sets; import their module when the first such grammar is compiled."""
    from ..records.sets import Readers

    return Readers(reader, items_reader, records_reader)


NOTHING: Mapping[str, str] = {}


class _Writer:
    """Writes the source of one function. `run` gathers fixed-width fields until something variable follows.

    `absolute` names fields that are deltas to a base, an argument of the function, and what the sum is called.
    """

    def __init__(self, shallow: bool, absolute: Mapping[str, str] = NOTHING) -> None:
        self.shallow, self.absolute = shallow, absolute
        self.lines: list[str] = []
        self.run: list[tuple[str, str]] = []
        self.count = 0
        self.names: dict[str, Any] = {
            "uvarint": runtime.uvarint, "tags": runtime.tags, "front_tags": runtime.front_tags, "UUID": uuid.UUID,
            "Unreadable": runtime.Unreadable, "BOOLEANS": (False, True), "bits_set": runtime.bits_set,
        }  # fmt: skip

    def function(self, node: Node) -> Reader:
        result = self.expression(node, 1)
        self.flush(1)
        return self.define("read(data, pos=0)", result)  # type: ignore[no-any-return]

    def pair_function(self, header: Node, body: Node) -> Reader:
        pair = f"({self.expression(header, 1)}, {self.expression(body, 1)})"
        self.flush(1)
        return self.define("read(data, pos=0)", pair)  # type: ignore[no-any-return]

    def items_function(self, node: Node) -> Any:
        items = self.items(node, "count", 1)
        bases = "".join(f", base_{name}" for name in self.absolute.values())
        return self.define(f"read(data, pos, count{bases})", items)

    def define(self, signature: str, result: str) -> Any:
        source = "\n".join([f"def {signature}:", *self.lines, f"    return {result}, pos"])
        exec(compile(source, "<compiled grammar>", "exec"), self.names)
        self.names["read"].source = source
        return self.names["read"]

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def flush(self, depth: int) -> None:
        """Write one unpack for the fixed-width fields gathered so far."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        if codes in ("b", "B"):  # a byte needs no unpacking
            value = self.run.pop()[1]
            self.line(depth, f"{value} = data[pos]{' ^ 128' if codes == 'b' else ''}")
            if codes == "b":
                self.line(depth, f"{value} -= 128")
            self.line(depth, "pos += 1")
            return
        name = f"unpack_{codes}"
        self.names[name] = struct.Struct(">" + codes).unpack_from
        self.line(depth, f"{', '.join(v for _, v in self.run)}, = {name}(data, pos)")
        self.line(depth, f"pos += {struct.calcsize('>' + codes)}")
        self.run.clear()

    def expression(self, node: Node, depth: int) -> str:
        """Write what reads `node`; the answer is the expression of its value, good once `flush` was called."""
        if isinstance(node, Fixed):
            return self.fixed(node)
        if isinstance(node, WireStruct):
            return self.struct(node, depth)
        if isinstance(node, Varint):
            self.flush(depth)
            return self.varint(node, depth)
        if isinstance(node, Sized):
            return self.sized(node, depth)
        if isinstance(node, UuidNode):
            self.run.append(("16s", value := self.fresh()))
            return f"UUID(bytes={value})"
        if isinstance(node, WireArray):
            return self.array(node, depth)
        if isinstance(node, NullableStruct):
            return self.nullable_struct(node, depth)
        if isinstance(node, LengthPrefixed):
            return self.prefixed(node, depth)
        if isinstance(node, RecordsNode):
            return self.records(node, depth)
        if isinstance(node, Rest):
            self.flush(depth)
            value = self.fresh()
            self.line(depth, f"{value} = data[pos:]")
            self.line(depth, "pos = len(data)")
            return value
        return self.interpreted(node, depth)

    def interpreted(self, node: Node, depth: int) -> str:
        """Write a call of construct's own reader for a rare leaf; return the name of the variable with its value."""
        from ..records.sets import interpret

        self.flush(depth)
        value, read = self.fresh(), self.fresh("read")
        self.names[read] = interpret(node)
        self.line(depth, f"{value}, pos = {read}(data, pos)")
        return value

    def fixed(self, node: Fixed) -> str:
        self.run.append((node.code, value := self.fresh()))
        if node.unused:
            return f"({value} if not {value} & {node.unused} else bits_set())"
        return f"BOOLEANS[{value}]" if node.boolean else value

    def struct(self, node: WireStruct, depth: int) -> str:
        if not node.front:
            return self.plain_struct(node, depth)
        self.flush(depth)
        value = self.fresh("s")
        self.line(depth, f"{value} = {{}}")
        self.tags("front_tags", value, node.tags or {}, depth)
        fields = self.plain_struct(WireStruct(node.fields, None), depth)
        self.flush(depth)
        self.line(depth, f"{value}.update({fields})")
        return value

    def plain_struct(self, node: WireStruct, depth: int) -> str:
        """Write what reads a structure without optional fields in front of it."""
        entries = {field.name: self.entry(field, depth) for field in node.fields}
        first = [entries.pop(name) for name in self.absolute if name in entries]  # where and when come before what
        parts = [*first, *entries.values()]
        if node.tags is None:
            return "{" + ", ".join(parts) + "}"
        self.flush(depth)
        value = self.fresh("s")
        self.line(depth, f"{value} = {{{', '.join(parts)}}}")
        self.tags("tags", value, node.tags, depth)
        return value

    def tags(self, read: str, value: str, known: dict[int, Field], depth: int) -> None:
        """Write what reads tagged fields into `value`; mostly there are none, which one byte says in both forms."""
        self.line(depth, "if data[pos]:")
        self.line(depth + 1, f"pos = {read}(data, pos, {value}, {self.known_tags(known)})")
        self.line(depth, "else:")
        self.line(depth + 1, "pos += 1")

    def entry(self, field: Field, depth: int) -> str:
        """Return `key: value` for a dict display; a field in `absolute` gets its base added and the sum's name."""
        value = self.expression(field.node, depth)
        name = self.absolute.get(field.name)
        return f"{field.name!r}: {value}" if name is None else f"{name!r}: base_{name} + {value}"

    def known_tags(self, tags: dict[int, Field]) -> str:
        name = self.fresh("known")
        self.names[name] = {tag: (field.name, reader(field.node, shallow=self.shallow)) for tag, field in tags.items()}
        return name

    def varint(self, node: Varint, depth: int) -> str:
        value = self.fresh()
        self.line(depth, f"{value} = data[pos]")
        self.line(depth, "pos += 1")
        self.line(depth, f"if {value} > 127:")
        self.line(depth + 1, "if 0 < data[pos] < 128:")  # two bytes, by far the most there are: no call
        self.line(depth + 2, f"{value} += (data[pos] << 7) - 128")
        self.line(depth + 2, "pos += 1")
        self.line(depth + 1, "else:")
        self.line(depth + 2, f"{value}, pos = uvarint(data, pos - 1)")
        self.line(depth + 2, f"if {value} >> {node.bits}: raise Unreadable")
        return f"(({value} >> 1) ^ -({value} & 1))" if node.signed else value

    def length(self, length: Length, depth: int) -> str:
        """Write what reads a length or a count; joins the fixed-width fields in front of it where it can."""
        if isinstance(length.number, Fixed):
            self.run.append((length.number.code, name := self.fresh("n")))
            self.flush(depth)
            return name
        if not isinstance(length.number, Varint):
            return self.interpreted(length.number, depth)
        self.flush(depth)
        value, name = self.varint(length.number, depth), self.fresh("n")
        self.line(depth, f"{name} = {value}{f' - {length.bias}' if length.bias else ''}")
        return name

    def guard_null(self, name: str, value: str, nullable: bool, depth: int) -> None:
        """Write what handles a null length, and the `else:` under which the caller writes the rest."""
        self.line(depth, f"if {name} < 0:")
        if nullable:
            self.line(depth + 1, f"if {name} != -1: raise Unreadable")
            self.line(depth + 1, f"{value} = None")
        else:
            self.line(depth + 1, "raise Unreadable")
        self.line(depth, "else:")

    def sized(self, node: Sized, depth: int) -> str:
        name, value = self.length(node.length, depth), self.fresh()
        self.guard_null(name, value, node.nullable, depth)
        cut = f"data[pos:pos + {name}]"
        self.line(depth + 1, f"{value} = {cut}.decode()" if node.text else f"{value} = {cut}")
        self.line(depth + 1, f"pos += {name}")
        return value

    def array(self, node: WireArray, depth: int) -> str:
        name, value = self.length(node.length, depth), self.fresh()
        self.guard_null(name, value, node.nullable, depth)
        items = self.items(node.item, name, depth + 1)
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
        self.line(depth, f"{items} = []")
        self.line(depth, f"for _ in range({count}):")
        value = self.expression(item, depth + 1)
        self.flush(depth + 1)
        self.line(depth + 1, f"{items}.append({value})")
        return items

    def nullable_struct(self, node: NullableStruct, depth: int) -> str:
        self.run.append(("b", marker := self.fresh("n")))
        self.flush(depth)
        value = self.fresh()
        self.line(depth, f"if {marker} == {node.null}:")
        self.line(depth + 1, f"{value} = None")
        self.line(depth, f"elif {marker} == 1:")
        inner = self.expression(node.struct, depth + 1)
        self.flush(depth + 1)
        self.line(depth + 1, f"{value} = {inner}")
        self.line(depth, "else:")
        self.line(depth + 1, "raise Unreadable")
        return value

    def prefixed(self, node: LengthPrefixed, depth: int) -> str:
        name, end = self.length(node.length, depth), self.fresh("e")
        self.line(depth, f"{end} = pos + {name}")
        inner, value = self.expression(node.item, depth), self.fresh()
        self.flush(depth)
        self.line(depth, f"{value} = {inner}")
        self.line(depth, f"if pos != {end}: raise Unreadable")
        return value

    def records(self, node: RecordsNode, depth: int) -> str:
        from ..records.sets import decode

        read, readers = self.fresh("records"), record_readers()
        self.names[read] = lambda data: decode(data, node.format, readers, cut=node.cut, shallow=self.shallow)
        name, value = self.length(node.length, depth), self.fresh()
        self.guard_null(name, value, node.nullable, depth)
        self.line(depth + 1, f"if pos + {name} > len(data): raise Unreadable")
        self.line(depth + 1, f"{value} = {read}(data[pos:pos + {name}])")
        self.line(depth + 1, f"pos += {name}")
        return value
