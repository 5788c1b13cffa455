"""A table: exchanges told apart by some dimensions, a tally for each of the values that these take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError
from .dimensions import INNER, Dimension, Key, unknown
from .measures import MEASURES, SPENT
from .tally import Tally

MOST = 10_000
"""Rows of a table, unless said otherwise."""


class StatsTable:
    """Rows by their keys, which hold the values of `by`.

    The first `most` keys have a row, exact however much comes; what comes under any other key is counted in `others`,
    and the keys of it are not known. With `erring`, cells without an error that is worth a look are left out.
    """

    by: tuple[Dimension, ...]
    rows: dict[Key, Tally]
    others: Tally | None
    inner: tuple[str, ...]
    """The dimensions of cells among them."""

    def __init__(self, by: Sequence[Dimension], *, most: int = MOST, erring: bool = False) -> None:
        self.by, self.most, self.erring = tuple(by), most, erring
        self.rows, self.others = {}, None
        self.inner = tuple(name for name in INNER if name in {one.name for one in by})

    @property
    def grain(self) -> int:
        """The nanoseconds in its shortest time, 0 where it has none."""
        return min((one.grain for one in self.by if one.grain), default=0)

    def row(self, key: Key) -> Tally:
        """Return the tally of a key, made when it is first asked for."""
        found = self.rows.get(key)
        if found is None:
            if len(self.rows) >= self.most:
                self.others = self.others or Tally()
                return self.others
            found = self.rows[key] = Tally()
        return found

    def merge(self, rows: Mapping[Key, Tally], others: Tally | None) -> None:
        """Take all rows of a table by the same dimensions."""
        for key, tally in rows.items():
            self.row(key).merge(tally)
        if others is not None:
            self.others = self.others or Tally()
            self.others.merge(others)

    def sorted(self, by: str | None = None) -> list[tuple[Key, Tally]]:
        """Return the rows: by a dimension, least first, or by a measure, most first; raise `InputError` for neither.

        Without either, by time where that is a dimension, else by how many exchanges they have.
        """
        by = by or next((one.name for one in self.by if one.grain), "exchanges")
        places = [place for place, one in enumerate(self.by) if one.name == by]
        rows = sorted(self.rows.items(), key=lambda row: [order(value) for value in row[0]])
        if places:
            return sorted(rows, key=lambda row: order(row[0][places[0]]))
        known = MEASURES | SPENT
        measure = known.get(by) or known.get(f"{by}_ms")
        if measure is None or isinstance(measure.of(Tally()), dict):
            wanted = [one.name for one in self.by] + [name for name in MEASURES if name != "error_names"]
            raise InputError(unknown("unknown sort column", by, wanted))
        return sorted(rows, key=lambda row: -amount(measure.of(row[1])))


def order(value: Any) -> tuple[int, Any]:
    """Return what values of one dimension are sorted by; what is missing comes last."""
    return (1, 0) if value is None else (0, value)


def amount(value: float | None) -> float:
    """Return a measure as what rows are sorted by: nothing is less than all."""
    return -1 if value is None else value


def folded(rows: Sequence[tuple[Key, Tally]], others: Tally | None = None) -> Tally | None:
    """Return a tally of rows that are not shown, and of what had no row; None where there is neither."""
    if not rows and others is None:
        return None
    found = Tally()
    for tally in (*(tally for _, tally in rows), *([others] if others is not None else [])):
        found.merge(tally)
    return found
