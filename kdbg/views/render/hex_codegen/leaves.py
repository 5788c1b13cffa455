"""Source that makes the rows of leaves, and of what stands in front of others: lengths, counts, markers."""

from __future__ import annotations

from typing import Any

from ....protocol.grammars.payloads import SPECIAL
from ....protocol.wire.nodes import Fixed, Length, Node, Sized, UuidNode, Varint
from ....protocol.wire.readings.codegen import Unsuited
from .. import values
from ..tree_codegen.texts import Encoded
from ..values import Memo
from .rows import Rows
from .texts import Texts

NUMBERS = {number: b"%d" % number for number in range(-1, 1024)}
"""Small numbers as digits."""


class Leaves(Rows):
    """Writes a function that makes the rows of leaves.

    `records`: the messages hold record sets, which are dumped here only if they are not those of Kafka's own topics.
    """

    def __init__(self, texts: Texts, *, records: bool, **rest: Any) -> None:
        super().__init__(texts, **rest)
        self.holds_records = records
        self.names |= {"ids": texts.ids, "SPECIAL": SPECIAL, "NUMBERS": NUMBERS}

    def leaf(self, node: Node, depth: int) -> str:
        if isinstance(node, Fixed):
            return self.number(node)
        if isinstance(node, Varint):
            return self.varint_row(node, depth)
        if isinstance(node, UuidNode):
            self.uuid(node, depth)
        elif isinstance(node, Sized):
            self.sized_row(node, depth)
        else:
            raise Unsuited
        return ""

    def number(self, node: Fixed) -> str:
        """Add the row of a number of fixed width; return the variable with it."""
        value = self.fresh()
        wrong = f"{value} > 1" if node.boolean else f"{value} & {node.unused}" if node.unused else ""
        self.fixed(node.bnf, node.code, value, self.meaning(node, value), wrong)
        return value

    def meaning(self, node: Node, value: str) -> str:
        """Return the expression of what a number says."""
        if node.kind == "crc":
            return f"{self.named('crc', values.CHECKSUM.encode())} % ({value} & 0xFFFFFFFF)"
        texts = self.texts.number(node)
        return self.digits(value) if texts is None else self.text_of(texts, value)

    def text_of(self, texts: Memo[bytes] | Encoded, value: str) -> str:
        """Return the expression of the text of a value."""
        name = self.named("texts", texts)
        return f"{name}[{value}]" if isinstance(texts, Memo) else f"{name}({value})"

    def varint_row(self, node: Varint, depth: int) -> str:
        """Write what reads a varint, and add its row; return the expression of the number."""
        number = self.fresh()
        self.varint_parts(node.bnf, Length(node, 0), number, self.meaning(node, number), depth)
        return number

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
        self.varying(type, text, cell, said, rest if long else "", digits=self.is_digits(meaning))

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

    def uuid(self, node: UuidNode, depth: int) -> None:
        """Write what reads a UUID, and add its row."""
        (place, text), raw = self.place_in_run(), self.take("16s", self.fresh())
        self.flush(depth)
        if node.kind == "topic_id" and self.holds_records:
            self.line(depth, f"if topics.get(ids[{raw}], ids[{raw}]) in SPECIAL: raise Unreadable")
        cell, rest = self.pieces(raw, "0", "16", place, depth, 16)
        self.varying(node.bnf, text, cell, self.text_of(self.texts.uuids(node), raw), rest)

    def sized_row(self, node: Sized, depth: int) -> None:
        """Write what reads a string or bytes, and add its row."""
        if node.text and node.kind == "address":
            raise Unsuited
        place, text = self.before_length(node.length, depth)
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

    def of_text(self, node: Sized, data: str) -> str:
        """Return the expression of what a string says, given that of its bytes."""
        own = node.kind == "topic" and self.holds_records
        return self.text_of(self.texts.other_topics if own else self.texts.strings, data)

    def before_length(self, length: Length, depth: int) -> tuple[str, str]:
        """Return the expressions of the place of a length, and of its text."""
        if isinstance(length.number, Fixed):
            return self.place_in_run()
        if not isinstance(length.number, Varint):
            raise Unsuited
        self.flush(depth)
        return self.place_now(depth)

    def size_row(self, type: str, node: Node, length: Length, depth: int, *, nullable: bool) -> str:
        """Write what reads a length or a count, and add its row; return the variable with it, -1 for null."""
        least, texts = -1 if nullable else 0, self.named("sizes", self.texts.size(node))
        if isinstance(length.number, Fixed):
            count = self.fresh("n")
            self.fixed(type, length.number.code, count, f"{texts}[{count}]", f"{count} < {least}")
            return count
        if not isinstance(length.number, Varint):
            raise Unsuited
        count = self.fresh("n")
        self.varint_parts(type, length, count, f"{texts}[{count}]", depth)
        self.line(depth, f"if {count} < {least}: raise Unreadable")
        return count
