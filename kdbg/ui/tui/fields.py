"""An exchange that is looked at: every field of both messages, with its place in the bytes, what it says and means.

The rows are those of the explained hexdump, so secrets are hidden in them as there, and captured text is escaped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import explain, header_grammar
from ...exchanges.messages.payloads import open_inspection
from ...protocol.findings.amounts import count
from ...protocol.wire.readings.annotate import Buffer, Inspection
from ...views.render.exchange_header import why_missing
from ...views.render.findings import note
from ...views.render.hex.annotations import ByteLine, Describer
from ...views.render.hex.hexdump import size_finding, unknown_spans
from ...views.render.meanings import by_path, general
from ...views.render.style import Look
from ...views.render.without_values import conceal_values

SIZE = 4
"""Bytes of the size in front of a message."""
LONGEST = 4 << 20
"""Bytes of a message whose fields are all looked at: more would take minutes."""


@dataclass(frozen=True)
class ByteRange:
    """Bytes `start` to `end` of a buffer of the exchange."""

    buffer: int
    start: int
    end: int


@dataclass(frozen=True)
class OpenedField:
    """A field: its path, what it says, its type, what it means, and where it stands: None where there are no bytes."""

    path: str
    says: str
    type: str
    means: str
    place: ByteRange | None
    hidden: bool = False


@dataclass
class MessageFields:
    """A message: its name, fields in their order, and what is odd about it."""

    name: str
    fields: list[OpenedField] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: str = ""
    """Why there are no fields, or not all."""


@dataclass
class Bytes:
    """A buffer: its heading, its bytes, and its fields in their order."""

    name: str
    data: bytes
    part: int
    fields: list[OpenedField] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def at(self, place: int) -> OpenedField | None:
        """Return the field that a byte belongs to."""
        number = self.number(place)
        return None if number is None else self.fields[number]

    def number(self, place: int) -> int | None:
        """Return the number of the field that a byte belongs to."""
        if len(self._starts) != len(self.fields):
            self._starts = [one.place.start for one in self.fields if one.place is not None]
        number = bisect_right(self._starts, place) - 1
        found = self.fields[number].place if number >= 0 else None
        return number if found is not None and place < found.end else None


@dataclass
class OpenedExchange:
    """Both messages, and the buffers that places of fields count in."""

    parts: list[MessageFields]
    buffers: list[Bytes]


def opened(exchange: Exchange, topics: Mapping[UUID, str], look: Look) -> OpenedExchange:
    """Return all that there is to see of an exchange."""
    found = OpenedExchange([], [])
    halves = (("request", exchange.request), ("response", exchange.response))
    for name, half in halves:
        part = MessageFields(name)
        found.parts.append(part)
        if not found.parts[1:]:
            part.notes += map(note, exchange.findings)
        if half is None:
            part.missing = why_missing(exchange, name)
        else:
            _Opening(found, part, half, topics, look).fill()
    return found


class _Opening:
    """Fills in one message."""

    def __init__(
        self, found: OpenedExchange, part: MessageFields, half: CapturedMessage, topics: Mapping[UUID, str], look: Look
    ) -> None:
        self.found, self.part, self.half = found, part, half
        self.describe = Describer(look, topics, look.width)
        self.look = look

    def fill(self) -> None:
        half, stated = self.half, self.half.size - SIZE
        name = f"{self.part.name}: {count(half.size, 'byte')}"
        if len(half.data) > LONGEST:
            self.part.missing = "too long to show here; use kdbg decode"
            self._message(name, Inspection([Buffer("", b"")], half.direction), stated, {})
            return
        if half.api is None:
            inspection, means = Inspection([Buffer("", half.data)], spans=unknown_spans(half.data)), dict[str, str]()
        else:
            grammar, inspection = explain(half.api, half.version, half.direction, half.data)
            open_inspection(grammar, inspection, half.context)
            if self.look.hide_values:
                conceal_values(inspection)
            header = header_grammar(half.api, half.version, half.direction)
            means = by_path([header, grammar], inspection.spans)
        self._message(name, inspection, stated, means)
        odd = size_finding(stated, len(half.data))
        self.part.notes += [note(finding) for finding in (*([odd] if odd else []), *inspection.findings)]

    def _message(self, name: str, inspection: Inspection, stated: int, means: Mapping[str, str]) -> None:
        self.describe.broken = inspection.broken
        front = (stated & 0xFFFFFFFF).to_bytes(SIZE, "big")
        main = self._buffer(name, front + inspection.buffers[0].data)
        self._add(main, ByteLine(-SIZE, front, "size", str(stated), "INT32"), "bytes after it", SIZE)
        others = {}
        for number, buffer in enumerate(inspection.buffers[1:], 1):
            others[number] = self._buffer(
                f"{buffer.name}, decompressed: {count(len(buffer.data), 'byte')}", buffer.data
            )
        for span in inspection.spans:
            if span.start == span.end and span.role == "size":
                continue
            data = inspection.buffers[span.buffer].data
            row = self.describe.row(span, data)
            meaning = means.get(general(span.path).removesuffix("[]"), "")
            self._add(others.get(span.buffer, main), row, meaning, 0 if span.buffer else SIZE)

    def _buffer(self, name: str, data: bytes) -> int:
        self.found.buffers.append(Bytes(name, data, len(self.found.parts) - 1))
        return len(self.found.buffers) - 1

    def _add(self, buffer: int, row: ByteLine, means: str, shift: int) -> None:
        place = ByteRange(buffer, row.start + shift, row.end + shift)
        one = OpenedField(row.name, row.meaning, row.type, means, place, row.hidden)
        self.part.fields.append(one)
        self.found.buffers[buffer].fields.append(one)


STEP = re.compile(r"[^.\[\]]+|\[\d+\]")
MANY = 24
"""Items of a list, and fields of a message: of more, each item is folded at first."""


@dataclass(eq=False)
class Branch:
    """A field, an item of a list, or a message, with what stands in it."""

    name: str
    above: Branch | None
    leaf: OpenedField | None = None
    note: str = ""
    below: list[Branch] = field(default_factory=list)
    folded: bool = False
    part: int = 0

    @property
    def depth(self) -> int:
        """How many branches it stands in."""
        return 0 if self.above is None else self.above.depth + 1

    @property
    def places(self) -> list[ByteRange]:
        """Where its bytes are, one place in each buffer."""
        found: dict[int, ByteRange] = {}
        todo = [self]
        while todo:
            one = todo.pop()
            todo += one.below
            if one.leaf is not None and one.leaf.place is not None:
                place = one.leaf.place
                old = found.get(place.buffer, place)
                found[place.buffer] = ByteRange(place.buffer, min(old.start, place.start), max(old.end, place.end))
        return [found[buffer] for buffer in sorted(found)]

    @property
    def path(self) -> str:
        """Its path in the message; the message's name for that itself."""
        if self.leaf is not None:
            return self.leaf.path
        above = "" if self.above is None or self.above.above is None else self.above.path
        if self.above is None:
            return self.name
        return above + self.name if self.name.startswith("[") else ".".join(filter(None, [above, self.name]))


