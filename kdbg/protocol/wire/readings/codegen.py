"""The one walk over a layout that writes source: what all generated readings are made by.

A generated reading is a flat Python function over a buffer: neighbouring fields of fixed width, and the length after
them, become one `unpack_from`; structures are written out in place, without a call. It explains nothing: whatever is
odd (bytes that are missing, a null where none may be, bad UTF-8, an unknown tag, a checksum) raises one of
`UNREADABLE`, and then annotate.py reads the same bytes and says what and where. Slices never raise, so whoever runs
the function, or its last line, must check that `pos` ends where the message ends; no loop is longer than the bytes.
Two things are odd and yet leave no doubt about any field: a reading that `notes` them goes on (see runtime.py).

`CodeGenerator` knows how bytes are read and proved. What becomes of a value is up to the readings, its subclasses:

    compiled.py     plain Python values
    outline_codegen.py        topics, partitions, groups, errors and counts of records, without the value
    and those of other packages: trees, JSON, spans, columns of tables

`WRITES` says which method writes what reads a node. A reading overrides methods; by itself the walk proves bytes alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from ....errors import WireError
from ..nodes import ByClass, Field, LengthPrefixed, NullableStruct, WireArray, WireStruct
from ..nodes.leaves import Fixed, Length, Node, RemainingBytes, Sized, UuidNode, Varint
from ..records import RecordsNode
from ..records.sets import interpret
from . import runtime

UNREADABLE = (WireError, struct.error, IndexError, UnicodeDecodeError, OverflowError)
"""What a generated reading raises for bytes that it does not understand."""
WRITES = ByClass[str]({
    Fixed: "leaf", UuidNode: "leaf", Varint: "leaf", Sized: "leaf", RemainingBytes: "leaf", Node: "leaf",
    WireStruct: "struct", WireArray: "array", NullableStruct: "nullable_struct", LengthPrefixed: "prefixed",
    RecordsNode: "records",
})  # fmt: skip
"""Class of node -> the method that writes what reads it."""
Inside = Callable[[int], None]
"""Writes what stands inside a structure or a loop, at this depth of indentation."""


class Unsuited(Exception):
    """Raised for a layout that a reading has no source for: its messages need the whole value."""


class SourceWriter:
    """Writes the source of one function, which knows `names`. Methods that write take the depth of indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.names: dict[str, Any] = {}

    def define(self, signature: str, result: str) -> Any:
        """Return the function of this signature with the lines written so far, which returns `result`."""
        source = "\n".join([f"def {signature}:", *self.lines, f"    return {result}"])
        name = signature.partition("(")[0]
        exec(compile(source, "<generated reading>", "exec"), self.names)
        self.names[name].source = source
        return self.names[name]

    def fresh(self, prefix: str = "v") -> str:
        """Return a name that nothing has yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def named(self, prefix: str, value: Any) -> str:
        """Give the function a value under a fresh name; return the name."""
        name = self.fresh(prefix)
        self.names[name] = value
        return name

    def line(self, depth: int, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * depth + text)


class CodeGenerator(SourceWriter):
    """Writes a function over bytes. A run gathers fixed-width fields until something variable follows.

    `value` and `skip` are the two ways to read a leaf; what `value` returns is an expression that is good once `flush`
    was called.
    """

    factor = 1.0  # how much memory what it makes takes, as a multiple of what plain values take
    notes = False
    """Whether the function has an argument `odd` for what is odd and yet readable; without it that is unreadable."""

    def __init__(self) -> None:
        super().__init__()
        self.names |= {
            "uvarint": runtime.uvarint, "tags": runtime.tags, "front_tags": runtime.front_tags, "uuids": runtime.UUIDS,
            "Unreadable": runtime.Unreadable, "BOOLEANS": (False, True),
            "copy": dict.copy, "surplus": runtime.surplus, "wrong_checksum": runtime.wrong_checksum,
        }  # fmt: skip
        self._run: list[tuple[str, str]] = []
        self._checks: list[str] = []

    # Runs of fixed width

    def take(self, code: str, name: str = "", check: str = "") -> str:
        """Add a value of fixed width to the run, by its letter in `struct`; return the name that it will have.

        Without a name its bytes are passed over. `check` is what makes it unreadable, an expression.
        """
        self._run.append((code, name))
        if check:
            self._checks.append(check)
        return name

    def flush(self, depth: int) -> None:
        """Write one unpack for the fixed-width fields gathered so far, and what proves them."""
        run, self._run = self._run, []
        size = struct.calcsize(">" + "".join(code for code, _ in run))
        while run and not run[-1][1]:
            run.pop()
        if [code for code, _ in run] in (["b"], ["B"]):  # a byte needs no unpacking
            code, name = run[0]
            self.line(depth, f"{name} = data[pos]{' ^ 128' if code == 'b' else ''}")
            if code == "b":
                self.line(depth, f"{name} -= 128")
        elif run:
            codes = "".join(code for code, _ in run)
            unpack = f"unpack_{codes}"
            self.names[unpack] = struct.Struct(">" + codes).unpack_from
            self.line(depth, f"{', '.join(name for _, name in run if name)}, = {unpack}(data, pos)")
        if size:
            self.line(depth, f"pos += {size}")
        for check in self._checks:
            self.line(depth, f"if {check}: raise Unreadable")
        self._checks.clear()

    # Nodes

    def read(self, node: Node, depth: int) -> str:
        """Write what reads a node; return what the reading makes of it, as the method of the node has it."""
        written: str = getattr(self, WRITES[type(node)])(node, depth)
        return written

    def leaf(self, node: Node, depth: int) -> str:
        """Write what reads a node without children; here: what proves it."""
        self.skip(node, depth)
        return ""

    def struct(self, node: WireStruct, depth: int) -> str:
        """Write what reads the fields of a structure, one by one."""
        if node.front:
            self.flush(depth)
            self.tags(node, "{}", depth)
        for field in node.fields:
            self.field(field, depth)
        if node.tags is not None and not node.front:
            self.flush(depth)
            self.tags(node, "{}", depth)
        return ""

    def field(self, field: Field, depth: int) -> None:
        """Write what reads one field of a structure."""
        self.read(field.node, depth)

    def array(self, node: WireArray, depth: int) -> str:
        """Write what reads an array."""
        count = self.counted(node.length, node.nullable, depth)
        if size := fixed_size(node.item):
            self.line(depth + 1, f"pos += {count} * {size}")
        else:
            self.loop(count, depth + 1, lambda depth: self.item(node.item, depth))
        return ""

    def item(self, node: Node, depth: int) -> None:
        """Write what reads one item of an array."""
        self.read(node, depth)
        self.flush(depth)

    def nullable_struct(self, node: NullableStruct, depth: int) -> str:
        """Write what reads a structure that may be null."""
        self.marked(node, depth)
        self.item(node.struct, depth + 1)
        return ""

    def prefixed(self, node: LengthPrefixed, depth: int) -> str:
        """Write what reads a value after its length."""
        end = self.begin_prefixed(node, depth)
        self.read(node.item, depth)
        self.flush(depth)
        self.line(depth, f"if pos != {end}: raise Unreadable")
        return ""

    def records(self, node: RecordsNode, depth: int) -> str:
        """Write what reads a record set; its length and its bytes are proved alone."""
        size = self.counted(node.length, node.nullable, depth)
        self.line(depth + 1, f"pos += {size}")
        return ""

    def prove(self, node: Node, depth: int) -> None:
        """Write what proves a node and passes over it, whatever this reading makes of such nodes."""
        walk = CodeGenerator()
        walk.lines, walk.names, walk.count, walk._run, walk._checks = (
            self.lines, self.names, self.count, self._run, self._checks,
        )  # fmt: skip
        walk.read(node, depth)
        self.count, self._run = walk.count, walk._run

    def end(self, depth: int) -> None:
        """Write what proves that a message ends where its last field does."""
        self.line(depth, f"if pos != len(data): {'surplus(odd, pos, len(data))' if self.notes else 'raise Unreadable'}")

    # What the methods above are made of

    def value(self, node: Node, depth: int) -> str:
        """Write what reads the value of a leaf; return its expression."""
        if isinstance(node, Fixed):
            value = self.fresh()
            self.take(node.code, value, f"{value} & {node.unused}" if node.unused else "")
            return f"BOOLEANS[{value}]" if node.boolean else value
        if isinstance(node, UuidNode):
            return f"uuids[{self.take('16s', self.fresh())}]"
        if isinstance(node, Sized):
            return self.sized(node, depth, keep=True)
        self.flush(depth)
        if isinstance(node, Varint):
            value = self.varint(node, depth)
            return f"(({value} >> 1) ^ -({value} & 1))" if node.signed else value
        if isinstance(node, RemainingBytes):
            value = self.fresh()
            self.line(depth, f"{value} = data[pos:]")
            self.line(depth, "pos = len(data)")
            return value
        return self.interpreted(node, depth)

    def skip(self, node: Node, depth: int) -> None:
        """Write what proves a leaf and passes over it."""
        if isinstance(node, Fixed):
            wrong = "{} > 1" if node.boolean else f"{{}} & {node.unused}" if node.unused else ""
            value = self.fresh() if wrong else ""
            self.take(node.code if wrong else f"{node.size}x", value, wrong.format(value))
        elif isinstance(node, UuidNode):
            self.take("16x")
        elif isinstance(node, Sized):
            self.sized(node, depth, keep=False)
        else:
            self.value(node, depth)

    def interpreted(self, node: Node, depth: int) -> str:
        """Write a call of construct's own reader for a rare leaf; return the name of the variable with its value."""
        self.flush(depth)
        value, read = self.fresh(), self.named("read", interpret(node))
        self.line(depth, f"{value}, pos = {read}(data, pos)")
        return value

    def varint(self, node: Varint, depth: int) -> str:
        """Write what reads a varint after a flushed run; return the variable with its raw value, zigzag or not."""
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
        return value

    def length(self, length: Length, depth: int) -> str:
        """Write what reads a length or a count; joins the fixed-width fields in front of it where it can."""
        if isinstance(length.number, Fixed):
            name = self.take(length.number.code, self.fresh("n"))
            self.flush(depth)
            return name
        if not isinstance(length.number, Varint):
            return self.interpreted(length.number, depth)
        self.flush(depth)
        value = self.varint(length.number, depth)
        number, name = f"({value} >> 1) ^ -({value} & 1)" if length.number.signed else value, self.fresh("n")
        self.line(depth, f"{name} = {number}{f' - {length.bias}' if length.bias else ''}")
        return name

    def null(self, depth: int) -> None:
        """Write what becomes of a null."""
        self.line(depth, "pass")

    def guard_null(self, name: str, nullable: bool, depth: int, null: str = "") -> None:
        """Write what handles a null length, and the `else:` under which the caller writes the rest.

        `null` is the statement for it, in place of what `self.null` writes.
        """
        self.line(depth, f"if {name} < 0:")
        if nullable:
            self.line(depth + 1, f"if {name} != -1: raise Unreadable")
            if null:
                self.line(depth + 1, null)
            else:
                self.null(depth + 1)
        else:
            self.line(depth + 1, "raise Unreadable")
        self.line(depth, "else:")

    def sized(self, node: Sized, depth: int, *, keep: bool) -> str:
        """Write what reads a string or bytes; return the variable with the value, "" where it is only proved."""
        name, value = self.length(node.length, depth), self.fresh() if keep else ""
        null = f"{value} = {self.of_null(node)}" if keep else "pass"
        self.guard_null(name, node.nullable, depth, null)
        cut = self.of_bytes(node, f"data[pos:pos + {name}]")
        if keep or node.text:
            self.line(depth + 1, f"{value} = {cut}" if keep else cut)
        self.line(depth + 1, f"pos += {name}")
        return value

    def of_bytes(self, node: Sized, data: str) -> str:
        """Return the expression of what the reading makes of a string or bytes, given that of the bytes."""
        return f"{data}.decode()" if node.text else data

    def of_null(self, node: Sized) -> str:
        """Return the expression of what the reading makes of a string that is null, or of bytes."""
        return "None"

    def counted(self, length: Length, nullable: bool, depth: int, null: str = "") -> str:
        """Write what reads a count or size; return its variable. The caller writes the rest, one deeper.

        `null`: as for `guard_null`.
        """
        name = self.length(length, depth)
        self.guard_null(name, nullable, depth, null)
        return name

    def loop(self, count: str, depth: int, inside: Inside) -> None:
        """Write a loop; an item takes a byte at least, so more items than bytes are unreadable."""
        self.line(depth, f"if {count} > len(data): raise Unreadable")
        self.line(depth, f"for _ in range({count}):")
        written = len(self.lines)
        inside(depth + 1)
        if len(self.lines) == written:
            self.line(depth + 1, "pass")

    def marked(self, node: NullableStruct, depth: int, null: str = "") -> None:
        """Write what reads the marker of a structure that may be null; the caller writes the rest, one deeper.

        `null`: as for `guard_null`.
        """
        marker = self.take("b", self.fresh("n"))
        self.flush(depth)
        self.line(depth, f"if {marker} == {node.null}:")
        if null:
            self.line(depth + 1, null)
        else:
            self.null(depth + 1)
        self.line(depth, f"elif {marker} != 1:")
        self.line(depth + 1, "raise Unreadable")
        self.line(depth, "else:")
        self.line(depth + 1, "pass")

    def begin_prefixed(self, node: LengthPrefixed, depth: int) -> str:
        """Write what reads the length in front of a value; return the variable with the place where that must end."""
        name, end = self.length(node.length, depth), self.fresh("e")
        self.line(depth, f"{end} = pos + {name}")
        return end

    def tags(self, node: WireStruct, value: str, depth: int) -> None:
        """Write what reads tagged fields into `value`; mostly there are none, which one byte says in both forms."""
        read, tags = "front_tags" if node.front else "tags", node.tags or {}
        known = self.named("known", {tag: (each.name, self.tag_reader(each)) for tag, each in tags.items()})
        self.line(depth, "if data[pos]:")
        self.line(depth + 1, f"pos = {read}(data, pos, {value}, {known})")
        self.line(depth, "else:")
        self.line(depth + 1, "pos += 1")

    def tag_reader(self, field: Field) -> Callable[[bytes, int], tuple[Any, int]]:
        """Return what reads a tagged field: (what this reading makes of it, where it ends)."""
        return prover(field.node)


@cache
def prover(node: Node) -> Callable[[bytes, int], tuple[None, int]]:
    """Return a function that proves the bytes of a node: `prove(data, start) -> (None, end)`."""
    walk = CodeGenerator()
    walk.read(node, 1)
    walk.flush(1)
    return walk.define("prove(data, pos=0)", "None, pos")  # type: ignore[no-any-return]


def fixed_size(node: Node) -> int:
    """Return the bytes of a node that always takes as many and of which all are sound; 0 for any other."""
    if isinstance(node, Fixed):
        return 0 if node.boolean or node.unused else node.size
    if isinstance(node, UuidNode):
        return 16
    if isinstance(node, WireStruct) and node.tags is None:
        sizes = [fixed_size(field.node) for field in node.fields]
        return sum(sizes) if all(sizes) else 0
    return 0
