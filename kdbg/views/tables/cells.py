"""Values as the tables have them, and rows on their way there: cells one after the other, of several rows.

A cell is a value, or a `Shared`: the values of several columns, which many rows have in common. To make those once, to
hand them on as one and to look at them once when rows become columns is a third of what rows cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any
from uuid import UUID

from ...protocol.wire.readings.outline import Topics
from .columns import RUN, TABLES, TIMES, WHO

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Microseconds from 1970 to the years 1 and 9999: what readers of Parquet can show."""
NEVER = 2**63 - 1
"""Nanoseconds that stand for a time of no use."""


def moment(nanoseconds: int) -> int | None:
    """Return a packet's time, given in nanoseconds, in microseconds; None if 64 bits of nanoseconds cannot hold it.

    Only pcapng has room for such a time.
    """
    return micros(nanoseconds) if abs(nanoseconds) < NEVER else None


def storable(nanoseconds: int) -> int:
    """Return a packet's time, clamped to what 64 bits hold."""
    return min(max(nanoseconds, -NEVER), NEVER)


def micros(nanoseconds: int) -> int:
    """Return nanoseconds as microseconds, rounded to the nearest."""
    return (nanoseconds + 500) // 1000


def timestamp(milliseconds: Any) -> int | None:
    """Return a record's timestamp, given in milliseconds, in microseconds; None for -1 and beyond years 1 to 9999."""
    if not isinstance(milliseconds, int) or milliseconds == -1:
        return None
    time = milliseconds * 1000
    return time if FIRST <= time <= LAST else None


def text(value: Any) -> str | None:
    """Return captured text, with bytes that are not UTF-8 as \\xNN; None for what is no text."""
    if not isinstance(value, str) or value.isascii():
        return value if isinstance(value, str) else None
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def topic_name(topic: Any, topics: Topics) -> str | None:
    """Return a topic's name, or its id as text where the name is not known."""
    return text(topics.get(topic) or str(topic)) if isinstance(topic, UUID) else text(topic)


def integer(value: Any) -> int | None:
    """Return the value if it is an integer, else None."""
    return value if type(value) is int else None


TableRow = tuple[Any, ...]
"""The values of all columns of a table, in their order."""
Cells = Sequence[Any]
Add = Callable[[str, int | None, Cells, int], None]
"""Takes (table, microseconds since the epoch, cells of one row or several, bytes of their large values)."""
AddRow = Callable[[str, int | None, TableRow, int], None]
"""Takes the same of one row, value by value; of rows that came together the first has all their bytes."""
Layout = tuple[str | tuple[str, ...], ...]

KIND = (*WHO, "api", "api_key", "api_version", "client_id")
"""What exchanges of a connection have in common, of which there are few kinds."""
TOLD = ("answered", "topics", "groups", "error_codes", "errors", "throttle_ms", "notes", "error_topics",
        "error_partitions")  # fmt: skip
"""What is told of an exchange besides when and how much."""
SHARED: dict[str, tuple[tuple[str, ...], ...]] = {
    "exchanges": (KIND, TOLD, TIMES),
    "partitions": (KIND,),
    "records": (KIND,),
}
"""Table by table, the columns that share a cell."""


class Shared:
    """The values of several columns; `place` is for who makes columns of rows."""

    __slots__ = ("columns", "place")

    def __init__(self, columns: TableRow) -> None:
        self.columns = columns
        self.place = 0


def _layout(table: str) -> Layout:
    """Return the columns of each cell: a cell stands where the first of its columns does."""
    first = {columns[0]: columns for columns in SHARED.get(table, ())}
    within = {column for columns in first.values() for column in columns[1:]}
    return tuple(first.get(column, column) for column in TABLES[table] if column not in within and column != RUN)


LAYOUTS: dict[str, Layout] = {table: _layout(table) for table in TABLES}
"""Table by table, the column of each cell of a row, or its columns."""
WIDTHS: dict[str, int] = {table: len(layout) for table, layout in LAYOUTS.items()}
"""Cells of a row."""


def plain(add: AddRow) -> Add:
    """Return what gives rows that come as cells to `add`, one by one and value by value."""

    def add_cells(table: str, time: int | None, cells: Cells, size: int) -> None:
        width, flat = WIDTHS[table], FLAT[table]
        for start in range(0, len(cells), width):
            add(table, time, flat(cells[start : start + width]), 0 if start else size)

    return add_cells


def _flat(table: str) -> Callable[[Cells], TableRow]:
    """Return what puts the values of a row's cells into the order of the columns; the run is not known."""
    if table not in SHARED:
        return lambda cells: (*cells, None)
    names = [name for cell in LAYOUTS[table] for name in ((cell,) if isinstance(cell, str) else cell)] + [RUN]
    in_order = itemgetter(*map(names.index, TABLES[table]))

    def flat(cells: Cells) -> TableRow:
        values: list[Any] = []
        for cell in cells:
            if type(cell) is Shared:
                values += cell.columns
            else:
                values.append(cell)
        row: TableRow = in_order([*values, None])
        return row

    return flat


FLAT: dict[str, Callable[[Cells], TableRow]] = {table: _flat(table) for table in TABLES}
