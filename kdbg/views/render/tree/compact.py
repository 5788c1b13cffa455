"""Exchanges as compact trees, down to a depth, or only as far as they failed.

Defaults are folded, alike items are a table, a line each, and a batch of records is a line, as is a record that fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ....exchanges.messages.message import Message
from ....exchanges.messages.rejection import went_wrong
from ....protocol.findings import amounts
from ....protocol.wire import Api
from ....protocol.wire.language import Direction
from ....protocol.wire.nodes import TAGGED, Field, Fixed, Node, WireArray, WireStruct, children
from ....protocol.wire.records.sets import RecordFormat
from .. import values
from ..exchange_header import findings_of
from ..findings import finding_line
from ..style import COLOUR, Look
from ..values import cells, escape, number
from .folding import NAMES, FoldingTree, codes_in, items_of, places
from .records import AS_TEXT, INSIDE, OFFSET, RecordTree
from .source import Drawing
from .tree import Draw, Topics, is_plain
from .view import TreeView

GAP = "  "
GUIDE = 4
"""Letters of a guide in front of a line."""


def table(tree: FoldingTree, struct: WireStruct, found: list[Any], below: str, shown: Sequence[int]) -> bool:
    """Draw items of an array as a table, if they are alike and there is room; return whether they are.

    Where there is little room, errors stand below the lines that they are of, and names are broken.
    """
    columns = columns_of(tree, struct, found)
    if len(found) < 2 or not columns:
        return False
    room = tree.look.width - bare(below) - GUIDE
    plain = [field for field in columns if field.node.kind != "error"]
    for wanted, broken in ((columns, False), (plain, False), (plain, True)):
        made = CompactTable(tree, wanted, found, shown, broken=broken)
        if made.width <= room and (wanted or not plain):
            made.draw(below, struct, [field for field in columns if field not in wanted])
            return True
    return False


class CompactTable:
    """The lines of a table: names above, an item a line."""

    def __init__(
        self, tree: FoldingTree, columns: Sequence[Field], found: list[Any], shown: Sequence[int], *, broken: bool
    ) -> None:
        self.tree, self.columns, self.found, self.shown = tree, columns, found, shown
        writes = [(field.name, tree.show(field.node)) for field in columns]
        self.rows = [[f"[{i}]", *(write(found[i][name]) for name, write in writes)] for i in shown]
        names = [[""], *(field.name.split("_") if broken else [field.name] for field in columns)]
        high = max(map(len, names))
        self.heads = [[*[""] * (high - len(words)), *words] for words in names]
        columns_of_text = zip(self.heads, zip(*self.rows, strict=True), strict=True)
        self.widths = [max(map(bare, (*head, *column))) for head, column in columns_of_text]
        self.right = [False, *(isinstance(field.node, Fixed) and number(field.node) is None for field in columns)]
        self.width: int = sum(self.widths) + len(GAP) * (len(self.widths) - 1)

    def draw(self, below: str, struct: WireStruct, apart: Sequence[Field]) -> None:
        """Draw it into the tree; the fields `apart`, errors all, stand below the lines that have them."""
        tree, found, shown = self.tree, self.found, self.shown
        folded = len(struct.members) - len(self.columns) - len(apart)
        note = f"{GAP}… {amounts.count(folded, 'default')} each" if folded else ""
        heads = [self.line(line) for line in zip(*self.heads, strict=True)]
        fits = bare(below) + GUIDE + bare(heads[-1] + note) <= tree.look.width
        for head in [*heads[:-1], heads[-1] + note * fits]:
            tree.lines.append(f"{below}{tree.mid_below}{tree.look.paint('dim', head)}")
        for i, row in zip(shown, self.rows, strict=True):
            last = len(shown) == len(found) and i == shown[-1]
            guide, under = tree.guides[last]
            tree.lines.append(f"{below}{guide}{self.line(row)}")
            for field in apart:
                if found[i][field.name]:
                    text = tree.show(field.node)(found[i][field.name])
                    tree.lines.append(f"{below}{under}{' ' * self.widths[0]}{GAP}{tree.label(field)}{GAP}{text}")
        if len(shown) < len(found):
            tree.left_out(found, below, shown, codes_in(struct))

    def line(self, row: Sequence[str]) -> str:
        """Return the texts of a line in columns, numbers at the right."""
        texts = []
        for text, width, at_right in zip(row, self.widths, self.right, strict=True):
            blank = " " * (width - bare(text))
            texts.append(blank + text if at_right else text + blank)
        return GAP.join(texts).rstrip()


def columns_of(tree: FoldingTree, struct: WireStruct, found: list[Mapping[str, Any]]) -> list[Field]:
    """Return the fields that say something in any item; none where one of these is no plain value, or some lack one."""
    names = [field.name for field in struct.fields]
    if any(TAGGED in item or not all(name in item for name in names) for item in found):
        return []
    columns = []
    for field in struct.members:
        if all(field.name not in item or tree.folds(field, item) for item in found):
            continue
        if not is_plain(field.node) or field.name not in names:
            return []
        columns.append(field)
    return columns


def bare(text: str) -> int:
    """Return how many columns a text takes that may be painted."""
    return cells(COLOUR.sub("", text))


PLAIN = ("uncompressed", "create time")
"""What need not be said of a batch."""


class CompactRecords(RecordTree):
    """Draws what matters of batches and records; a batch that a finding is of has its whole header."""

    tree: FoldingTree
    explains = False

    def draw(self, found: list[dict[str, Any]] | None, head: str, below: str) -> None:
        if found and len(found) == 1 and not self.tree.look.full:
            self.entry(found[0], f"{head}{self.tree.look.paint('name', '[0]')}", below)
        else:
            super().draw(found, head, below)

    def batch(self, batch: dict[str, Any], head: str, below: str) -> None:
        inside = [name for name in INSIDE if name in batch]
        if self.tree.look.full or any((id(batch), field.name) in self.tree.noted for field in self.format.batch.fields):
            super().batch(batch, head, below)
            return
        self.tree.lines.append(f"{head}  {self.tree.look.paint('dim', ', '.join(header_words(batch)))}")
        for name in inside:
            if name == "records" and batch[name] is not None:
                self.tree.numbered(batch[name], below, self.record)
            else:
                self.inside(name, batch, below, last=name == inside[-1])

    def record(self, record: Mapping[str, Any], head: str, below: str) -> None:
        tree, show = self.tree, self.tree.contents
        key, value = record["key"], record["value"]
        if not (record["headers"] or "control" in record) and type(key) in AS_TEXT and type(value) in AS_TEXT:
            labels = [tree.look.paint("name", name) for name in ("key", "value")]
            pair = f"{labels[0]} {show(key)}  {labels[1]} {show(value)}"
            line = f"{head}{OFFSET}{record['offset']}{self.time(record)}  {pair}"
            if bare(line) <= tree.look.width:
                tree.lines.append(line)
                return
        super().record(record, head, below)

    def time(self, record: Mapping[str, Any]) -> str:
        return super().time(record) if self.tree.look.full else f"  {moment(record['timestamp'])}"


def moment(milliseconds: int) -> str:
    """Return the date and time of a timestamp alone; the number where that is none."""
    return values.timestamp(milliseconds).partition("  ")[2] or f"timestamp {milliseconds}"


def header_words(batch: Mapping[str, Any]) -> list[str]:
    """Return what matters of a batch's header: offsets, records, codec and flags, time, producer."""
    first, count = batch["base_offset"], batch["records_count"]
    last = first + batch["last_offset_delta"]
    words = [f"offset {first}" if last == first else f"offsets {first}–{last}", f"{count:,} record{'s' * (count != 1)}"]
    flags = values.attributes(batch["attributes"], 2).partition("  ")[2].split(", ")
    words += [flag for flag in flags if flag not in PLAIN]
    words += [moment(batch["max_timestamp"])] if batch["max_timestamp"] >= 0 else []
    if batch["producer_id"] >= 0:
        words.append(f"producer {batch['producer_id']}/{batch['producer_epoch']} sequence {batch['base_sequence']}")
    return words


