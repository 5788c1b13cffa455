"""A message as a tree: a line a field, guides in front, meanings after.

This draws any value, whole or read in part, and says how everything looks. Clean messages in bulk are drawn straight
from their bytes, by functions that ask a tree for its labels and for the texts of values (lines.py).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from ....exchanges.messages.message import Message
from ....payloads.values.value import ReadValue
from ....protocol.findings.amounts import count
from ....protocol.wire.language.payload import OpenedPayload
from ....protocol.wire.nodes import TAGGED, Field, LengthPrefixed, NullableStruct, WireArray, WireStruct
from ....protocol.wire.nodes.leaves import Fixed, Node, RemainingBytes, Sized, UuidNode, Varint
from ....protocol.wire.nodes.otlp import ResourceMetrics
from ....protocol.wire.readings.secrets import Hidden, veil
from ....protocol.wire.records import RecordsNode
from ....protocol.wire.records.sets import RecordFormat
from .. import values
from ..meanings import sentence
from ..style import Look
from ..without_values import shown_body

Topics = Mapping[uuid.UUID, str]
Show = Callable[[Any], str]
Draw = Callable[[Any, str, str], None]
"""Draws a value: (value, the line of its name, the prefix of the lines below it)."""
Codes = Callable[[Any], Sequence[int]]
"""Finds the error codes in a value that are not 0."""


class TreeRow(NamedTuple):
    """How one field is drawn: `draw` ends the line that begins with `label`, and adds those below it."""

    key: str
    label: str
    draw: Draw


class Tree:
    """Draws messages into `lines`; `topics` tells the names of topic ids. Make one per output and reuse it."""

    guides: tuple[tuple[str, str], tuple[str, str]]
    """What stands in front of a line, and of those below it: of any line, and of the last."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look: Look = look
        self.topics: Topics = topics
        self.lines: list[str] = []
        self.mid: str = look.paint("guide", "├── ")
        self.last: str = look.paint("guide", "└── ")
        self.mid_below: str = look.paint("guide", "│   ")
        self.last_below: str = "    "
        self.guides = (self.mid, self.mid_below), (self.last, self.last_below)
        self.null: str = look.paint("dim", "null")
        self.contents: Show = self._contents()
        self._rows: dict[WireStruct, list[TreeRow]] = {}

    def take(self) -> str:
        """Return the text drawn so far, last newline included, and start anew."""
        self.lines.append("")
        text = "\n".join(self.lines)
        self.lines.clear()
        return text

    def struct(self, grammar: WireStruct, *, more: bool = False) -> Draw:
        """Return the function that draws a structure's fields below its line.

        `more`: the value has one more key, which the caller draws after them.
        """

        def struct(value: Mapping[str, Any], head: str, below: str) -> None:
            self.lines.append(head)
            self.fields(grammar, value, below, more=more)

        return struct

    def rows(self, grammar: WireStruct) -> list[TreeRow]:
        """Return how the fields of a structure are drawn, tagged ones too, in the order of the wire."""
        found = self._rows.get(grammar)
        if found is None:
            found = self._rows[grammar] = [
                TreeRow(field.name, self.label(field), self.with_tail(self.draw(field.node), self.tail(field)))
                for field in grammar.members
            ]
        return found

    def fields(self, grammar: WireStruct, value: Mapping[str, Any], below: str, *, more: bool = False) -> None:
        """Draw the fields that a value has: one that was read only in part lacks some. `more`: as for `struct`."""
        self.draw_rows([row for row in self.rows(grammar) if row.key in value], value, below, more=more)

    def draw_rows(self, rows: Sequence[TreeRow], value: Mapping[str, Any], below: str, *, more: bool) -> None:
        """Draw these fields of a value, and its tagged fields that no grammar knows."""
        unknown = value.get(TAGGED)
        for row in rows:
            last = row is rows[-1] and not unknown and not more
            guide, under = self.guides[last]
            row.draw(value[row.key], f"{below}{guide}{row.label}", below + under)
        if unknown:
            guide, under = self.guides[not more]
            self.lines.append(f"{below}{guide}{self.look.paint('note', TAGGED)}")
            for i, (tag, data) in enumerate(unknown.items()):
                guide = self.last if i == len(unknown) - 1 else self.mid
                self.lines.append(f"{below}{under}{guide}tag {tag}  {values.octets(data, self.look.max_text)}")

    def label(self, field: Field) -> str:
        """Return the name of a field as it stands on its line."""
        return self.look.paint("name", field.name)

    def tail(self, field: Field) -> str:
        """Return what stands at the end of a field's line: its meaning if the look wants meanings, else ""."""
        text = sentence(field) if self.look.meanings else ""
        return self.look.paint("dim", f"  # {text}") if text else ""

    def with_tail(self, draw: Draw, tail: str) -> Draw:
        """Return a function that draws the same, with `tail` at the end of the first line."""
        if not tail:
            return draw

        def draw_with_tail(value: Any, head: str, below: str) -> None:
            first = len(self.lines)
            draw(value, head, below)
            line, newline, others = self.lines[first].partition("\n")
            self.lines[first] = f"{line}{tail}{newline}{others}"

        return draw_with_tail

    def show(self, node: Node) -> Show:
        """Return the function that writes a value of this node on one line."""
        if isinstance(node, WireArray):
            show, most = self.show(node.item), self.look.max_items

            def items(found: list[Any] | None) -> str:
                if found is None:
                    return self.null
                more = f", … {len(found) - most:,} more" if len(found) > most else ""
                return f"[{', '.join(map(show, found[:most]))}{more}]"

            return items
        if isinstance(node, UuidNode):
            return (lambda value: values.topic_id(value, self.topics.get(value))) if node.kind == "topic_id" else str
        if isinstance(node, Sized) and node.text:
            return self.string
        if isinstance(node, (Sized, RemainingBytes)):
            write_bytes = values.address if node.kind == "address" else values.octets
            return lambda value: write_bytes(value, self.look.max_text)
        write = values.number(node) or str
        if not self.look.colors:
            return lambda value: values.octets(value) if isinstance(value, Hidden) else write(value)

        def coloured(value: Any) -> str:
            if isinstance(value, Hidden):
                return values.octets(value)
            number, space, meaning = write(value).partition("  ")
            style = "meaning" if node.kind != "error" else "bad" if value else "good"
            return f"{number}{space}{self.look.paint(style, meaning)}" if meaning else number

        return coloured

    def string(self, text: Any) -> str:
        """Return a string in quotes."""
        if isinstance(text, Hidden):
            return values.octets(text)
        return self.null if text is None else self.look.paint("text", values.quote(text, self.look.max_text))

    def draw(self, node: Node) -> Draw:
        """Return the function that draws a value of this node below the line of its name."""
        if is_plain(node):
            show = self.show(node)

            def plain(value: Any, head: str, below: str) -> None:
                self.lines.append(f"{head}  {show(value)}")

            return plain
        if isinstance(node, WireArray):
            return self._array(node)
        if isinstance(node, RecordsNode):
            return self.records(node.format)
        if isinstance(node, (Sized, RemainingBytes)):
            return self.payload
        if isinstance(node, ResourceMetrics):
            from .metrics import metrics_drawer

            return metrics_drawer(self)
        struct = node.item if isinstance(node, LengthPrefixed) else node
        if isinstance(struct, WireStruct):
            return self.struct(struct)
        assert isinstance(struct, NullableStruct)
        inner = self.struct(struct.struct)

        def nullable(value: Any, head: str, below: str) -> None:
            if value is None:
                self.lines.append(f"{head}  {self.null}")
            else:
                inner(value, head, below)

        return nullable

    def records(self, format: RecordFormat) -> Draw:
        """Return the function that draws record sets."""
        from .records import RecordTree

        return RecordTree(self, format).draw

    def veiled(self, data: Any) -> Any:
        """Return the bytes as the look may show them: what is secret in them is hidden unless it wants secrets."""
        return data if self.look.show_secrets else veil(data)

    def payload(self, data: bytes | None, head: str, below: str) -> None:
        """Draw bytes: an opened payload as its name and fields, anything else in hex."""
        data = self.veiled(data)
        if isinstance(data, OpenedPayload):
            size = count(len(data), "byte")
            self.struct(data.grammar)(
                data.value, f"{head}  {self.look.paint('meaning', data.name)}, {self.look.paint('dim', size)}", below
            )
        else:
            self.lines.append(f"{head}  {values.octets(data, self.look.max_text)}")

    def value_text(self, data: ReadValue) -> str:
        """Return what a key or value was read as."""
        from ..record_values import quoted  # it brings JSON

        value = data.said
        text = self.look.paint("text", quoted(value, self.look.max_text))
        about = self.look.paint("dim", f"  {values.escape(value.about)}") if value.about else ""
        return text + about + (self.look.paint("note", f"  {values.escape(value.problem)}") if value.problem else "")

    def _array(self, node: WireArray) -> Draw:
        item = self._item(node.item)

        def array(found: list[Any] | None, head: str, below: str) -> None:
            self.lines.append(f"{head}  {self.count(None if found is None else len(found))}")
            self.numbered(found or [], below, item)

        return array

    def count(self, items: int | None) -> str:
        """Return what is said of an array in place of its items."""
        if items is None:
            return self.null
        return self.look.paint("dim", count(items, "element") if items else "empty")

    def numbered(self, found: list[Any], prefix: str, draw: Draw, codes: Codes | None = None) -> None:
        """Draw items below each other with their index, at most as many as the look allows.

        `codes` finds the error codes in an item, where there may be some.
        """
        shown = self.chosen(found, codes)
        last = len(found) - 1 if len(shown) == len(found) else -1
        for i in shown:
            guide, under = self.guides[i == last]
            draw(found[i], f"{prefix}{guide}[{i}]", prefix + under)
        if len(shown) < len(found):
            self.left_out(found, prefix, shown, codes)

    def chosen(self, found: list[Any], codes: Codes | None) -> Sequence[int]:
        """Return the indexes of the items that are shown."""
        return range(min(len(found), self.look.max_items))

    def left_out(self, found: list[Any], below: str, shown: Sequence[int], codes: Codes | None) -> None:
        """Say how many items are not shown."""
        self.lines.append(f"{below}{self.last}{self.look.paint('dim', f'… {len(found) - len(shown):,} more')}")

    def _item(self, node: Node) -> Draw:
        """Return the function that draws an item of an array after its number."""
        if not is_inline(node, self.look):
            return self.draw(node)
        nested = self.draw(node)
        parts = [(field.name, f"  {self.label(field)} ", self.show(field.node)) for field in node.fields]

        def inline(value: Any, head: str, below: str) -> None:
            if len(value) != len(parts):
                nested(value, head, below)
                return
            self.lines.append(head + "".join([label + show(value[key]) for key, label, show in parts]))

        return inline

    def _contents(self) -> Show:
        """Return the function that writes the key or value of a record."""
        on, off, most = self.look.on("text"), self.look.off("text"), self.look.max_text

        def show(data: bytes | None) -> str:
            if data is None:
                return self.null
            if type(data) is ReadValue:
                return self.value_text(data)
            if type(data) is not bytes and isinstance(shown := self.veiled(data), Hidden):
                return f"{on}{values.octets(shown)}{off}"
            try:
                text = data.decode()
            except UnicodeDecodeError:
                return f"{on}{values.octets(data, most)}{off}"
            return f"{on}{values.quote(text, most)}{off}"

        return show


def message_tree(message: Message, look: Look, topics: Topics) -> str:
    """Return the lines of one message, its name above them."""
    tree = Tree(look, topics)
    name = f"{message.api.name} {message.direction} v{message.version}"
    tree.struct(message.grammar)(shown_body(message, look), name, "")
    return tree.take()


def is_plain(node: Node) -> bool:
    """Return whether a value of this node fits on the line of its name; bytes that may be opened do not."""
    if isinstance(node, (Sized, RemainingBytes)):
        return node.holds is None
    if isinstance(node, WireArray):
        return isinstance(node.item, (Fixed, Varint, UuidNode, Sized))
    return not isinstance(node, (WireStruct, NullableStruct, LengthPrefixed, RecordsNode, ResourceMetrics))


def is_inline(node: Node, look: Look) -> TypeGuard[WireStruct]:
    """Return whether an item of an array is written on the line of its number: a structure of a few plain fields."""
    if not isinstance(node, WireStruct) or node.front or len(node.fields) > 3 or look.meanings:
        return False
    return all(is_plain(field.node) and not isinstance(field.node, WireArray) for field in node.fields)
