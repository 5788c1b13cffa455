"""What is known of every exchange without reading it: numbers in columns, some fifty bytes an exchange.

The process that reads a capture fills a `Batch` after the other, and they are appended here as bytes, which takes no
time worth naming. What many exchanges have in common, a `Who`, and the names that they are about stand once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from ...errors import InputError

COLUMNS = {
    "number": "I",
    "time": "q",
    "who": "I",
    "request": "q",
    "response": "q",
    "latency": "q",
    "flags": "B",
    "topics": "I",
    "groups": "I",
    "producers": "I",
}
"""The columns, with the type of their numbers as `array` calls it; sizes and times are -1 where there are none."""
WRONG, HALF = 1, 2
"""Flags: something went wrong in it; one of its messages is missing."""
NOTHING = -1
MOST_NAMES, LONGEST = 16, 256
"""How many topics, groups or producers of one exchange are remembered, and how many characters of a name."""
Names: TypeAlias = "tuple[Hashable, ...]"


class Who(NamedTuple):
    """What exchanges have in common: which file they are from, who spoke, and what was asked."""

    file: int
    connection: int
    client: str
    broker: str
    api: str
    version: int
    client_id: str | None


class Parcel(NamedTuple):
    """Exchanges that stand in the spool together: where, how many bytes of numbers, of what they share, of messages.

    `at` is where the parcel begins, `start` where its numbers do.
    """

    at: int
    start: int
    numbers: int
    common: int
    data: int
    file: int


@dataclass
class Batch:
    """Exchanges that came together: their columns as bytes, their parcel, and what is new among what they name."""

    columns: dict[str, bytes]
    parcel: Parcel
    count: int
    who: list[Who]
    names: list[Names]
    topics: list[tuple[UUID, str]]


class BatchBuilder:
    """Makes batches of rows, a number for each of COLUMNS; what rows have in common, and names, are told once."""

    def __init__(self) -> None:
        self._who: dict[Hashable, int] = {}
        self._new_who: list[Who] = []
        self._who_count = self._sent_names = 0
        self._names: dict[Names, int] = {(): 0}

    def build(self, rows: Iterable[tuple[int, ...]], parcel: Parcel, topics: list[tuple[UUID, str]]) -> Batch:
        """Return the batch of some more rows."""
        columns = {name: array(code) for name, code in COLUMNS.items()}
        for row in rows:
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        new_who, self._new_who = self._new_who, []
        new_names = [*islice(self._names, self._sent_names, None)]
        self._sent_names += len(new_names)
        count = len(columns["number"])
        return Batch(
            {name: column.tobytes() for name, column in columns.items()}, parcel, count, new_who, new_names, topics
        )

    def number_who(self, key: Hashable, who: Who) -> int:
        """Return the number of a `Who` that is new, which `key` stands for from now on."""
        self._new_who.append(who)
        self._who[key] = self._who_count
        self._who_count += 1
        return self._who[key]

    def number_names(self, names: Iterable[Hashable]) -> int:
        """Return the number of names, of which the first few are remembered."""
        found: Names = tuple(dict.fromkeys(names))[:MOST_NAMES]
        return self._names.setdefault(found, len(self._names))


class Start(NamedTuple):
    """Where who goes through a spool begins: at a parcel, whose first exchange has this position, with these names of
    the topic ids of its file."""

    at: int = 0
    position: int = 0
    file: int = -1
    topics: tuple[tuple[UUID, str], ...] = ()


@dataclass
class Index:
    """The exchanges known so far, in the order in which they came: `len` of them, each at its position.

    One thread adds, another reads: what is at positions from `first` up to `len` does not change. Of a stream without
    an end the first are forgotten by who reads.
    """

    first: int = 0

    columns: dict[str, array[int]] = field(
        default_factory=lambda: {name: array(code) for name, code in COLUMNS.items()}
    )
    who: list[Who] = field(default_factory=list)
    names: list[Names] = field(default_factory=list)
    parcels: list[Parcel] = field(default_factory=list)
    topics: list[dict[UUID, str]] = field(default_factory=list)
    _firsts: array[int] = field(default_factory=lambda: array("q"))
    _count: int = 0
    _lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return self._count

    def add(self, batch: Batch) -> None:
        """Append what came."""
        with self._lock:
            self.who += batch.who
            self.names += batch.names
            while len(self.topics) <= batch.parcel.file:
                self.topics.append({})
            self.topics[batch.parcel.file].update(batch.topics)
            for name, data in batch.columns.items():
                self.columns[name].frombytes(data)
            self.parcels.append(batch.parcel)
            self._firsts.append(self._count)
            self._count += batch.count

    def place(self, position: int) -> tuple[Parcel, int]:
        """Return the parcel in which an exchange stands, and its place in it."""
        with self._lock:
            if position < self.first:
                raise InputError("the exchange was dropped (only the newest are kept)")
            at = bisect_right(self._firsts, position) - 1
            return self.parcels[at], position - self._firsts[at]

    @property
    def start(self) -> Start:
        """Where the spool begins that is still known."""
        with self._lock:
            if not self.parcels:
                return Start()
            parcel = self.parcels[0]
            return Start(parcel.at, self.first, parcel.file, tuple(self.topics[parcel.file].items()))

    def forget(self, count: int) -> int:
        """Forget at least so many of the first exchanges, by whole parcels; return where the first that is left begins
        in the spool."""
        with self._lock:
            gone = min(bisect_left(self._firsts, self.first + count), len(self.parcels) - 1)
            if gone <= 0:
                return 0
            first = self._firsts[gone]
            for column in self.columns.values():
                del column[: first - self.first]
            del self.parcels[:gone], self._firsts[:gone]
            self.first = first
            return self.parcels[0].at

    def value(self, name: str, position: int) -> int:
        """Return what stands in a column."""
        return self.columns[name][position - self.first]

    def who_of(self, position: int) -> Who:
        """Return who spoke, and what was asked."""
        return self.who[self.value("who", position)]

    def names_of(self, name: str, position: int) -> Names:
        """Return what stands in a column of names: `topics`, `groups` or `producers`."""
        return self.names[self.value(name, position)]

    def find(self, number: int, file: int = 0) -> int | None:
        """Return the position of the exchange of a number in a file; None where it is not there."""
        positions = range(self.first, self._count)
        at = self.first + bisect_left(positions, (file, number), key=self._file_and_number)
        return at if at < self._count and self._file_and_number(at) == (file, number) else None

    def _file_and_number(self, position: int) -> tuple[int, int]:
        """Return the file and the number of an exchange; both ascend."""
        return self.who_of(position).file, self.value("number", position)


class Order:
    """The positions that are shown, in their order: all of them, or those that a filter let through, sorted or not."""

    by: str = ""
    descending: bool = False

    def __init__(self, index: Index) -> None:
        self.index = index
        self.chosen: array[int] | None = None
        """The positions that the filter let through so far; None where there is no filter."""
        self.sorted: Sequence[int] | None = None
        """The order of them, as far as they were there when it was made; None for that in which they came."""

    def __len__(self) -> int:
        return len(self.index) - self.index.first if self.chosen is None else len(self.chosen)

    def __getitem__(self, row: int) -> int:
        if self.sorted is not None and row < len(self.sorted):
            return self.sorted[row]
        return row + self.index.first if self.chosen is None else self.chosen[row]

    def forgot(self) -> None:
        """Take note that the index has forgotten its first exchanges."""
        if self.chosen is not None:
            del self.chosen[: bisect_left(self.chosen, self.index.first)]
        self.sort(self.by, descending=self.descending)

    def choose(self, *, filtered: bool) -> None:
        """Show all, or what a filter lets through: nothing at first, then what is taken."""
        self.chosen, self.sorted = array("I") if filtered else None, None

    def take(self, positions: bytes) -> None:
        """Take what the filter let through: the bytes of an array, positions in their order."""
        if self.chosen is not None:
            self.chosen.frombytes(positions)

    @property
    def unsorted(self) -> int:
        """How many rows have come since the order was made."""
        return len(self) - len(self.sorted) if self.sorted is not None else 0

    def row_of(self, position: int) -> int | None:
        """Return the row in which a position stands; None where it is not shown."""
        if self.sorted is None:
            if self.chosen is None:
                return position - self.index.first if self.index.first <= position < len(self.index) else None
            at = bisect_right(self.chosen, position) - 1
            return at if at >= 0 and self.chosen[at] == position else None
        return next((row for row in range(len(self)) if self[row] == position), None)

    def sort(self, by: str, *, descending: bool = False) -> None:
        """Sort the rows by a column of `SORTS`; "" is the order in which they came."""
        self.by, self.descending = by, descending
        first = self.index.first
        positions = range(first, len(self.index)) if self.chosen is None else self.chosen
        if not by:
            self.sorted = array("I", reversed(positions)) if descending else None
            return
        column = self.index.columns[SORTS[by]]
        if by in BY_WHO:
            keys = [BY_WHO[by](who) for who in self.index.who]
            places = {key: rank for rank, key in enumerate(sorted(set(keys)))}
            ranks = [places[key] for key in keys]
            self.sorted = array("I", sorted(positions, key=lambda at: ranks[column[at - first]], reverse=descending))
        else:
            key = (lambda at: column[at - first]) if first else column.__getitem__
            self.sorted = array("I", sorted(positions, key=key, reverse=descending))


BY_WHO: dict[str, Callable[[Who], Any]] = {
    "ends": lambda who: (who.client, who.broker, who.connection),
    "client id": lambda who: who.client_id or "",
    "api": lambda who: (who.api, who.version),
}
"""What rows are sorted by that exchanges have in common."""
SORTS = {
    "number": "number",
    "time": "time",
    "ends": "who",
    "client id": "who",
    "api": "who",
    "request": "request",
    "response": "response",
    "latency": "latency",
    "flags": "flags",
}
"""What rows can be sorted by, with the column that tells it."""