class Branches:
    """The tree of an exchange; `lines` are the branches that are to be seen, from above."""

    def __init__(self, opened: OpenedExchange) -> None:
        self.roots: list[Branch] = [_grown(part, number) for number, part in enumerate(opened.parts)]
        self._of = {id(one.leaf): one for root in self.roots for one in everything(root) if one.leaf is not None}
        self.lines: list[Branch] = []
        self.lay()

    def lay(self) -> None:
        """Find out anew which branches are to be seen."""
        self.lines = []
        todo = self.roots[::-1]
        while todo:
            one = todo.pop()
            self.lines.append(one)
            if not one.folded:
                todo += one.below[::-1]

    def fold(self, branch: Branch, *, folded: bool | None = None) -> None:
        """Fold or unfold a branch."""
        if branch.below:
            branch.folded = not branch.folded if folded is None else folded
            self.lay()

    def fold_all(self, *, folded: bool) -> None:
        """Fold or unfold all but the messages."""
        for root in self.roots:
            for one in everything(root):
                one.folded = folded and bool(one.below) and one is not root
        self.lay()

    def line_of(self, branch: Branch) -> int:
        """Return the line of a branch, after unfolding what it stands in."""
        above, changed = branch.above, False
        while above is not None:
            changed = changed or above.folded
            above.folded = False
            above = above.above
        if changed:
            self.lay()
        return self.lines.index(branch)

    def branch_of(self, one: OpenedField) -> Branch | None:
        """Return the branch of a field."""
        return self._of.get(id(one))


def everything(root: Branch) -> list[Branch]:
    """Return a branch, and all below it in their order."""
    found, todo = [], [root]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += one.below[::-1]
    return found


def _grown(part: MessageFields, number: int) -> Branch:
    """Return the tree of a message."""
    root = Branch(part.name, None, note=part.missing, part=number)
    root.below += [Branch("", root, note=text, part=number) for text in part.notes]
    known: dict[tuple[str, ...], Branch] = {}
    for one in part.fields:
        steps = tuple(STEP.findall(one.path)) or (one.path,)
        above = root
        for depth in range(1, len(steps)):
            front = steps[:depth]
            if front not in known:
                known[front] = Branch(front[-1], above, part=number)
                above.below.append(known[front])
            above = known[front]
        here = known.get(steps)
        if here is None or here.leaf is not None:
            here = Branch(steps[-1], above, part=number)
            above.below.append(here)
            known.setdefault(steps, here)
        here.leaf = one
    for here in everything(root):
        if len(part.fields) > MANY and here.name.startswith("[") and here.below:
            here.folded = here.above is not None and len(here.above.below) > MANY
    return root
