"""The function that draws record sets straight from their bytes: sound batches, plain or compressed.

Messages of magic 0 and 1 are left to the tree, and control batches, whose records are payloads.
"""

from __future__ import annotations

from ....protocol.wire.nodes import Node, Sized, WireArray
from ....protocol.wire.nodes.children import children
from ....protocol.wire.readings.batches import Batches
from ....protocol.wire.readings.runtime import Unreadable
from ....protocol.wire.records.node import RecordsNode
from ....protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL, entries
from ..record_tree import BATCH, EQUALS, OFFSET, TIMESTAMP, RecordTree
from ..values import Memo
from .leaves import Leaves
from .lines import BELOW, Scope
from .texts import PLAIN, DrawSet, Encoded, Texts, encoded


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
