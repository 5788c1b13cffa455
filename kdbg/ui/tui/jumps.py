"""Jumps: which exchanges are of the same connection, client, topic, group or producer as one, or went wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection

from .index import WRONG, Index, Order

Fits = Callable[[int], bool]


def _by_names(column: str) -> Callable[[Index, int, Collection[int]], Fits | None]:
    def fits(index: Index, position: int, marked: Collection[int]) -> Fits | None:
        wanted = set(index.names_of(column, position))
        if not wanted:
            return None
        which = {number for number, names in enumerate(index.names) if not wanted.isdisjoint(names)}
        return lambda other: index.value(column, other) in which

    return fits


def _by_who(part: Callable[..., object]) -> Callable[[Index, int, Collection[int]], Fits | None]:
    def fits(index: Index, position: int, marked: Collection[int]) -> Fits | None:
        wanted = part(index.who_of(position))
        which = {number for number, who in enumerate(index.who) if part(who) == wanted}
        return lambda other: index.value("who", other) in which

    return fits


def _wrong(index: Index, position: int, marked: Collection[int]) -> Fits | None:
    return lambda other: bool(index.value("flags", other) & WRONG)


def _marked(index: Index, position: int, marked: Collection[int]) -> Fits | None:
    return marked.__contains__


JUMPS: dict[str, Callable[[Index, int, Collection[int]], Fits | None]] = {
    "error": _wrong,
    "mark": _marked,
    "connection": _by_who(lambda who: (who.file, who.connection)),
    "client": _by_who(lambda who: who.client_id),
    "topic": _by_names("topics"),
    "group": _by_names("groups"),
    "producer": _by_names("producers"),
}
"""What can be jumped to: (index, position, marked positions) -> what fits; None where the exchange names none."""


def found(order: Order, row: int, kind: str, direction: int, marked: Collection[int] = ()) -> int | None:
    """Return the next row that fits, or the one before; None where there is none, or nothing to go by."""
    if not len(order):
        return None
    fits = JUMPS[kind](order.index, order[row], marked)
    rows = range(row + 1, len(order)) if direction > 0 else range(row - 1, -1, -1)
    return None if fits is None else next((each for each in rows if fits(order[each])), None)
