"""Values as the page shows them: a text to read, and a number to sort by where there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..render.exchange_header import latency
from ..render.values import escape
from ..tables.values import FIRST, LAST
from .facts import Listing
from .page_queries import TableQuery

EPOCH = datetime(1970, 1, 1)
LONGEST = 200
"""Characters of a text in a cell."""
LONGEST_COMMAND = 5000
UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


class TableCell(NamedTuple):
    """What stands in a table; `sort` is None for texts, which sort as they read."""

    text: str
    sort: float | None = None


class Column(NamedTuple):
    """A column's title, and how its values are shown: a name in KINDS."""

    title: str
    kind: str

    @property
    def number(self) -> bool:
        """Whether it holds numbers, which are aligned to the right."""
        return self.kind in ("count", "bytes", "duration")


@dataclass(frozen=True)
class ReportTable:
    """Rows under a caption; `left` is how many more there would be.

    `apart` is what the page's filters ask of the same facts. Where there are percentiles among the columns, `histogram`
    names the chart whose numbers these are taken of.
    """

    caption: str
    columns: Sequence[Column]
    rows: list[list[TableCell]]
    left: int = 0
    apart: Sequence[TableQuery] = ()
    histogram: str = ""


def table(
    caption: str, columns: dict[str, str], listing: Listing | Iterable[Sequence[Any]], apart: Sequence[TableQuery] = (),
    histogram: str = "",
) -> ReportTable:  # fmt: skip
    """Make a table of rows; `columns` are the titles in the order of the values, each with its kind."""
    listing = listing if isinstance(listing, Listing) else Listing([tuple(row) for row in listing])
    kinds = [KINDS[kind] for kind in columns.values()]
    rows = [[_cell(show, value) for show, value in zip(kinds, row, strict=False)] for row in listing.rows]
    return ReportTable(caption, [Column(*column) for column in columns.items()], rows, listing.left, apart, histogram)


def _cell(show: Callable[[Any], TableCell], value: Any) -> TableCell:
    return TableCell("–", -1) if value is None else show(value)


def shown(value: Any, most: int = LONGEST) -> str:
    """Return captured text with invisible characters escaped, cut where it is long."""
    text = str(value)
    visible = text if text.isprintable() else "".join(each if each == "\\" else escape(each) for each in text)
    return visible if len(visible) <= most else visible[: most - 1] + "…"


def size(number: float) -> str:
    """Return a number of bytes in the unit that suits it."""
    unit = 0
    while abs(number) >= 999.5 and unit < len(UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.0f} {UNITS[unit]}" if unit == 0 or number >= 99.5 else f"{number:.1f} {UNITS[unit]}"


def duration(microseconds: int) -> str:
    """Return a duration in the unit that suits it."""
    seconds = microseconds / 1e6
    if abs(seconds) < 120:
        return latency(microseconds * 1000)
    for unit, length in (("days", 86_400), ("h", 3600)):
        if seconds >= 2 * length:
            return f"{_short(seconds / length)} {unit}"
    return f"{_short(seconds / 60)} min"


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def when(microseconds: int) -> str:
    """Return a point in time (UTC) to the millisecond, clamped to what a calendar can hold."""
    shift = timedelta(microseconds=min(max(microseconds, FIRST), LAST))
    return (EPOCH + shift).isoformat(" ", "milliseconds")


KINDS: dict[str, Callable[[Any], TableCell]] = {
    "text": lambda value: TableCell(shown(value)),
    "count": lambda value: TableCell(f"{value:,}", value),
    "bytes": lambda value: TableCell(size(value), value),
    "duration": lambda value: TableCell(duration(value), value),
    "time": lambda value: TableCell(when(value), value),
    "id": lambda value: TableCell(str(value), value),
    "exchange": lambda value: TableCell(f"#{value}", value),
    "command": lambda value: TableCell(shown(value, LONGEST_COMMAND)),
}
"""How values are shown, by kind: durations and times are in microseconds."""
