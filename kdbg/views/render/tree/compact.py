"""Exchanges as compact trees, down to a depth, or only as far as they failed.

Defaults are folded, and of long arrays all but the first items and what went wrong; what is odd never is. Alike items
are a table, a line each, and a batch of records is a line, as is a record that fits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ....exchanges.messages.message import Message
from ....exchanges.messages.rejection import went_wrong
from ....protocol.findings import Finding, amounts
from ....protocol.grammars.errors import error_name
from ....protocol.wire import Api
from ....protocol.wire.language import Direction
from ....protocol.wire.nodes import NO_DEFAULT, TAGGED, Field, NullableStruct, WireArray, WireStruct, children, contains
from ....protocol.wire.nodes.leaves import Fixed, Node
from ....protocol.wire.readings.outline import outline
from ....protocol.wire.records.sets import RecordFormat
from .. import values
from ..exchange_header import findings_of
from ..findings import finding_line
from ..style import COLOUR, Look
from ..values import cells, escape, number
from .records import AS_TEXT, INSIDE, OFFSET, RecordTree
from .source import Drawing, TreeView
from .tree import Codes, Draw, Topics, Tree, is_plain

NAMES = frozenset({"topic", "topic_id", "partition", "group", "api"})
"""Kinds of fields that say what all others are of."""
STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
Place = tuple[int, str | int]
"""A value inside another, by the identity of that and its name or index there."""


def is_default(field: Field, value: Any) -> bool:
    """Return whether a field says no more than if it were not there: its default, an empty array, no error."""
    node = field.node
    if value == [] or (isinstance(value, UUID) and not value.int):
        return True
    if node.kind in NAMES:
        return False
    if value == "":
        return True
    if isinstance(node, NullableStruct) and value is None:
        return True
    if field.initial is not NO_DEFAULT or isinstance(node, WireStruct):
        return bool(type(value) is type(field.default) and value == field.default)
    return value == 0 and (node.kind == "error" or field.name == "throttle_time_ms")


def places(findings: Iterable[Finding], body: Any) -> frozenset[Place]:
    """Return the values of a body on the way to what findings are of, as far as there are such."""
    found: set[Place] = set()
    for finding in findings:
        value = body
        for name, index in STEP.findall(finding.path):
            key = name or int(index)
            found.add((id(value), key))
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                break
    return frozenset(found)


@cache
def codes_in(node: Node) -> Codes | None:
    """Return what finds the error codes that are not 0 in a value; None where there is no such field."""
    if not contains(node, lambda inner: inner.kind == "error"):
        return None
    if isinstance(node, WireStruct):
        read = outline(node)
        return lambda value: read(value)[2]
    field = Field("items", node)
    read_field = outline(WireStruct((field,), None))
    return lambda value: read_field({"items": value})[2]


def error_names(codes: Iterable[int]) -> str:
    """Return error codes by their names, each with how often it is there: `2 NOT_LEADER_OR_FOLLOWER`."""
    return ", ".join(f"{count:,} {error_name(code)}" for code, count in Counter(codes).most_common())


MOST_FAILED = 100
"""Failed items of an array that are shown; of those beyond, the names of the errors and how many there are."""


GAP = "  "
GUIDE = 4
"""Letters of a guide in front of a line."""


def table(tree: CompactTree, struct: WireStruct, found: list[Any], below: str, shown: Sequence[int]) -> bool:
    """Draw items of an array as a table, if they are alike and there is room; return whether they are.

    The columns are fields that say something in any item. Where there is little room, errors stand below the lines that
    they are of, and names are broken.
    """
    names = [field.name for field in struct.fields]
    if len(found) < 2 or any(TAGGED in item or not all(name in item for name in names) for item in found):
        return False
    columns = []
    for field in struct.members:
        if all(field.name not in item or tree.folds(field, item) for item in found):
            continue
        if not is_plain(field.node) or field.name not in names:
            return False
        columns.append(field)
    if not columns:
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
        self, tree: CompactTree, columns: Sequence[Field], found: list[Any], shown: Sequence[int], *, broken: bool
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


def bare(text: str) -> int:
    """Return how many columns a text takes that may be painted."""
    return cells(COLOUR.sub("", text))


class CompactRecords(RecordTree):
    """Draws what matters of batches and records; a batch that a finding is of has its whole header."""

    tree: CompactTree
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
        first, count = batch["base_offset"], batch["records_count"]
        last = first + batch["last_offset_delta"]
        words = [f"offset {first}" if last == first else f"offsets {first}–{last}", amounts.count(count, "record")]
        flags = values.attributes(batch["attributes"], 2).partition("  ")[2].split(", ")
        words += [flag for flag in flags if flag not in ("uncompressed", "create time")]
        words += [moment(batch["max_timestamp"])] if batch["max_timestamp"] >= 0 else []
        if batch["producer_id"] >= 0:
            producer = f"producer {batch['producer_id']}/{batch['producer_epoch']}"
            words.append(f"{producer} sequence {batch['base_sequence']}")
        self.tree.lines.append(f"{head}  {self.tree.look.paint('dim', ', '.join(words))}")
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


class CompactTree(Tree):
    """Draws fields and items that say something; of a look with `full` all, down to the depth that it wants."""

    def __init__(self, look: Look, topics: Topics) -> None:
        super().__init__(look, topics)
        self.noted: frozenset[Place] = frozenset()
        """Values that findings are of: they are shown whatever they are."""
        self.level = 0

    @property
    def deepest(self) -> bool:
        """Whether what is inside the fields that are drawn now lies deeper than the look wants."""
        return self.look.depth is not None and self.level >= self.look.depth

    def fields(self, grammar: WireStruct, value: Mapping[str, Any], below: str, *, more: bool = False) -> None:
        rows = list(zip(self.rows(grammar), grammar.members, strict=True))
        found = [(row, field) for row, field in rows if row.key in value]
        kept = [row for row, field in found if not self.folds(field, value)]
        folded = len(found) - len(kept)
        self.level += 1
        self.draw_rows(kept, value, below, more=more or folded > 0)
        self.level -= 1
        if folded:
            text = self.look.paint("dim", f"… {amounts.count(folded, 'default')}")
            self.lines.append(f"{below}{self.mid if more else self.last}{text}")

    def folds(self, field: Field, value: Mapping[str, Any]) -> bool:
        """Return whether a field of a structure is folded away."""
        return not self.look.full and is_default(field, value[field.name]) and (id(value), field.name) not in self.noted

    def struct(self, grammar: WireStruct, *, more: bool = False) -> Draw:
        inner = super().struct(grammar, more=more)

        def struct(value: Mapping[str, Any], head: str, below: str) -> None:
            if self.deepest and self.level:
                self.lines.append(head)
                self.inside(grammar, value, below)
            else:
                inner(value, head, below)

        return struct

    def inside(self, node: Node, value: Any, below: str) -> None:
        """Say what a value that lies too deep holds; the errors in it by their names."""
        codes = codes_in(node)
        found = codes(value) if codes is not None else ()
        if found:
            self.lines.append(f"{below}{self.last}{self.look.paint('bad', error_names(found))}")

    def chosen(self, found: list[Any], codes: Codes | None) -> Sequence[int]:
        """Return the indexes of the first items, and of all that failed or that a finding is of."""
        most = self.look.max_items
        if len(found) <= most:
            return list(range(len(found)))
        odd = [i for i in range(most, len(found)) if (id(found), i) in self.noted]
        failed = [i for i in range(most, len(found)) if codes is not None and codes(found[i])]
        return [*range(most), *sorted({*odd, *failed[:MOST_FAILED]})]

    def left_out(self, found: list[Any], below: str, shown: Sequence[int], codes: Codes | None) -> None:
        """Say how many items are not shown, and which errors are in them."""
        known = set(shown)
        failed = [code for i in range(len(found)) if codes and i not in known for code in codes(found[i])]
        text = f"… {len(found) - len(shown):,} more" + (", all NONE" if codes and not failed else "")
        named = f", {self.look.paint('bad', error_names(failed))}" if failed else ""
        self.lines.append(f"{below}{self.last}{self.look.paint('dim', text)}{named}")

    def _array(self, node: WireArray) -> Draw:
        item, codes = self._item(node.item), codes_in(node.item)
        struct = node.item if isinstance(node.item, WireStruct) and not node.item.front else None

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

    def __init__(self, look: Look, topics: Topics) -> None:
        super().__init__(look, topics)
        self.tree: CompactTree = CompactTree(look, topics)

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
        for i, (path, around, grammar, value) in enumerate(failed):
            last = i == len(failed) - 1 and not odd
            guide, under = tree.guides[last]
            named = (escape(str(tree.topics.get(name) or name)) for name in around)
            names = "".join(f"  {self.look.paint('text', name)}" for name in named)
            tree.lines.append(f"{below}{guide}{self.look.paint('heading', path or half.direction)}{names}")
            tree.fields(grammar, value, below + under)
        tree.lines += [f"{below}{finding_line(finding, self.look)}" for finding in odd]


def failures(
    node: Node, value: Any, path: str = "", names: tuple[Any, ...] = ()
) -> Iterator[tuple[str, tuple[Any, ...], WireStruct, Mapping[str, Any]]]:
    """Yield the structures of a value with an error code that is not 0, in the order of the wire.

    Of each: its path, the topics, partitions and groups around it, and its plain fields alone, with their values.
    """
    if value is None or (codes := codes_in(node)) is None or not codes(value):
        return
    if isinstance(node, WireStruct):
        own = WireStruct(tuple(field for field in node.fields if not children(field.node)), None)
        own_codes = codes_in(own)
        if own_codes is not None and own_codes(value):
            yield path, names, own, {field.name: value[field.name] for field in own.fields if field.name in value}
        told = (value.get(field.name) for field in node.members if field.node.kind in NAMES)
        names = (*names, *(one for one in told if one is not None))
    for child in children(node):
        for i, inside in enumerate(child.values(value)):
            step = f"[{i}]" if child.repeated else f"{'.' * bool(path and child.key)}{child.key}"
            yield from failures(child.node, inside, path + step, names)