class CompactTree(FoldingTree):
    """Draws what matters of a message."""

    def _array(self, node: WireArray) -> Draw:
        item, struct, codes = self._item(node.item), items_of(node), codes_in(node.item)

        def array(found: list[Any] | None, head: str, below: str) -> None:
            if found and len(found) == 1 and struct is not None and not (self.look.full or self.deepest):
                self.lines.append(f"{head}{self.look.paint('name', '[0]')}")
                self.fields(struct, found[0], below)
                return
            self.lines.append(f"{head}  {self.count(None if found is None else len(found))}")
            if not found:
                return
            if self.deepest:
                self.inside(node, found, below)
            elif struct is None or self.look.full or not table(self, struct, found, below, self.chosen(found, codes)):
                self.numbered(found, below, item, codes)

        return array

    def records(self, format: RecordFormat) -> Draw:
        return CompactRecords(self, format).draw


class CompactView(TreeView):
    """An exchange under one heading, its halves as compact branches."""

    tree: CompactTree

    def __init__(self, look: Look, topics: Topics) -> None:
        super().__init__(look, topics)
        self.tree = CompactTree(look, topics)

    def compiled(self, api: Api, version: int, direction: Direction) -> Drawing | None:
        return None

    def drawn(self, half: CapturedMessage, message: Message, body: Any, below: str) -> None:
        self.tree.noted = places(message.findings, body)
        super().drawn(half, message, body, below)


