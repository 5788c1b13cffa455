"""The functions that draw clean messages and record sets straight from their bytes (see wire/readings/codegen.py).

`drawing(texts, header, body, below)` returns `draw(data, out, topics, odd=None)`: it appends the lines below that of
the message, in pieces, to `out`; what it notes has no line (see runtime.py). They are those that the
tree of `texts` draws of the value; for all that only a value tells (payloads, secrets, tagged fields, faults, messages
of magic 0 and 1, control batches) it raises one of `UNREADABLE`, and what it appended then is worth nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Protocol

from ....protocol.wire.nodes import (
    Field,
    Fixed,
    LengthPrefixed,
    Node,
    NullableStruct,
    RemainingBytes,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
    children,
    contains,
)
from ....protocol.wire.readings.batches import Batches
from ....protocol.wire.readings.codegen import WRITES, Unsuited
from ....protocol.wire.readings.measure import begin
from ....protocol.wire.readings.runtime import Odd, Unreadable
from ....protocol.wire.readings.secrets import has_secrets
from ....protocol.wire.records import RecordsNode
from ....protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL, entries
from ..text_source import Encoded, encoded
from ..values import CHECKSUM, Memo
from .lines import BELOW, PLAIN, DrawSet, Lines, Scope, Texts, literal
from .records import BATCH, EQUALS, OFFSET, TIMESTAMP, RecordTree
from .tree import is_inline, is_plain


class Leaves(Lines):
    """Writes a function that makes texts of leaves: of strings and bytes while they are read."""

    def show(self, node: Node, depth: int) -> None:
        """Write what reads a leaf, and put its text into the block."""
        if isinstance(node, Sized):
            self.put(self.value(node, depth))
        elif isinstance(node, UuidNode):
            raw = self.take("16s", self.fresh())
            self.refuse_special(node, raw, depth)
            self.put(self.text_of(self.texts.uuids(node), raw))
        elif isinstance(node, RemainingBytes):
            self.put(self.text_of(self.texts.octets(node), self.value(node, depth)))
        elif isinstance(node, (Fixed, Varint)):
            self.put_number(node, self.value(node, depth))
        else:
            raise Unsuited

    def put_number(self, node: Node, value: str) -> None:
        """Put the text of a number into the block, given the expression of the number."""
        texts = self.texts.number(node)
        if node.kind == "crc":
            self.put(f"{value} & 0xFFFFFFFF", CHECKSUM)
        elif texts is None:
            self.put(value, "%d")
        else:
            self.put(self.text_of(texts, value))

    def of_bytes(self, node: Sized, data: str) -> str:
        return self.of_text(node, data) if node.text else self.text_of(self.texts.octets(node), data)

    def of_null(self, node: Sized) -> str:
        return self.named("null", self.texts.null(node))

    def array_shown(self, node: WireArray, depth: int) -> str:
        """Write what proves an array that stands on one line; return the expression of its text."""
        if isinstance(node.item, Sized) and node.item.holds is not None:
            raise Unsuited
        start, text = self.fresh(), self.fresh()
        self.flush(depth)
        self.line(depth, f"{start} = pos")
        self.read(node, depth)
        self.flush(depth)
        self.line(depth, f"{text} = {self.text_of(self.texts.array(node), f'data[{start}:pos]')}")
        return text

    def draw_null(self, depth: int) -> None:
        """Write what ends a line with a null."""
        self.text(f"  {self.tree.null}\n")
        self.emit(depth)


class Drawing(Protocol):
    """Appends the lines of a message, given its bytes, to `out`; `odd` is a list for what it notes (runtime.py)."""

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
        getattr(self, f"draw_{WRITES[type(node)]}")(node, below, depth)

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
        guide, under = self.tree.guides[last]
        self.text(BELOW, f"{below}{guide}{self.tree.label(field)}")
        self.draw(field.node, below + under, depth)

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


def record_set(texts: Texts, node: RecordsNode) -> tuple[DrawSet, Scope]:
    """Return the function that draws record sets, `draw(tuple, data, start, end, out)`, and the scope of the tuple."""
    found = texts.record_sets.get(node)
    if found is None:
        walk = RecordLines(texts, node)
        found = texts.record_sets[node] = walk.record_set(), walk.scope
    return found


class RecordLines(Leaves, Batches):
    """Writes a function that draws record sets behind their names; the line that counts entries is filled in last."""

    notes = True
    unusual = CONTROL
    in_record = False
    """Whether strings and bytes that are read now are parts of a record: they look different there."""

    def __init__(self, texts: Texts, node: RecordsNode) -> None:
        super().__init__(texts, records=False, format=node.format, cut=node.cut)
        self.record_tree: RecordTree = RecordTree(texts.tree, node.format)

    def record_set(self) -> DrawSet:
        """Return the function."""
        self.line(1, "add, place = out.append, len(out)")
        self.line(1, "batches = pieces = records = 0")
        self.line(1, "add(b'')")
        self.loop_over_batches(1)
        self.no_more_than_shown("batches + pieces", 1)
        self.text("  ")
        self.put(self.text_of(set_counts(self.record_tree), "batches, pieces, records"))
        self.text("\n")
        self.emit(1, "out[place] = {}")
        return self.function("data, pos, end, out, odd")  # type: ignore[no-any-return]

    def partial(self, depth: int) -> None:
        scope, pair = self.items("")
        self.enter(scope, f"{pair}[True]")
        self.number("batches")
        self.text("  ")
        self.put(self.text_of(cut_off(self.record_tree), "data[pos:end]"))
        self.text("\n")
        self.leave(depth)
        self.line(depth, "pieces = 1")

    def head(self, depth: int) -> None:
        scope, pair = self.items("")
        self.enter(scope, f"{pair}[stop >= end]")
        tree, read = self.record_tree, self.fields
        self.text(BELOW, f"{self.mid}{tree.labels['compressed_records']}  ")
        self.put(self.text_of(encoded(tree.size), "stop - pos"))
        self.text("\n")
        self.emit(depth, f"packed = {{}} if {read['attributes']} & {CODEC_MASK} else b''")
        self.number("batches")
        self.text(f"{BATCH}\n")
        for field in self.format.batch.fields:
            self.text(BELOW, f"{self.mid}{self.tree.label(field)}  ")
            self.put_number(field.node, read[field.name])
            self.text("\n")
        self.put("packed")
        self.text(BELOW, f"{self.last}{tree.labels['records']}  ")
        self.put(self.text_of(Memo(encoded(tree.total)), read["records_count"]))
        self.text("\n")

    def each(self, count: str, depth: int) -> None:
        def one(index: str, depth: int) -> None:
            self.index = index
            self.one(depth)

        self.numbered(count, self.last_below, depth, one)

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
        self.number(self.index)
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
        return self.text_of(self.texts.names, data) if node.text else self.content_of(data)

    def content_of(self, data: str) -> str:
        """Return the expression of the text of a key or value; nearly all are plain, which is seen without a call."""
        if not self.tree.look.full:
            return self.text_of(self.texts.contents, data)
        on, off = (self.named("quote", quote) for quote in self.texts.quotes)
        self.names["PLAIN"] = PLAIN
        plain = f"not (found := {data}).translate(None, PLAIN)"
        return f"{on} + found + {off} if {plain} else {self.text_of(self.texts.contents, 'found')}"

    def of_null(self, node: Sized) -> str:
        return self.named("null", self.tree.contents(None).encode()) if self.in_record else super().of_null(node)


def set_counts(tree: RecordTree) -> Memo[bytes]:
    """Return what is said of record sets, by their numbers of batches, of pieces that are none, and of records."""

    def count(key: tuple[int, int, int]) -> bytes:
        batches, pieces, records = key
        kinds = {"batch": batches, "piece": pieces}
        return tree.count({kind: count for kind, count in kinds.items() if count}, records).encode()

    return Memo(count)


def cut_off(tree: RecordTree) -> Encoded:
    """Return what makes the text of an entry's beginning; what is no such thing is unreadable."""

    def text(piece: bytes) -> bytes:
        if not next(entries(piece, 0, len(piece), tree.format)).partial:
            raise Unreadable
        return tree.piece("partial", piece).encode()

    return text
