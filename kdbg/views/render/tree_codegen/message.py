"""The function that draws clean messages of one layout straight from their bytes (see wire/readings/walk.py).

`drawing(texts, header, body, below)` returns `draw(data, out, topics, odd=None)`: it appends the lines below that of
the message, in pieces, to `out`; what it notes has no line (see anomalies.py). They are those that the
tree of `texts` draws of the value; for all that only a value tells (payloads, secrets, tagged fields, faults) it raises
one of `UNREADABLE`, and what it appended then is worth nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Protocol

from ....protocol.wire.nodes import Field, LengthPrefixed, Node, NullableStruct, WireArray, WireStruct
from ....protocol.wire.nodes.children import contains
from ....protocol.wire.readings.anomalies import Odd
from ....protocol.wire.readings.codegen import Unsuited, method_of
from ....protocol.wire.readings.measure import begin
from ....protocol.wire.readings.secrets import has_secrets
from ....protocol.wire.records.node import RecordsNode
from ..tree import is_inline, is_plain
from .leaves import Leaves
from .lines import BELOW, literal
from .records import record_set
from .texts import Texts


class Drawing(Protocol):
    """Appends the lines of a message, given its bytes, to `out`; `odd` is a list for what it notes (anomalies.py)."""

    def __call__(
        self, data: bytes, out: list[bytes], topics: Mapping[uuid.UUID, str], odd: list[Odd] | None = None, /
    ) -> None: ...


def drawing(texts: Texts, header: Node, body: WireStruct, below: str) -> Drawing | None:
    """Return the function that draws messages of this grammar below a prefix; None where only their values tell how.

    `topics` are the names of topic ids by which records are told apart: those of Kafka's own topics hold payloads.
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


class Drawn(Leaves):
    """Writes a function that draws messages.

    A method that draws a node is called when what stands in front on its line is in the block: it ends that line and
    adds those below, whose prefix ends in `below`.
    """

    notes = True

    def message(self, header: Node, body: WireStruct, below: str) -> Drawing:
        """Return the function for messages of this header and body, below a prefix."""
        begin(self, header, body)
        self.prove(header, 1)
        self.line(1, "add = out.append")
        self.fields(body, "", 1)
        self.emit(1)
        self.end(1)
        return partial(self.function("data, out, topics, odd=None, pos=0"), self.scope.at((b"", literal(below))))

    def draw(self, node: Node, below: str, depth: int) -> None:
        """Write what reads and draws a node, by the method for its class."""
        getattr(self, f"draw_{method_of(node)}")(node, below, depth)

    def fields(self, node: WireStruct, below: str, depth: int) -> None:
        """Write what draws the fields of a structure."""
        if node.front:
            self.no_tags(node)
        for field in node.fields:
            self.row(field, below, field is node.fields[-1], depth)
        if not node.front:
            self.no_tags(node)

    def no_tags(self, node: WireStruct) -> None:
        """Write what refuses tagged fields, which would change the lines in front of them."""
        if node.tags is not None:
            count = self.fresh()
            self.take("B", count, count)

    def row(self, field: Field, below: str, last: bool, depth: int) -> None:
        """Write what draws one field."""
        self.text(BELOW, f"{below}{self.last if last else self.mid}{self.tree.label(field)}")
        self.draw(field.node, below + (self.last_below if last else self.mid_below), depth)

    def draw_leaf(self, node: Node, below: str, depth: int) -> None:
        """Write what draws a value on the line of its name."""
        self.text("  ")
        self.show(node, depth)
        self.text("\n")

    def draw_struct(self, node: WireStruct, below: str, depth: int) -> None:
        """Write what draws a structure inside another."""
        self.text("\n")
        self.fields(node, below, depth)

    def draw_prefixed(self, node: LengthPrefixed, below: str, depth: int) -> None:
        """Write what draws a structure behind its length."""
        end = self.begin_prefixed(node, depth)
        self.draw(node.item, below, depth)
        self.flush(depth)
        self.line(depth, f"if pos != {end}: raise Unreadable")

    def draw_nullable_struct(self, node: NullableStruct, below: str, depth: int) -> None:
        """Write what draws a structure that may be null."""
        self.emit(depth)

        def there(depth: int) -> None:
            self.draw(node.struct, below, depth)
            self.emit(depth)

        self.marked(node, depth, self.draw_null, there)

    def draw_records(self, node: RecordsNode, below: str, depth: int) -> None:
        """Write what draws a record set."""
        size, (draw, scope) = self.length(node.length, depth), record_set(self.texts, node)
        self.emit(depth)
        self.guard_null(size, node.nullable, depth, self.draw_null)
        depth, drawn, lines = depth + 1, self.named("records", draw), self.fresh("S")
        self.scope.add(lines, self.below(below, scope))
        self.line(depth, f"if pos + {size} > len(data): raise Unreadable")
        self.line(depth, f"{drawn}({lines}, data, pos, pos + {size}, out, odd)")
        self.line(depth, f"pos += {size}")

    def draw_array(self, node: WireArray, below: str, depth: int) -> None:
        """Write what draws an array: on one line if its items are plain, else each below its number."""
        self.text("  ")
        if is_plain(node):
            self.put(self.array_shown(node, depth))
            self.text("\n")
            return
        count = self.length(node.length, depth)
        self.line(depth, f"if {count} < {-1 if node.nullable else 0}: raise Unreadable")
        self.put(f"counts[{count}]")
        self.text("\n")
        self.numbered(count, below, depth, lambda index, depth: self.item_below(node.item, index, depth))

    def item_below(self, node: Node, index: str, depth: int) -> None:
        """Write what draws an item of an array behind its number."""
        self.number(index)
        if not is_inline(node, self.tree.look):
            self.draw(node, "", depth)
            return
        for field in node.fields:
            self.text(f"  {self.tree.label(field)} ")
            self.show(field.node, depth)
        self.text("\n")
        self.no_tags(node)
