"""The view of exchanges as trees: one heading, both halves as branches.

Clean messages and record sets are drawn straight from their bytes (see wire/readings/codegen.py).
`drawing(texts, header, body, below)` returns `draw(data, out, topics, odd=None)`: it appends the lines below that of
the message, in pieces, to `out`; what it notes has no line (see runtime.py). They are those that the
tree of `texts` draws of the value; for all that only a value tells (payloads, secrets, tagged fields, faults, messages
of magic 0 and 1, control batches) it raises one of `UNREADABLE`, and what it appended then is worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ....exchanges.messages.message import Message
from ....protocol.wire import Api
from ....protocol.wire.language import Direction
from ....protocol.wire.nodes import WireArray, WireStruct, children, contains
from ....protocol.wire.nodes.leaves import Node, Sized
from ....protocol.wire.readings.batches import Batches
from ....protocol.wire.readings.codegen import UNREADABLE, Unsuited
from ....protocol.wire.readings.measure import begin
from ....protocol.wire.readings.outline import ALWAYS, Topics
from ....protocol.wire.readings.runtime import Odd, Unreadable
from ....protocol.wire.readings.secrets import has_secrets
from ....protocol.wire.records import RecordsNode
from ....protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL, entries
from ..exchange_header import Headings, encode, findings_of, remarks
from ..findings import finding_line
from ..style import Look
from ..text_source import encoded, layout_of
from ..values import Memo
from ..without_values import shown_body
from .lines import BELOW, PLAIN, DrawSet, Lines, Texts
from .records import BATCH, EQUALS, OFFSET, TIMESTAMP, RecordTree
from .tree import Tree, is_inline, is_plain

Drawing: TypeAlias = Callable[[bytes, list[bytes], Topics, "list[Odd] | None"], None]
"""Appends the lines of a message, given its bytes, to a list; notes what is odd and yet readable (runtime.py)."""


def drawing(texts: Texts, header: Node, body: WireStruct, below: str) -> Drawing | None:
    """Return the function that draws messages of this grammar below a prefix; None where only their values tell how.

    `topics` are the names of topic ids by which records are distinguished: those of Kafka's own topics hold payloads.
    """
    look = texts.tree.look
    if look.meanings or (has_secrets(body) and not look.show_secrets):
        return None
    try:
        return Drawn(texts, records=contains(body, lambda node: isinstance(node, RecordsNode))).message(
            header, body, below
        )
    except Unsuited:
        return None


class Drawn(Lines):
    """Writes a function that draws messages.

    A method that reads a node is called when what stands in front on its line is in the block: it ends that line and
    adds those below.
    """

    notes = True

    def message(self, header: Node, body: WireStruct, below: str) -> Drawing:
        """Return the function for messages of this header and body, below a prefix."""
        begin(self, header, body)
        self.prefixes[BELOW] = "", below
        self.prove(header, 1)
        self.line(1, "add = out.append")
        self.fields(body, 1)
        self.emit(1)
        self.end(1)
        return self.define("draw(data, out, topics, odd=None, pos=0)", "None")  # type: ignore[no-any-return]

    def fields(self, node: WireStruct, depth: int) -> None:
        """Write what draws the fields of a structure."""
        if node.front:
            self.no_tags(node)
        below = self.below
        for field in node.fields:
            guide, under = self.tree.guides[field is node.fields[-1]]
            self.text(BELOW, f"{below}{guide}{self.tree.label(field)}")
            self.below = below + under
            self.read(field.node, depth)
        self.below = below
        if not node.front:
            self.no_tags(node)

    def no_tags(self, node: WireStruct) -> None:
        """Write what refuses tagged fields, which would change the lines in front of them."""
        if node.tags is not None:
            count = self.fresh()
            self.take("B", count, count)

    def leaf(self, node: Node, depth: int) -> str:
        self.text("  ")
        self.show(node, depth)
        self.text("\n")
        return ""

    def struct(self, node: WireStruct, depth: int) -> str:
        self.text("\n")
        self.fields(node, depth)
        return ""

    def record_set(self, node: RecordsNode, end: str) -> str:
        draw = self.texts.record_sets.get(node)
        if draw is None:
            draw = self.texts.record_sets[node] = RecordLines(self.texts, node).draw_set()
        return f"{self.named('records', draw)}({self.front()}, data, pos, {end}, out, odd)"

    def array(self, node: WireArray, depth: int) -> str:
        self.text("  ")
        if is_plain(node):  # it stands on one line
            if isinstance(node.item, Sized) and node.item.holds is not None:
                raise Unsuited
            start, text = self.fresh(), self.fresh()
            self.flush(depth)
            self.line(depth, f"{start} = pos")
            self.prove(node, depth)
            self.flush(depth)
            self.line(depth, f"{text} = {self.text_of(self.texts.array(node), f'data[{start}:pos]')}")
            self.put(text)
            self.text("\n")
            return ""
        count = self.length(node.length, depth)
        self.line(depth, f"if {count} < {-1 if node.nullable else 0}: raise Unreadable")
        self.no_more_than_shown(count, depth)
        self.put(f"counts[{count}]")
        self.text("\n")
        self.numbered(count, depth, lambda depth: self.numbered_item(node.item, depth))
        return ""

    def numbered_item(self, node: Node, depth: int) -> None:
        """Write what draws an item of an array after its number."""
        self.number()
        if not is_inline(node, self.tree.look):
            self.read(node, depth)
            return
        for field in node.fields:
            self.text(f"  {self.tree.label(field)} ")
            self.show(field.node, depth)
        self.text("\n")
        self.no_tags(node)


class RecordLines(Lines, Batches):
    """Writes a function that draws record sets after their names; the line that counts entries is filled in last."""

    notes = True
    unusual = CONTROL
    in_record = False
    """Whether strings and bytes that are read now are parts of a record: they look different there."""

    def __init__(self, texts: Texts, node: RecordsNode) -> None:
        super().__init__(texts, records=False, format=node.format, cut=node.cut)
        self.record_tree: RecordTree = RecordTree(texts.tree, node.format)
        self.batches = ""
        """The variable with the prefixes of batches."""

    def draw_set(self) -> DrawSet:
        """Return the function: `draw(below, data, start, end, out, odd)`; `below` stands in front of its lines."""
        self.prefixes[BELOW] = "below", ""
        self.batches = self.items(1)
        self.line(1, "add, place = out.append, len(out)")
        self.line(1, "batches = pieces = records = 0")
        self.line(1, "add(b'')")
        self.loop_over_batches(1)
        self.no_more_than_shown("batches + pieces", 1)
        self.text("  ")

        def count(numbers: tuple[int, int, int]) -> bytes:
            batches, pieces, records = numbers
            kinds = {kind: count for kind, count in (("batch", batches), ("piece", pieces)) if count}
            return self.record_tree.count(kinds, records).encode()

        self.put(self.text_of(Memo(count), "batches, pieces, records"))
        self.text("\n")
        self.emit(1, "out[place] = {}")
        return self.define("draw(below, data, pos, end, out, odd)", "None")  # type: ignore[no-any-return]

    def partial(self, depth: int) -> None:
        def text(piece: bytes) -> bytes:
            if not next(entries(piece, 0, len(piece), self.format)).partial:
                raise Unreadable
            return self.record_tree.piece("partial", piece).encode()

        self.enter(self.batches, "True", depth)
        self.index = "batches"
        self.number()
        self.text("  ")
        self.put(self.text_of(text, "data[pos:end]"))
        self.text("\n")
        self.leave(depth)
        self.line(depth, "pieces = 1")

    def head(self, depth: int) -> None:
        self.enter(self.batches, "stop >= end", depth)
        tree, read = self.record_tree, self.fields
        self.text(BELOW, f"{self.tree.mid}{tree.labels['compressed_records']}  ")
        self.put(self.text_of(encoded(tree.size), "stop - pos"))
        self.text("\n")
        self.emit(depth, f"packed = {{}} if {read['attributes']} & {CODEC_MASK} else b''")
        self.index = "batches"
        self.number()
        self.text(f"{BATCH}\n")
        for field in self.format.batch.fields:
            self.text(BELOW, f"{self.tree.mid}{self.tree.label(field)}  ")
            self.put_number(field.node, read[field.name])
            self.text("\n")
        self.put("packed")
        self.text(BELOW, f"{self.tree.last}{tree.labels['records']}  ")
        self.put(self.text_of(Memo(encoded(tree.total)), read["records_count"]))
        self.text("\n")

    def each(self, count: str, depth: int) -> None:
        self.no_more_than_shown(count, depth)
        self.below = self.tree.last_below
        self.numbered(count, depth, self.one)
        self.below = ""

    def foot(self, depth: int) -> None:
        self.leave(depth)
        self.line(depth, "batches += 1")
        self.line(depth, f"records += {self.fields['records_count']}")

    def content(self, node: Node, depth: int) -> str:
        self.in_record = True
        text = self.value(node, depth)
        self.in_record = False
        return text

    def headers(self, node: Node, depth: int) -> None:
        assert isinstance(node, WireArray)
        name, value = (child.node for child in children(node.item))

        def header(depth: int) -> None:
            texts = self.content(name, depth), self.content(value, depth)
            self.line(depth, f"headers.append({texts[0]} + {EQUALS.encode()!r} + {texts[1]})")

        count = self.length(node.length, depth)
        self.line(depth, "headers = None")
        self.line(depth, f"if {count}:")
        self.line(depth + 1, f"if {count} < 0: raise Unreadable")
        self.line(depth + 1, "headers = []")
        self.loop(count, depth + 1, header)

    def record(self, depth: int) -> None:
        self.either("headers", depth, lambda depth: self.record_lines(True), lambda depth: self.record_lines(False))

    def record_lines(self, headers: bool) -> None:
        """Add the lines of a record to the block, with its headers if it has some."""
        of, batch, tree = self.of_record, self.fields, self.record_tree
        time = f"{batch['base_timestamp']} + {of['timestamp_delta']}"
        if_appended = f"{batch['max_timestamp']} if {batch['attributes']} & {APPEND_TIME} else {time}"
        self.number()
        self.text(OFFSET)
        self.put(f"{batch['base_offset']} + {of['offset_delta']}", "%d")
        self.text(TIMESTAMP)
        self.put(self.text_of(self.texts.timestamps, if_appended))
        self.text("\n", BELOW, tree.key)
        self.put(of["key"])
        self.text("\n", BELOW, tree.value if headers else tree.last_value)
        self.put(of["value"])
        if headers:
            self.text("\n", BELOW, tree.headers)
            self.put("b', '.join(headers)")
        self.text("\n")

    def of_bytes(self, node: Sized, data: str) -> str:
        if not self.in_record:
            return super().of_bytes(node, data)
        if node.text:
            return self.text_of(self.texts.names, data)
        if not self.tree.look.full:
            return self.text_of(self.texts.contents, data)
        # nearly all keys and values are plain, which is seen without a call
        on, off = (self.named("quote", quote) for quote in self.texts.quotes)
        self.names["PLAIN"] = PLAIN
        plain = f"not (found := {data}).translate(None, PLAIN)"
        return f"{on} + found + {off} if {plain} else {self.text_of(self.texts.contents, 'found')}"

    def of_null(self, node: Sized) -> str:
        return self.named("null", self.tree.contents(None).encode()) if self.in_record else super().of_null(node)


class TreeView:
    """An exchange under one heading, its halves as branches.

    What is clean is drawn straight from its bytes, and what is not by its value: the text is the same.
    """

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look = look
        self.tree: Tree = Tree(look, topics)
        self.texts: Texts = Texts(self.tree)
        self.headings: Headings = Headings(look, request=f"\n{self.tree.mid}", response=self.tree.last)
        self.drawing: Callable[[Api, int, Direction], Drawing | None] = cache(self.compiled)

    def __call__(self, exchange: Exchange) -> bytes:
        heading, request, response = self.headings.half, exchange.request, exchange.response
        out = [self.headings.title(exchange), *[encode(f"\n  {line}") for line in remarks(exchange, self.look)]]
        out.append(heading(request, exchange, "request"))
        if request is not None:
            self.half(request, out)
        out.append(heading(response, exchange, "response"))
        if response is not None:
            self.half(response, out)
        out.append(b"\n")
        return b"".join(out)

    def half(self, half: CapturedMessage, out: list[bytes]) -> None:
        """Add the lines below the heading of one half to `out`, those of its findings last."""
        if half.api is None:
            return
        draw = self.drawing(half.api, half.version, half.direction)
        if draw is not None:
            odd: list[Odd] = []
            before = len(out)
            try:
                draw(half.data, out, half.known.topics if half.known is not None else ALWAYS, odd)
                findings = half.prove(odd)
            except UNREADABLE:
                del out[before:]
            else:
                if findings:
                    below = self.below(half.direction)
                    out += [encode(f"{below}{finding_line(finding, self.look)}\n") for finding in findings]
                return
        message, below = half.message(), self.below(half.direction)
        if message is None:
            return
        body = shown_body(message, self.look)
        if self.look.read is not None:
            from ....payloads.records.sources import read_in_place

            read_in_place(message.grammar, body, self.tree.topics, self.look.read)
        self.drawn(half, message, body, below)
        out.append(encode(self.tree.take()))

    def compiled(self, api: Api, version: int, direction: Direction) -> Drawing | None:
        """Return what draws such messages straight from their bytes; None where there is no such thing."""
        found = layout_of(api, version, direction, self.look)
        return drawing(self.texts, *found, self.below(direction)) if found is not None else None

    def below(self, direction: Direction) -> str:
        """Return what stands in front of the lines of a half."""
        return self.tree.mid_below if direction == "request" else self.tree.last_below

    def drawn(self, half: CapturedMessage, message: Message, body: Any, below: str) -> None:
        """Draw the fields of a half, then what is odd about them."""
        self.tree.fields(message.grammar, body, below)
        for finding in findings_of(half, message):
            self.tree.lines.append(f"{below}{finding_line(finding, self.look)}")
