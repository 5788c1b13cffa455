"""Rows on their way into tables: cells one behind the other, of as many rows as were made together.

A cell is a value, or a `Shared`: the values of several columns, which many rows have in common. To make those once, to
hand them on as one and to look at them once when rows become columns is a third of what rows cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from .columns import TABLES, TIMES, WHO

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
    return tuple(first.get(column, column) for column in TABLES[table] if column not in within)


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
    """Return what puts the values of a row's cells into the order of the columns."""
    if table not in SHARED:
        return tuple
    names = [name for cell in LAYOUTS[table] for name in ((cell,) if isinstance(cell, str) else cell)]
    in_order = itemgetter(*map(names.index, TABLES[table]))

    def flat(cells: Cells) -> TableRow:
        values: list[Any] = []
        for cell in cells:
            if type(cell) is Shared:
                values += cell.columns
            else:
                values.append(cell)
        row: TableRow = in_order(values)
        return row

    return flat


FLAT: dict[str, Callable[[Cells], TableRow]] = {table: _flat(table) for table in TABLES}
