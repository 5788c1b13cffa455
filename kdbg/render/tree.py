"""A message as a tree: a line a field, guides in front, meanings behind.

Trees of whole captures are millions of lines, so each structure is made once into a function of straight f-strings, one
for every run of plain fields. A value that was read only in part, or that has tagged fields, has other lines than
its grammar promises: it is drawn field by field, by what is there.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..wire.language.payload import Opened
from ..wire.nodes import (
    TAGGED,
    Field,
    Fixed,
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
from ..wire.nodes.otlp import ResourceMetrics
from ..wire.readings.secrets import Hidden, veil
from ..wire.records.node import RecordsNode
from . import values
from .look import Look
from .meanings import sentence
from .values import Memo

Topics = Mapping[uuid.UUID, str]
Show = Callable[[Any], str]
Draw = Callable[[Any, str, str], None]
"""Draws a value: (value, the line of its name, the prefix of the lines below it)."""
MANIFOLD = ("crc", "timestamp")
"""Kinds whose values seldom come twice: remembering their text would cost more than making it."""
NEWLINE = "\\n"
"""As it stands in the source of an f-string."""
PLAIN = bytes(range(0x20, 0x7F)).replace(b"\\", b"")
"""What stands in quotes as it is. To see that a text has nothing else is most of the work on long ones."""
INLINE = 3
"""Items that are structures of at most so many plain fields are written on one line."""


class TreeLine(NamedTuple):
    """How one field is drawn: on the line of its name by `show`, or below it by `draw`."""

    key: str
    label: str
    show: Show | None
    draw: Draw | None


class Tree:
    """Draws messages into `lines`; `topics` tells the names of topic ids. Make one per output and reuse it."""

    look: Look
    topics: Topics
    mid: str
    last: str
    mid_below: str
    last_below: str

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look, self.topics = look, topics
        self.lines: list[str] = []
        self.mid, self.last = look.paint("guide", "├── "), look.paint("guide", "└── ")
        self.mid_below, self.last_below = look.paint("guide", "│   "), "    "
        self.only: str = f"{self.last}[0]"
        self.null: str = look.paint("dim", "null")
        self.strings: Memo = Memo(self._string)
        self.contents: Show = self._contents()
        self._drawers: dict[tuple[int, bool], tuple[Node, Draw]] = {}

    def take(self) -> str:
        """Return the text drawn so far, last newline included, and start anew."""
        self.lines.append("")
        text = "\n".join(self.lines)
        self.lines.clear()
        return text

    def struct(self, grammar: WireStruct, *, more: bool = False) -> Draw:
        """Return the function that draws a structure's fields below its line.

        `more`: the value has one more key, which the caller draws behind them.
        """
        found = self._drawers.get((id(grammar), more))
        if found is None:
            found = self._drawers[id(grammar), more] = grammar, self._compile(grammar, more)
        return found[1]

    def _compile(self, grammar: WireStruct, more: bool) -> Draw:
        """Compile the function that draws one structure; each run of plain fields becomes one f-string."""
        rows = [self._row(field) for field in grammar.fields]
        members = [self._row(field) for field in grammar.members]

        def draw_what_is_there(value: Mapping[str, Any], head: str, below: str) -> None:
            self.lines.append(head)
            self._draw_rows([row for row in members if row.key in value], value, below, more)

        if grammar.front:  # where optional fields come first, a break may have taken plain ones of as many keys
            return draw_what_is_there
        scope: dict[str, Any] = {"add": self.lines.append, "draw_what_is_there": draw_what_is_there}
        source = [
            "def draw(value, head, below):",
            f"    if len(value) != {len(rows) + more}: return draw_what_is_there(value, head, below)",
        ]
        run = ["{head}"]
        for i, row in enumerate(rows):
            last = i == len(rows) - 1 and not more
            name = f"{self.last if last else self.mid}{row.label}"
            item = f"value[{row.key!r}]"
            if row.show is not None:
                run.append(f"{{below}}{name}  {self._piece(row.show, item, i, scope)}")
                continue
            if run:
                source.append(f'    add(f"{NEWLINE.join(run)}")')
                run.clear()
            under = self.last_below if last else self.mid_below
            scope[f"draw{i}"] = row.draw
            source.append(f'    draw{i}({item}, f"{{below}}{name}", f"{{below}}{under}")')
        if run:
            source.append(f'    add(f"{NEWLINE.join(run)}")')
        exec(compile("\n".join(source), "<compiled tree>", "exec"), scope)
        return scope["draw"]  # type: ignore[no-any-return]

    def _piece(self, show: Show, item: str, number: int, scope: dict[str, Any]) -> str:
        """Return the part of an f-string that writes the value `item`; puts what it calls into `scope`."""
        if show is str:
            return f"{{{item}}}"
        memo = getattr(show, "__self__", None)
        if isinstance(memo, Memo):
            scope[f"memo{number}"] = memo
            return f"{{memo{number}[{item}]}}"
        scope[f"show{number}"] = show
        return f"{{show{number}({item})}}"

    def _draw_rows(self, rows: list[TreeLine], value: Mapping[str, Any], below: str, more: bool) -> None:
        unknown = value.get(TAGGED)
        for row in rows:
            last = row is rows[-1] and not unknown and not more
            name = f"{below}{self.last if last else self.mid}{row.label}"
            if row.show is not None:
                self.lines.append(f"{name}  {row.show(value[row.key])}")
            elif row.draw is not None:
                row.draw(value[row.key], name, below + (self.last_below if last else self.mid_below))
        if unknown:
            self._unknown_tags(unknown, below, last=not more)

    def _row(self, field: Field) -> TreeLine:
        """Return how a field is drawn, with its meaning behind it if the look wants meanings."""
        name, node, label = field.name, field.node, self.look.paint("name", field.name)
        tail = self.tail(field)
        if is_plain(node):
            show = self.show(node)
            return TreeLine(name, label, (lambda value: f"{show(value)}{tail}") if tail else show, None)
        return TreeLine(name, label, None, self._with_tail(self.draw(node), tail) if tail else self.draw(node))

    def tail(self, field: Field) -> str:
        """Return what stands at the end of a field's line: its meaning if the look wants meanings, else ""."""
        text = sentence(field) if self.look.meanings else ""
        return self.look.paint("dim", f"  # {text}") if text else ""

    def _with_tail(self, draw: Draw, tail: str) -> Draw:
        """Return a function that draws the same, with `tail` at the end of the first line."""

        def draw_with_tail(value: Any, head: str, below: str) -> None:
            first = len(self.lines)
            draw(value, head, below)
            line, newline, others = self.lines[first].partition("\n")
            self.lines[first] = f"{line}{tail}{newline}{others}"

        return draw_with_tail

    def _unknown_tags(self, tags: Mapping[int, bytes], below: str, *, last: bool) -> None:
        self.lines.append(f"{below}{self.last if last else self.mid}{self.look.paint('note', TAGGED)}")
        under = below + (self.last_below if last else self.mid_below)
        for i, (tag, data) in enumerate(tags.items()):
            guide = self.last if i == len(tags) - 1 else self.mid
            self.lines.append(f"{under}{guide}tag {tag}  {values.octets(data, self.look.max_text)}")

    def show(self, node: Node) -> Show:
        """Return the function that writes a value of this node on one line."""
        if isinstance(node, WireArray):
            return self._items(self.show(node.item))
        if isinstance(node, UuidNode):
            return (lambda value: values.topic_id(value, self.topics)) if node.kind == "topic_id" else str
        if isinstance(node, Sized) and node.text:
            return self.strings.__getitem__
        if isinstance(node, (Sized, Rest)):
            write_bytes = values.address if node.kind == "address" else values.octets
            return lambda value: write_bytes(value, self.look.max_text)
        write = values.number(node)
        if write is None:
            return str
        show = self._coloured(write, node.kind) if self.look.colors else write
        return show if node.kind in MANIFOLD else Memo(show).__getitem__

    def _coloured(self, write: Show, kind: str) -> Show:
        """Return a function that writes a number with its meaning in colour; errors are red."""

        def show(value: Any) -> str:
            number, space, meaning = write(value).partition("  ")
            style = "meaning" if kind != "error" else "bad" if value else "good"
            return f"{number}{space}{self.look.paint(style, meaning)}" if meaning else number

        return show

    def _string(self, text: Any) -> str:
        if isinstance(text, Hidden):
            return values.octets(text)
        return self.null if text is None else self.look.paint("text", values.quote(text, self.look.max_text))

    def _items(self, show: Show) -> Show:
        most = self.look.max_items

        def items(found: list[Any] | None) -> str:
            if found is None:
                return self.null
            more = f", … {len(found) - most:,} more" if len(found) > most else ""
            return f"[{', '.join(map(show, found[:most]))}{more}]"

        return items

    def draw(self, node: Node) -> Draw:
        """Return the function that draws a value of this node below the line of its name."""
        if is_plain(node):
            return self._plain(self.show(node))
        if isinstance(node, WireArray):
            return self._array(node)
        if isinstance(node, RecordsNode):
            from .record_tree import records_drawer

            return records_drawer(self, node.format)
        if isinstance(node, (Sized, Rest)):
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

    def _plain(self, show: Show) -> Draw:
        def plain(value: Any, head: str, below: str) -> None:
            self.lines.append(f"{head}  {show(value)}")

        return plain

    def veiled(self, data: Any) -> Any:
        """Return the bytes as the look may show them: what is secret in them is hidden unless it wants secrets."""
        return data if self.look.show_secrets else veil(data)

    def payload(self, data: bytes | None, head: str, below: str) -> None:
        """Draw bytes: an opened payload as its name and fields, anything else in hex."""
        data = self.veiled(data)
        if isinstance(data, Opened):
            size = f"{len(data):,} byte{'s' * (len(data) != 1)}"
            self.struct(data.grammar)(
                data.value, f"{head}  {self.look.paint('meaning', data.name)}, {self.look.paint('dim', size)}", below
            )
        else:
            self.lines.append(f"{head}  {values.octets(data, self.look.max_text)}")

    def _array(self, node: WireArray) -> Draw:
        item = self._item(node.item)
        counts = Memo(lambda n: self.look.paint("dim", f"{n:,} element{'s' * (n != 1)}" if n else "empty"))
        add, only, only_below = self.lines.append, self.only, self.last_below

        def array(found: list[Any] | None, head: str, below: str) -> None:
            if found is None:
                add(f"{head}  {self.null}")
                return
            if len(found) == 1:
                item(found[0], f"{head}  {counts[1]}\n{below}{only}", below + only_below)
                return
            add(f"{head}  {counts[len(found)]}")
            self.numbered(found, below, item)

        return array

    def numbered(self, found: list[Any], prefix: str, draw: Draw) -> None:
        """Draw items below each other with their index, at most as many as the look allows."""
        most = self.look.max_items
        for i, value in enumerate(found[:most]):
            if i == len(found) - 1:
                draw(value, f"{prefix}{self.last}[{i}]", prefix + self.last_below)
            else:
                draw(value, f"{prefix}{self.mid}[{i}]", prefix + self.mid_below)
        if len(found) > most:
            self.lines.append(f"{prefix}{self.last}{self.look.paint('dim', f'… {len(found) - most:,} more')}")

    def _item(self, node: Node) -> Draw:
        if not isinstance(node, WireStruct) or node.front or len(node.fields) > INLINE or self.look.meanings:
            return self.draw(node)
        if not all(is_plain(field.node) and not isinstance(field.node, WireArray) for field in node.fields):
            return self.draw(node)
        nested = self.draw(node)
        paint = self.look.paint
        parts = [(field.name, f"  {paint('name', field.name)} ", self.show(field.node)) for field in node.fields]

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
            if len(data) <= most and not data.translate(None, PLAIN):
                return f'{on}"{data.decode()}"{off}'
            try:
                text = data.decode()
            except UnicodeDecodeError:
                return f"{on}{values.octets(data, most)}{off}"
            return f"{on}{values.quote(text, most)}{off}"

        return show


def is_plain(node: Node) -> bool:
    """Return whether a value of this node fits on the line of its name; bytes that may be opened do not."""
    if isinstance(node, (Sized, Rest)):
        return node.holds is None
    if isinstance(node, WireArray):
        return isinstance(node.item, (Fixed, Varint, UuidNode, Sized))
    return not isinstance(node, (WireStruct, NullableStruct, LengthPrefixed, RecordsNode, ResourceMetrics))
