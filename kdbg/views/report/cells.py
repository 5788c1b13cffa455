"""Values as the page shows them: a text to read, and a number to sort by where there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..render.values import escape, latency
from ..tables.cells import FIRST, LAST
from .queries import PERCENTILES, SPENT_TITLES, ListQuery, TableQuery

Row = tuple[Any, ...]
EPOCH = datetime(1970, 1, 1)
LONGEST = 200
"""Characters of a text in a cell."""
LONGEST_COMMAND = 5000
UNITS_OF_TIME = ((86_400, "days"), (3600, "h"))
UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


@dataclass
class Listing:
    """The first rows of a table in its own order, and how many more there are."""

    rows: list[Row]
    left: int = 0


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
    caption: str, columns: Mapping[str, str] | Iterable[str], listing: Listing | Iterable[Sequence[Any]],
    apart: Sequence[TableQuery] = (), histogram: str = "",
) -> ReportTable:  # fmt: skip
    """Make a table of rows; `columns` are the titles in the order of the values, with kinds that are not the usual."""
    listing = listing if isinstance(listing, Listing) else Listing([tuple(row) for row in listing])
    kinds = columns if isinstance(columns, Mapping) else {}
    heads = [
        Column(title, kinds.get(title) or TITLES.get(title) or TITLES.get(title.split()[0], "text"))
        for title in columns
    ]
    shows = [KINDS[column.kind] for column in heads]
    rows = [
        [TableCell("–", -1) if value is None else show(value) for show, value in zip(shows, row, strict=False)]
        for row in listing.rows
    ]
    return ReportTable(caption, heads, rows, listing.left, apart, histogram)


def list_table(one: ListQuery, listing: Listing) -> ReportTable:
    """Make the table of a list, given its rows."""
    columns = {title: one.kinds.get(title, "") for title in one.titles}
    return table(one.caption, columns, listing, one.asked, one.histogram)


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
    length, unit = next(((length, unit) for length, unit in UNITS_OF_TIME if seconds >= 2 * length), (60, "min"))
    return f"{seconds / length:.1f}".removesuffix(".0") + f" {unit}"


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
TITLES: dict[str, str] = {
    title: kind
    for kind, titles in {
        "count": ("exchanges", "connections", "client hosts", "hosts", "with errors", "errors", "no response",
                  "responses", "not decoded", "times", "partitions", "records", "log end", "committed", "lag",
                  "members", "packets"),
        "bytes": ("on the wire", "bytes"),
        "duration": (*PERCENTILES, "longest", "maximum excess latency", *SPENT_TITLES, "took"),
        "time": ("time", "first", "last", "began"),
        "id": ("generation", "partition"),
        "exchange": ("exchange",),
        "command": ("command",),
    }.items()
    for title in titles
}  # fmt: skip
"""What stands in columns, by their titles, or by the first word of these; texts in all others."""
