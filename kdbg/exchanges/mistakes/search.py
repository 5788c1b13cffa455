"""The search for the smallest change that makes a message valid to its last byte, with values that a peer would write.

The message is read as its version has it. At every length, count and structure before the place where that fails, each
change of changes.py is tried; the reading goes on from there, so that a try costs no more than the bytes it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import MessageMistake
from ...protocol.findings.quirks import Sure, mistake_sentence
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Node, Sized, WireArray, WireStruct
from ...protocol.wire.records import RecordsNode
from ..messages.message import grammar_of, header_grammar
from ..messages.score import NONSENSE
from ..messages.weigh import ROOT, Impossible, Path, Todo, Weigher, path_text
from .changes import Change, changes, tag_changes

STEPS = 60_000
"""Fields that are read in all tries together; 64 bytes of a long one count as another."""
HEADER: Path = (None, "", "header")
PER_BYTE, SPARE = 8.6, 96.0
"""Bits that a valid message costs at most."""
IN_HEADER = {
    "missing-tagged-fields": "missing-header-tags", "surplus-tagged-fields": "unexpected-header-tags",
    "compact-length": "compact-client-id",
}  # fmt: skip
"""What mistakes are called in a header."""
FAR = 40.0
"""Bits above the best that a try may cost."""


ChangeOf = Callable[[bytes, int, Any, Path, bool], Change | None]
"""Returns the change of a node, or of the tagged fields of a structure, if a program is to have written it wrong."""


class Exhausted(Exception):
    """The budget is spent."""


@dataclass
class Budget:
    """How many fields may still be read."""

    steps: int = STEPS

    def take(self, steps: int) -> None:
        """Take steps; raise `Exhausted` where none are left."""
        self.steps -= steps
        if self.steps < 0:
            raise Exhausted


class ReadPosition(NamedTuple):
    """A place in the reading from which it can go on: before a node, or before the tagged fields of a structure."""

    at: int
    bits: float
    faults: int
    node: Any
    path: Path
    tags: bool
    todo: Todo | None


class Edit(NamedTuple):
    """A change at a place."""

    start: int
    path: Path
    change: Change
    bits: float
    """What the message cost up to it."""


class RecordSetAt(NamedTuple):
    """The bytes of a record set in a message."""

    path: str
    length_at: int
    start: int
    end: int
    node: RecordsNode


class MistakeReader(Weigher):
    """Reads a message with its mistakes: notes the places, and applies changes."""

    def __init__(self, data: bytes, budget: Budget, *, trace: bool = False, habit: ChangeOf | None = None) -> None:
        super().__init__(data, 0, PER_BYTE * len(data) + SPARE, len(data))
        self.budget, self.habit = budget, habit
        self.places: list[ReadPosition] | None = [] if trace else None
        self.edits: list[Edit] = []
        self.record_sets: list[RecordSetAt] = []
        self.odd = 0

    def read(self, node: Node, path: Path) -> None:
        self.budget.steps -= 1
        if self.budget.steps < 0:
            raise Impossible
        if self.places is not None and not isinstance(node, WireStruct):
            self.places.append(ReadPosition(self.at, self.bits, self.faults, node, path, False, self.todo))
        change = self.habit(self.data, self.at, node, path, False) if self.habit is not None else None
        if change is not None:
            self.apply(node, path, change)
        elif isinstance(node, RecordsNode):
            start = self.at
            self.records(node, path)
            self.note_records(node, path, start)
        else:
            super().read(node, path)

    def note_records(self, node: RecordsNode, path: Path, length_at: int) -> None:
        start = length_at + 4
        if node.length.bias:
            start = next((at for at in range(length_at, self.end) if self.data[at] < 0x80), self.end) + 1
        if self.at > start:
            self.record_sets.append(RecordSetAt(path_text(path), length_at, start, self.at, node))

    def contents(self, node: Sized, size: int, path: Path) -> None:
        self.budget.steps -= min(max(size, 0), self.end - self.at) >> 6
        super().contents(node, size, path)

    def tags(self, node: WireStruct, path: Path) -> None:
        if self.places is not None:
            self.places.append(ReadPosition(self.at, self.bits, self.faults, node, path, True, self.todo))
        change = self.habit(self.data, self.at, node, path, True) if self.habit is not None else None
        if change is not None:
            self.apply(node, path, change)
        else:
            super().tags(node, path)

    def apply(self, node: Any, path: Path, change: Change) -> None:
        """Read a node with a change."""
        self.edits.append(Edit(self.at, path, change, self.bits))
        start, self.at = self.at, change.end
        if change.size is None:
            return
        if isinstance(node, WireArray):
            self.array(node, path, change.size)
        elif isinstance(node, RecordsNode):
            self.records(node, path, change.size)
            self.note_records(node, path, start)
        else:
            self.contents(node, change.size, path)

    def priced(self, bits: float, raw: float) -> None:
        """Add the cost of a value; an odd one is no fault, for valid messages have some."""
        self.bits += bits
        self.odd += bits >= raw + NONSENSE

    def whole(self) -> bool:
        """Read on; return whether that ends with the message, and with no value that no peer writes."""
        try:
            self.run()
        except (Impossible, RecursionError):
            return False
        return self.at == self.end and not self.faults


def beginning(nodes: tuple[Node, ...]) -> Todo | None:
    """Return what is to be read of a message: its header, its body."""
    todo = None
    for at in reversed(range(len(nodes))):
        path = HEADER if at + 1 < len(nodes) else ROOT
        todo = Todo(lambda reader, node, path: reader.read(node, path), nodes[at], path, todo)
    return todo


class Search:
    """One search in one message."""

    def __init__(self, data: bytes, nodes: tuple[Node, ...], budget: Budget) -> None:
        self.data, self.nodes, self.budget = data, nodes, budget
        self.strict = self.reader(trace=True)
        self.valid = self.strict.whole()
        """Whether the message is valid as it is."""
        self.ended = self.strict.todo is None and self.strict.at == len(data)
        """Whether the reading ends with the message, though it may have faults."""

    def reader(
        self, habit: ChangeOf | None = None, *, trace: bool = False, nodes: tuple[Node, ...] | None = None
    ) -> MistakeReader:
        """Return what reads the message from its beginning, as a program with a habit writes it, or by other nodes."""
        reader = MistakeReader(self.data, self.budget, trace=trace, habit=habit)
        reader.todo = beginning(self.nodes if nodes is None else nodes)
        return reader

    def singles(self) -> Iterator[MistakeReader]:
        """Yield the readers of each single change that makes the message valid."""
        best = PER_BYTE * len(self.data) + SPARE
        for place in reversed(self.strict.places or []):
            for change in self._changes(place):
                self.budget.steps -= 1
                reader = MistakeReader(self.data, self.budget)
                reader.at, reader.bits, reader.faults, reader.todo = place.at, place.bits, place.faults, place.todo
                reader.most = best
                try:
                    reader.apply(place.node, place.path, change)
                except Impossible:
                    continue
                if reader.whole():
                    yield reader
                    best = min(best, reader.bits + FAR)
                if self.budget.steps <= 0:
                    return

    def _changes(self, place: ReadPosition) -> Iterator[Change]:
        header, name = is_header(place.path), place.path[2]
        if header and not place.tags and name != "client_id":
            return
        found = changes(self.data, place.at, place.node, name)
        if place.tags:
            found = tag_changes(self.data, place.at, place.node)
        for one in found:
            yield one._replace(kind=IN_HEADER.get(one.kind, one.kind)) if header else one


def is_header(path: Path | None) -> bool:
    """Return whether a path is one of the header."""
    while path is not None and path[0] is not None:
        path = path[0]
    return path is HEADER


class Mistake(NamedTuple):
    """A mistake of the program that wrote a message.

    `kind` is a key of `findings.mistakes.MISTAKES`. `start` and `length` are bytes, counted as those of findings: from
    the first byte of the header, so that the size is at -4. `actual` and `expected` are the values as they are shown,
    "" where the kind says all. `others` counts the other fields with the same mistake. `corrected` is the whole message
    with its size, b"" where it is unknown.
    """

    kind: str
    api: str
    version: int
    direction: Direction
    path: str = ""
    start: int = 0
    length: int = 0
    actual: str = ""
    expected: str = ""
    sure: Sure = Sure.LIKELY
    corrected: bytes = b""
    others: int = 0

    @property
    def text(self) -> str:
        """The sentence of the mistake, without a full stop; not escaped."""
        return mistake_sentence(
            self.kind, self.sure, self.others, api=self.api, version=self.version, direction=self.direction,
            path=self.path or "the message", actual=self.actual, expected=self.expected,
        )  # fmt: skip

    @property
    def finding(self) -> Finding:
        """The mistake as a finding."""
        facts = MessageMistake(self.kind, self.api, self.version, self.actual, self.expected, self.sure.value)
        return Finding(Kind.ENCODING_MISTAKE, self.direction, self.path, self.start, self.length, facts)


class Subject(NamedTuple):
    """The message that is examined, from its header on."""

    frame: bytes
    api: Api
    version: int
    direction: Direction

    @property
    def nodes(self) -> tuple[WireStruct, ...]:
        """The grammars of its header, if it has one, and of its body."""
        body = grammar_of(self.api, self.version, self.direction)
        return (body,) if self.api.headerless else (header_grammar(self.api, self.version, self.direction), body)

    def mistake(self, kind: str, **fields: Any) -> Mistake:
        """Return a mistake of this message; `fields` are the others of `Mistake`."""
        return Mistake(kind, self.api.name, self.version, self.direction, **fields)


def sized(frame: bytes) -> bytes:
    """Return a message with its size."""
    return len(frame).to_bytes(4, "big") + frame
