"""The functions that dump clean messages and record sets straight from their bytes (see wire/readings/codegen.py).

`dumping(texts, header, body)` returns `dump(data, topics, odd=None)`, which returns the lines in pieces, the size in
front of the message included; what it notes has no line (see runtime.py). They are those of
hexdump.py; for all that only an inspection tells (payloads, secrets, tagged fields, faults, messages of magic 0 and 1,
control batches, whose records are payloads) it raises one of `UNREADABLE`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Protocol, TypeAlias

from ....exchanges.messages.secrets import may_hold_secrets
from ....protocol.wire.nodes import TAGGED, Field, LengthPrefixed, NullableStruct, WireArray, WireStruct, contains
from ....protocol.wire.nodes.leaves import INT8, Fixed, Length, Node, Sized, UuidNode, Varint
from ....protocol.wire.readings.batches import Batches
from ....protocol.wire.readings.codegen import Unsuited
from ....protocol.wire.readings.measure import begin
from ....protocol.wire.readings.runtime import Odd
from ....protocol.wire.readings.secrets import has_secrets
from ....protocol.wire.records import RecordsNode
from ....protocol.wire.records.sets import CODEC_MASK, CONTROL
from .. import values
from .annotations import LEFT_OVER, size_text
from .blocks import Buffer, Texts
from .hexdump import heading
from .rows import Rows


class Structures(Rows):
    """Writes a function that gathers the rows of leaves and structures."""

    def leaf(self, node: Node, depth: int) -> str:
        if isinstance(node, Fixed):
            value = self.fresh()
            wrong = f"{value} > 1" if node.boolean else f"{value} & {node.unused}" if node.unused else ""
            self.fixed(node.bnf, node.code, value, self.meaning(node, value), wrong)
            return value
        if isinstance(node, Varint):
            number = self.fresh()
            self.varint_parts(node.bnf, Length(node, 0), number, self.meaning(node, number), depth)
            return number
        if isinstance(node, UuidNode):
            (place, text), raw = self.place_in_run(), self.take("16s", self.fresh())
            self.flush(depth)
            self.refuse_special(node, raw, depth)
            cell, rest = self.pieces(raw, "0", "16", place, depth, 16)
            self.varying(node.bnf, text, cell, self.text_of(self.texts.uuids(node), raw), rest)
        elif isinstance(node, Sized):
            self.sized_row(node, depth)
        else:
            raise Unsuited
        return ""

    def meaning(self, node: Node, value: str) -> str:
        """Return the expression of what a number says."""
        if node.kind == "crc":
            return f"{self.named('crc', values.CHECKSUM.encode())} % ({value} & 0xFFFFFFFF)"
        texts = self.texts.number(node)
        return f"b'%d' % {value}" if texts is None else self.text_of(texts, value)

    def varint_parts(self, type: str, length: Length, number: str, meaning: str, depth: int) -> None:
        """Write what reads a varint into the variable `number`, and add its row; `meaning` is an expression of that."""
        node, (said, rest), cell = length.number, (self.fresh(prefix) for prefix in "mx"), self.fresh_cell()
        assert isinstance(node, Varint)
        self.flush(depth)
        (place, text), raw = self.place_now(depth), self.varint(node, depth)
        plain = f"({raw} >> 1) ^ -({raw} & 1)" if node.signed else raw
        long = node.bits > 7 * self.grid.per_line
        known = self.named("known", {})
        self.line(depth, f"if {raw} in {known}: {number}, {cell}, {said} = {known}[{raw}]")
        self.line(depth, "else:")
        self.line(depth + 1, f"{number} = {plain}{f' - {length.bias}' if length.bias else ''}")
        self.line(depth + 1, f"{said} = {meaning}")
        self.line(depth + 1, f"{cell}, {rest} = parts(data, {place} - shift, pos, {place})")
        self.line(depth + 1, f"if {raw} < 128: {known}[{raw}] = {number}, {cell}, {said}")
        if long:
            self.line(depth, f"if {raw} < 128: {rest} = b''")
        self.varying(type, text, cell, said, rest if long else "")

    def fresh_cell(self) -> str:
        """Return the names of hex digits and text of a row."""
        return f"{self.fresh('h')}, {self.fresh('t')}"

    def pieces(self, data: str, start: str, stop: str, place: str, depth: int, most: int = 1 << 31) -> tuple[str, str]:
        """Write what makes the cell of bytes and the lines below; return the variables with them, "" for no lines.

        `data`, `start` and `stop` are expressions of where the bytes are, `most` how many there can be.
        """
        cell, rest = self.fresh_cell(), self.fresh("x")
        self.line(depth, f"{cell}, {rest} = parts({data}, {start}, {stop}, {place})")
        return cell, rest if most > self.grid.per_line else ""

    def bytes_row(self, type: str, end: str, depth: int) -> None:
        """Write what makes the row of the bytes from `pos` to `end`, of which only the number is told."""
        place, text = self.place_now(depth)
        cell, rest = self.pieces("data", "pos", end, place, depth)
        self.varying(type, text, cell, f"{self.named('counts', self.texts.counts)}[{end} - pos]", rest)

    def sized_row(self, node: Sized, depth: int) -> None:
        """Write what reads a string or bytes, and add its row."""
        if node.text and node.kind == "address":
            raise Unsuited
        if isinstance(node.length.number, Fixed):
            place, text = self.place_in_run()
        elif isinstance(node.length.number, Varint):
            self.flush(depth)
            place, text = self.place_now(depth)
        else:
            raise Unsuited
        length, start = self.length(node.length, depth), f"{place} - shift"
        (meaning, rest), cell = (self.fresh(prefix) for prefix in "mx"), self.fresh_cell()

        def null(depth: int) -> None:
            self.line(depth, f"({cell}), {meaning}, {rest} = cells[data[{start}:pos]], {self.texts.null(node)!r}, b''")
            if not node.text:
                self.line(depth, f"meanings.append({meaning})")

        self.guard_null(length, node.nullable, depth, null)
        if node.holds is not None:
            self.line(depth + 1, f"if {length}: raise Unreadable")  # it may be a payload
        stop = f"pos + {length}"
        if node.text:
            self.line(depth + 1, f"{meaning} = {self.of_text(node, f'data[pos:{stop}]')}")
            self.line(depth + 1, f"{cell}, {rest} = parts_of_string(data[{start}:{stop}], {place})")
        else:
            octets = self.named("octets", self.texts.octets(node))
            self.line(depth + 1, f"{meaning} = {octets}(data, pos, {stop}, meanings)")
            self.line(depth + 1, f"{cell}, {rest} = parts(data, {start}, {stop}, {place})")
        self.line(depth + 1, f"pos += {length}")
        note = f"{self.named('notes', self.texts.note(node))}[{length}]" if self.texts.noted else ""
        self.varying(node.bnf, text, cell, meaning, rest, note, said=node.text)

    def size_row(self, type: str, node: Node, length: Length, depth: int, *, nullable: bool) -> str:
        """Write what reads a length or a count, and add its row; return the variable with it, -1 for null."""
        least, count = -1 if nullable else 0, self.fresh("n")
        text = f"{self.named('sizes', self.texts.size(node))}[{count}]"
        if isinstance(length.number, Fixed):
            self.fixed(type, length.number.code, count, text, f"{count} < {least}")
        elif isinstance(length.number, Varint):
            self.varint_parts(type, length, count, text, depth)
            self.line(depth, f"if {count} < {least}: raise Unreadable")
        else:
            raise Unsuited
        return count

    def struct(self, node: WireStruct, depth: int) -> str:
        if node.front:
            raise Unsuited
        for field in node.fields:
            self.field(field, depth)
        if node.tags is not None:
            count, none = self.fresh(), self.named("none", size_text(node, 0).encode())
            with self.at(TAGGED):
                self.fixed("TAGGED_FIELDS", "B", count, none, count)
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
        marker = self.fresh("n")
        texts = {there: size_text(INT8, there == 1).encode() for there in (node.null, 1)}
        self.fixed(node.bnf, "b", marker, f"{self.named('texts', texts)}[{marker}]", f"{marker} not in {tuple(texts)}")

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


Gathering: TypeAlias = Callable[[bytes, list[Buffer], Mapping[uuid.UUID, str], "list[Odd] | None"], None]


class Dumping(Protocol):
    """Returns the lines of a message in pieces, given its bytes; notes what is odd and yet readable."""

    def __call__(
        self, data: bytes, topics: Mapping[uuid.UUID, str], odd: list[Odd] | None = None, /
    ) -> Iterator[bytes]: ...


def dumping(texts: Texts, header: Node, body: WireStruct) -> Dumping | None:
    """Return the function that dumps messages of this grammar; None where only an inspection can.

    `topics` are the names of topic ids by which records are distinguished: those of Kafka's own topics hold payloads.
    """
    gather, look, noted = gathering(texts, header, body), texts.describe.look, texts.noted
    if gather is None:
        return None

    def dump(data: bytes, topics: Mapping[uuid.UUID, str], odd: list[Odd] | None = None, /) -> Iterator[bytes]:
        whole = Buffer([], [])
        buffers = [whole]
        gather(data, buffers, topics, odd)
        return whole.lines(noted=noted) if len(buffers) == 1 else chain.from_iterable(map(lines, buffers))

    def lines(buffer: Buffer) -> Iterator[bytes]:
        if buffer.name:
            yield f"\n{heading(look, buffer.name, buffer.size)}\n".encode()
        yield from buffer.lines(noted=noted)

    return dump


def gathering(texts: Texts, header: Node, body: WireStruct) -> Gathering | None:
    """Return the function that adds the rows of messages to buffers, of which there is one at first; None as above."""
    look = texts.describe.look
    if not look.full or look.colors or look.meanings or (has_secrets(body) and not look.show_secrets):
        return None
    try:
        return Dumped(texts, records=contains(body, lambda node: isinstance(node, RecordsNode))).message(header, body)
    except Unsuited:
        return None


class Dumped(Structures):
    """Writes a function that gathers the rows of messages."""

    notes = True
    suspicious: Callable[[bytes], bool]
    """Tells whether bytes after a message may be shown."""

    def message(self, header: Node, body: WireStruct) -> Gathering:
        """Return the function for messages of this header and body, four bytes of size in front of them."""
        begin(self, header, body)
        self.line(1, "whole, shift = buffers[0], 4")
        self.line(1, "add, meanings = whole.blocks.append, whole.meanings")
        size, cell = self.fresh("n"), self.fresh_cell()
        self.line(1, f"{size} = len(data)")
        self.line(1, f"{cell} = cells[{size}.to_bytes(4, 'big')]")
        with self.at("size"):
            self.varying("INT32", "PLACE % 0", cell, f"b'%d' % {size}")
        self.read(header, 1)
        self.read(body, 1)
        self.emit(1)
        self.suspicious = partial(may_hold_secrets, grammar=body)
        self.end(1)
        return self.define("gather(data, buffers, topics, odd, pos=0)", "None")  # type: ignore[no-any-return]

    def end(self, depth: int) -> None:
        self.line(depth, "if pos != len(data):")
        if not self.texts.describe.look.show_secrets:
            suspicious = self.named("suspicious", self.suspicious)
            self.line(depth + 1, f"if {suspicious}(data): raise Unreadable")
        self.line(depth + 1, "surplus(odd, pos, len(data))")
        with self.at(LEFT_OVER):
            self.bytes_row("BYTES", "len(data)", depth + 1)
        self.emit(depth + 1)

    def records(self, node: RecordsNode, depth: int) -> str:
        size = self.size_row(node.bnf, node, node.length, depth, nullable=node.nullable)
        self.emit(depth)
        gather = self.named("records", record_set(self.texts, node))
        self.line(depth, f"if {size} > 0:")
        self.line(depth + 1, f"if pos + {size} > len(data): raise Unreadable")
        path = self.keep_path(depth + 1)
        self.line(depth + 1, f"{gather}(data, pos, pos + {size}, {path}, buffers, shift, odd)")
        self.line(depth + 1, f"pos += {size}")
        return ""


GatherSet: TypeAlias = Callable[[bytes, int, int, bytes, list[Buffer], int, "list[Odd] | None"], None]


def record_set(texts: Texts, node: RecordsNode) -> GatherSet:
    """Return the function that gathers the rows of record sets: `gather(data, start, end, path, buffers, shift, odd)`.

    `path` is that of the set. Decompressed bytes are added to the buffers, of which the first is the message.
    """
    return RecordRows(texts, node).gather_set()


def opened(buffers: list[Buffer], path: bytes, data: bytes) -> tuple[Any, list[bytes], int]:
    """Add a buffer of decompressed bytes; return what takes its blocks, the list of its meanings, and its shift."""
    buffer = Buffer([], [], path.decode(), len(data))
    buffers.append(buffer)
    return buffer.blocks.append, buffer.meanings, 0


class RecordRows(Structures, Batches):
    """Writes a function that gathers the rows of record sets."""

    notes = True
    unusual = CONTROL

    def __init__(self, texts: Texts, node: RecordsNode) -> None:
        super().__init__(texts, records=False, format=node.format, cut=node.cut)
        self.names["opened"] = opened

    def gather_set(self) -> GatherSet:
        """Return the function."""
        self.line(1, "message, number = buffers[0], 0")
        self.line(1, "outside = add, meanings, shift = message.blocks.append, message.meanings, shift")
        self.path = "set"
        self.loop_over_batches(1)
        return self.define("gather(data, pos, end, set, buffers, shift, odd)", "None")  # type: ignore[no-any-return]

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
        self.line(depth + 1, f"add, meanings, shift = opened(buffers, {path}, data)")
        self.numbered(count, depth, self.one)
        self.inner = ""

    def one(self, depth: int) -> None:
        node = self.format.records.item
        assert isinstance(node, LengthPrefixed)
        self.prefixed(node, depth)

    def foot(self, depth: int) -> None:
        self.emit(depth)
        self.line(depth, "add, meanings, shift = outside")
        self.line(depth, "number += 1")
        self.path = "set"
