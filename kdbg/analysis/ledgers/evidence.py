"""Where to look: exchanges as evidence, and how often something was seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.message import UNTIMED

FEW = 6
"""Exchanges that are named where something happened often: the first ones; the last one beside them."""
Key = TypeVar("Key")
Value = TypeVar("Value")


class Mark(NamedTuple):
    """An exchange: its number, when its request came and its response ended, and the number of its connection.

    Times are nanoseconds since the epoch; `end` equals `time` where there is no response.
    """

    number: int
    time: int
    end: int
    connection: int


def mark_of(exchange: Exchange) -> Mark:
    """Return where an exchange stands; times are 0 where it has none."""
    half = exchange.request or exchange.response
    start = half.first_time if half is not None else 0
    end = exchange.response.last_time if exchange.response is not None else half.last_time if half is not None else 0
    if UNTIMED in (start, end):
        start = end = 0
    return Mark(exchange.number, start, end, exchange.peers.number)


class Occurrences:
    """How often something was seen, when first and last, and in which exchanges."""

    __slots__ = ("count", "first", "last", "marks")

    def __init__(self, marks: Iterable[Mark] = ()) -> None:
        self.count: int = 0
        self.first: Mark | None = None
        self.last: Mark | None = None
        self.marks: tuple[Mark, ...] = ()
        for mark in marks:
            self.add(mark)

    def add(self, mark: Mark) -> None:
        """Count one more."""
        self.count += 1
        if self.first is None:
            self.first = mark
        self.last = mark
        if len(self.marks) < FEW:
            self.marks += (mark,)

    @property
    def since(self) -> int:
        """When it was seen first, in nanoseconds."""
        return self.first.time if self.first is not None else 0

    @property
    def until(self) -> int:
        """When it was seen last, in nanoseconds."""
        return self.last.end if self.last is not None else 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the first exchanges, and of the last."""
        found = dict.fromkeys(mark.number for mark in self.marks)
        if self.last is not None:
            found[self.last.number] = None
        return tuple(found)

    @classmethod
    def of(cls, others: Iterable[Occurrences]) -> Occurrences:
        """Return what several of them have in sum."""
        found = cls()
        marks = list[Mark]()
        for other in others:
            found.count += other.count
            marks += other.marks
            if other.first is not None and (found.first is None or other.first.time < found.first.time):
                found.first = other.first
            if other.last is not None and (found.last is None or other.last.end > found.last.end):
                found.last = other.last
        found.marks = tuple(sorted(marks, key=lambda mark: mark.time)[:FEW])
        return found

    def __bool__(self) -> bool:
        return self.count > 0


class Bounded(dict[Key, Value]):
    """A dict that takes no more than `most` keys."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most: int = most

    def entry(self, key: Key, make: Any) -> Value | None:
        """Return the value of a key, made by `make()` where it is new; None where there is no room."""
        found = self.get(key)
        if found is None:
            if len(self) >= self.most:
                return None
            found = self[key] = make()
        return found
