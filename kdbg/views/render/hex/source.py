"""The functions that dump clean messages and record sets straight from their bytes (see wire/readings/codegen.py).

`dumping(texts, header, body)` returns `dump(data, topics, odd=None)`, which returns the lines in pieces, the size in
front of the message included; what it notes has no line (see runtime.py). They are those of
hexdump.py; for all that only an inspection tells (payloads, secrets, tagged fields, faults, messages of magic 0 and 1,
control batches, whose records are payloads) it raises one of `UNREADABLE`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from ....exchanges.messages.secrets import may_hold_secrets
from ....protocol.wire.nodes import TAGGED, Field, LengthPrefixed, NullableStruct, WireArray, WireStruct, contains
from ....protocol.wire.nodes.leaves import INT8, Fixed, Length, Node, Sized, UuidNode, Varint
from ....protocol.wire.readings.batches import Batches
from ....protocol.wire.readings.codegen import Inside, Unsuited
from ....protocol.wire.readings.measure import begin
from ....protocol.wire.readings.outline import Topics
from ....protocol.wire.readings.runtime import Odd
from ....protocol.wire.readings.secrets import has_secrets
from ....protocol.wire.records import RecordsNode
from ....protocol.wire.records.sets import CODEC_MASK, CONTROL
from .. import values
from ..text_source import TextSource
from .annotations import LEFT_OVER, size_text
from .grid import HUGE
from .rows import NOTED, Buffer, Texts, opened

NUMBER_OF_TAGS = Length(Fixed("TAGGED_FIELDS", "B"), 0)

Gathering: TypeAlias = Callable[[bytes, list[Buffer], Topics, "list[Odd] | None"], None]
Dumping: TypeAlias = Callable[[bytes, Topics, "list[Odd] | None"], Iterator[bytes]]
"""Returns the lines of a message in pieces, given its bytes; notes what is odd and yet readable."""


LISTS = "_, _, rows, shapes, long"
"""What a buffer holds, in generated source."""


def later(place: str, size: int) -> str:
    """Return the expression of a place some bytes later."""
    base, _, before = place.partition(" + ")
    return f"{base} + {int(before or 0) + size}"


def dumping(texts: Texts, header: Node, body: WireStruct) -> Dumping | None:
    """Return the function that dumps messages of this grammar; None where only an inspection can.

    `topics` are the names of topic ids by which records are distinguished: those of Kafka's own topics hold payloads.
    """
    look, lines = texts.describe.look, texts.lines
    if not look.full or look.colors or look.meanings or (has_secrets(body) and not look.show_secrets):
        return None
    try:
        gather = Dumped(texts, records=contains(body, lambda node: isinstance(node, RecordsNode))).message(header, body)
    except Unsuited:
        return None

    def dump(data: bytes, topics: Topics, odd: list[Odd] | None = None, /) -> Iterator[bytes]:
        buffers = [lines.buffer_of(data)]
        gather(data, buffers, topics, odd)
        return chain.from_iterable(map(lines.of, buffers))

    return dump


class Rows(TextSource):
    """Writes a function that adds rows to the lists of a buffer.

    `path` is the variable with the path of the item at hand, "" for none, `inner` the path of the field inside it.
    """

    notes = True
    factor = 3.0

    def __init__(self, texts: Texts, *, records: bool, **rest: Any) -> None:
        super().__init__(texts, records=records, **rest)
        self.texts = texts
        self.path = self.inner = ""
        self.held: list[tuple[str, str | int, str, str, str, str]] = []
        """Of each row where it begins, where it ends or its size, its cell, path inside the item, meaning and type."""
        self._place = ""
        self.names["cells"] = texts.lines.cells

    def row(self, start: str, end: str | int, type: str, meaning: str, cell: str = "") -> None:
        """Add a row, given the expressions of where it begins and ends, of its type, meaning and cell; or its size."""
        self.held.append((start, end, cell, repr(values.escape(self.inner).encode()), meaning, type))

    def place(self) -> str:
        """Return the expression of the place after the run at hand, good once that is flushed."""
        self._place = self._place or self.fresh("p")
        before = struct.calcsize(">" + "".join(code for code, _ in self._run))
        return f"{self._place} + {before}" if before else self._place

    def place_now(self, depth: int) -> str:
        """Write what ends the run at hand, and keeps the place after it; return the variable."""
        self.flush(depth)
        place = self.fresh("p")
        self.line(depth, f"{place} = pos")
        return place

    def end_now(self, depth: int) -> str:
        """Write what keeps the place at hand, where a row ends; return the variable."""
        end = self.fresh("e")
        self.line(depth, f"{end} = pos")
        return end

    def flush(self, depth: int) -> None:
        if self._place:
            self.line(depth, f"{self._place} = pos")
            self._place = ""
        super().flush(depth)

    def emit(self, depth: int) -> None:
        self.flush(depth)
        held, self.held = self.held, []
        if not held:
            return
        size, rows = self.texts.grid.per_line, ""
        for at, (start, end, cell, _, meaning, _) in enumerate(held):
            first = stop = later(start, size)
            if isinstance(end, str):
                self.line(depth, f"if {end} > {first}: long.append((len(rows) + {3 * at}, {end}))")
                stop = f"{end} if {end} <= {first} else {first}"
            elif end <= size:
                stop = later(start, end)
            else:
                self.line(depth, f"long.append((len(rows) + {3 * at}, {later(start, end)}))")
            rows += f"{start}, {cell or f'cells[data[{start}:{stop}]]'}, {meaning}, "
        names = "".join(f"{name}, " for *_, name, _, _ in held)
        types = "".join(f"{type}, " for *_, type in held)
        self.line(depth, f"rows += ({rows})")
        self.line(depth, f"shapes += ({self.path or repr(b'')}, ({names}), ({types}))")

    # Paths

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """Write rows at the path of a field inside the one at hand, after that of the item."""
        outer, self.inner = self.inner, f"{self.inner}.{name}" if self.path or self.inner else name
        yield
        self.inner = outer

    def keep_path(self, depth: int, index: str = "") -> str:
        """Write what keeps the path at hand in a variable, with the expression of an index after it; return that."""
        path, index = self.fresh("f"), f"b'[%d]' % {index}" if index else ""
        parts = filter(None, (self.path, repr(values.escape(self.inner).encode()) if self.inner else "", index))
        self.line(depth, f"{path} = {' + '.join(parts)}")
        return path

    def only(self, depth: int, write: Inside) -> None:
        outer, self.inner = self.inner, f"{self.inner}[0]"
        write(depth)
        self.inner = outer

    def loop_numbered(self, count: str, depth: int, write: Inside) -> None:
        self.emit(depth)
        index, array, path = self.fresh("i"), self.keep_path(depth), self.fresh("f")
        self.line(depth, f"if {count} > len(data): raise Unreadable")
        self.line(depth, f"for {index} in range({count}):")
        self.line(depth + 1, f"{path} = {array} + b'[%d]' % {index}")
        outer = self.path, self.inner
        self.path, self.inner = path, ""
        write(depth + 1)
        self.emit(depth + 1)
        self.path, self.inner = outer

    # Leaves

    def leaf(self, node: Node, depth: int) -> str:
        if isinstance(node, Fixed):
            wrong = "{} > 1" if node.boolean else f"{{}} & {node.unused}" if node.unused else ""
            return self.number_row(node.bnf, Length(node, 0), partial(self.meaning, node), depth, wrong)
        if isinstance(node, Varint):
            return self.number_row(node.bnf, Length(node, 0), partial(self.meaning, node), depth)
        if isinstance(node, UuidNode):
            place, raw = self.place(), self.take("16s", self.fresh())
            self.flush(depth)
            self.refuse_special(node, raw, depth)
            self.row(place, 16, repr(node.bnf.encode()), self.text_of(self.texts.uuids(node), raw))
        elif isinstance(node, Sized):
            self.sized_row(node, depth)
        else:
            raise Unsuited
        return ""

    def meaning(self, node: Node, value: str) -> str:
        """Return the expression of what a number says."""
        if node.kind == "crc":
            return f"{values.CHECKSUM.encode()!r} % ({value} & 0xFFFFFFFF)"
        texts = self.texts.number(node)
        if texts is not None:
            return self.text_of(texts, value)
        code, digits = self.digits(node, value)
        return digits if code == "%b" else f"b'{code}' % {digits}"

    def number_row(self, type: str, length: Length, meaning: Callable[[str], str], depth: int, wrong: str = "") -> str:
        """Write what reads a number, and add its row; return the variable with it.

        `meaning` makes the expression of what it says, `wrong` is what makes it unreadable, with {} for the variable.
        """
        value, cell = self.fresh(), ""
        end: str | int
        if isinstance(length.number, Fixed):
            code = length.number.code
            place, end = self.place(), struct.calcsize(f">{code}")
            if code in (cells := self.texts.lines.numbers):
                self.names[f"cells_{code}"], cell = cells[code], f"cells_{code}[{value}]"
            self.take(length.number.code, value, wrong.format(value))
        elif isinstance(length.number, Varint):
            place, raw, end = self.place_now(depth), self.varint(length.number, depth), self.end_now(depth)
            plain = f"({raw} >> 1) ^ -({raw} & 1)" if length.number.signed else raw
            self.line(depth, f"{value} = {plain}{f' - {length.bias}' if length.bias else ''}")
            if wrong:
                self.line(depth, f"if {wrong.format(value)}: raise Unreadable")
        else:
            raise Unsuited
        self.row(place, end, repr(type.encode()), meaning(value), cell)
        return value

    def size_row(self, type: str, node: Node, length: Length, depth: int, *, nullable: bool) -> str:
        """Write what reads a length or a count, and add its row; return the variable with it, -1 for null."""
        sizes = partial(self.text_of, self.texts.size(node))
        return self.number_row(type, length, sizes, depth, f"{{}} < {-1 if nullable else 0}")

    def bytes_row(self, type: str, end: str, depth: int) -> None:
        """Write what makes the row of the bytes from `pos` to `end`, of which only the number is told."""
        self.line(depth, f"if {end} - pos > {HUGE}: raise Unreadable")  # an inspection's lines are made piece by piece
        meaning = self.text_of(self.texts.counts, f"{end} - pos")
        self.row(self.place_now(depth), end, repr(type.encode()), meaning)

    def sized_row(self, node: Sized, depth: int) -> None:
        """Write what reads a string or bytes, and add its row."""
        if node.text and node.kind == "address":
            raise Unsuited
        place = self.place() if isinstance(node.length.number, Fixed) else self.place_now(depth)
        length, meaning = self.length(node.length, depth), self.fresh("m")
        self.guard_null(length, node.nullable, depth, f"{meaning} = {self.texts.null(node)!r}")
        self.line(depth + 1, f"if {length} > {HUGE if node.holds is None else 0}: raise Unreadable")  # or a payload
        if node.text:
            text = self.of_text(node, f"data[pos:pos + {length}]")
        else:
            text = f"{self.named('octets', self.texts.octets(node))}(data, pos, pos + {length})"
        self.line(depth + 1, f"{meaning} = {text}")
        self.line(depth + 1, f"pos += {length}")
        type = repr(node.bnf.encode())
        if self.texts.grid.room >= NOTED:
            type = self.text_of(self.texts.type_and_note(node), length)
        self.row(place, self.end_now(depth), type, meaning)

    # What has more inside

    def struct(self, node: WireStruct, depth: int) -> str:
        if node.front:
            raise Unsuited
        for field in node.fields:
            self.field(field, depth)
        if node.tags is not None:
            with self.at(TAGGED):
                none = repr(size_text(node, 0).encode())
                self.number_row("TAGGED_FIELDS", NUMBER_OF_TAGS, lambda count: none, depth, "{}")
        return ""

    def field(self, field: Field, depth: int) -> None:
        with self.at(field.name):
            self.read(field.node, depth)

    def array(self, node: WireArray, depth: int) -> str:
        def item(depth: int) -> None:
            self.read(node.item, depth)

        count = self.size_row(node.bnf, node, node.length, depth, nullable=node.nullable)
        self.numbered(count, depth, item)
        return ""

    def nullable_struct(self, node: NullableStruct, depth: int) -> str:
        texts = {there: size_text(INT8, there == 1).encode() for there in (node.null, 1)}
        known, wrong = self.named("texts", texts), f"{{}} not in {tuple(texts)}"
        marker = self.number_row(node.bnf, Length(INT8, 0), lambda marker: f"{known}[{marker}]", depth, wrong)

        def there(depth: int) -> None:
            self.read(node.struct, depth)

        self.either(f"{marker} == 1", depth, there)
        return ""

    def begin_prefixed(self, node: LengthPrefixed, depth: int) -> str:
        number, end = node.length.number, self.fresh("e")
        with self.at("length"):
            length = self.size_row(number.bnf, number, node.length, depth, nullable=False)
        self.flush(depth)
        self.line(depth, f"{end} = pos + {length}")
        return end


class Dumped(Rows):
    """Writes a function that gathers the rows of messages."""

    def message(self, header: Node, body: WireStruct) -> Gathering:
        """Return the function for messages of this header and body."""
        begin(self, header, body)
        self.line(1, f"{LISTS} = buffers[0]")
        self.read(header, 1)
        self.read(body, 1)
        self.emit(1)
        self.line(1, "if pos != len(data):")
        if not self.texts.describe.look.show_secrets:
            suspicious = self.named("suspicious", partial(may_hold_secrets, grammar=body))
            self.line(2, f"if {suspicious}(data): raise Unreadable")
        self.line(2, "surplus(odd, pos, len(data))")
        with self.at(LEFT_OVER):
            self.bytes_row("BYTES", "len(data)", 2)
        self.emit(2)
        return self.define("gather(data, buffers, topics, odd, pos=0)", "None")  # type: ignore[no-any-return]

    def records(self, node: RecordsNode, depth: int) -> str:
        size = self.size_row(node.bnf, node, node.length, depth, nullable=node.nullable)
        self.emit(depth)
        gather = self.named("records", RecordRows(self.texts, node).gather_set())
        self.line(depth, f"if {size} > 0:")
        self.line(depth + 1, f"if pos + {size} > len(data): raise Unreadable")
        path = self.keep_path(depth + 1)
        self.line(depth + 1, f"{gather}(data, pos, pos + {size}, {path}, buffers, odd)")
        self.line(depth + 1, f"pos += {size}")
        return ""


GatherSet: TypeAlias = Callable[[bytes, int, int, bytes, list[Buffer], "list[Odd] | None"], None]


class RecordRows(Rows, Batches):
    """Writes a function that gathers the rows of record sets."""

    unusual = CONTROL

    def __init__(self, texts: Texts, node: RecordsNode) -> None:
        super().__init__(texts, records=False, format=node.format, cut=node.cut)
        self.names["opened"] = opened

    def gather_set(self) -> GatherSet:
        """Return the function: `gather(data, start, end, path, buffers, odd)`, where `path` is that of the set.

        Decompressed bytes are added to the buffers, of which the first is the message.
        """
        self.line(1, f"number, ({LISTS}) = 0, buffers[0]")
        self.path = "set"
        self.loop_over_batches(1)
        return self.define("gather(data, pos, end, set, buffers, odd)", "None")  # type: ignore[no-any-return]

    def batch_field(self, field: Field, depth: int) -> str:
        with self.at(field.name):
            return self.leaf(field.node, depth)

    def at_number(self, depth: int) -> None:
        """Write what keeps the path of the entry at hand; rows that follow stand inside it."""
        self.path = "set"
        self.path = self.keep_path(depth, "number")

    def partial(self, depth: int) -> None:
        (header, self.held), outer = (self.held, []), self.path
        self.at_number(depth)
        self.bytes_row("BYTES", "end", depth)
        self.emit(depth)
        self.held, self.path = header, outer

    def head(self, depth: int) -> None:
        def packed(depth: int) -> None:
            with self.at("compressed_records"):
                self.bytes_row("COMPRESSED", "stop", depth)
            self.emit(depth)

        self.at_number(depth)
        self.either(f"{self.fields['attributes']} & {CODEC_MASK}", depth, packed)

    def each(self, count: str, depth: int) -> None:
        self.inner = ".records"
        self.line(depth, f"if {self.fields['attributes']} & {CODEC_MASK}:")
        path = self.keep_path(depth + 1)
        self.line(depth + 1, f"{LISTS} = opened(buffers, {path}, data)")
        self.numbered(count, depth, self.one)
        self.inner = ""

    def one(self, depth: int) -> None:
        node = self.format.records.item
        assert isinstance(node, LengthPrefixed)
        self.prefixed(node, depth)

    def foot(self, depth: int) -> None:
        self.emit(depth)
        self.line(depth, f"{LISTS} = buffers[0]")
        self.line(depth, "number += 1")
        self.path = "set"