class FailuresView(CompactView):
    """The exchanges in which something went wrong, and of these the items that failed, with their paths."""

    def __call__(self, exchange: Exchange) -> bytes:
        return super().__call__(exchange) if went_wrong(exchange) else b""

    def drawn(self, half: CapturedMessage, message: Message, body: Any, below: str) -> None:
        tree, failed, odd = self.tree, list(failures(message.grammar, body)), findings_of(half, message)
        tree.noted = places(message.findings, body)
        for i, one in enumerate(failed):
            last = i == len(failed) - 1 and not odd
            guide, under = tree.guides[last]
            names = "".join(f"  {self.named(name)}" for name in one.names)
            tree.lines.append(f"{below}{guide}{self.look.paint('heading', one.path or half.direction)}{names}")
            tree.fields(one.grammar, one.value, below + under)
        tree.lines += [f"{below}{finding_line(finding, self.look)}" for finding in odd]

    def named(self, name: Any) -> str:
        """Return a topic, partition or group that a failed item is in."""
        return self.look.paint("text", escape(str(self.tree.topics.get(name) or name)))


class Failure(NamedTuple):
    """A structure with an error code that is not 0: its path, the topics and groups around it, and its own fields."""

    path: str
    names: tuple[Any, ...]
    grammar: WireStruct
    value: Mapping[str, Any]


def failures(node: Node, value: Any, path: str = "", names: tuple[Any, ...] = ()) -> Iterator[Failure]:
    """Yield the structures of a value that failed, in the order of the wire; of each the plain fields alone."""
    if value is None or (codes := codes_in(node)) is None or not codes(value):
        return
    if isinstance(node, WireStruct):
        own = WireStruct(tuple(field for field in node.fields if not children(field.node)), None)
        own_codes = codes_in(own)
        if own_codes is not None and own_codes(value):
            yield Failure(
                path, names, own, {field.name: value[field.name] for field in own.fields if field.name in value}
            )
        told = (value.get(field.name) for field in node.members if field.node.kind in NAMES)
        names = (*names, *(one for one in told if one is not None))
    for child in children(node):
        for i, inside in enumerate(child.values(value)):
            step = f"[{i}]" if child.repeated else f"{'.' * bool(path and child.key)}{child.key}"
            yield from failures(child.node, inside, path + step, names)
