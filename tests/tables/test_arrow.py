"""The tables as Arrow has them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import kdbg
from kdbg.views.tables import rows as module
from kdbg.views.tables.arrow import TABLES, TYPES, batch
from kdbg.views.tables.cells import LAYOUTS, SHARED, WIDTHS, plain
from kdbg.views.tables.columns import RUN
from kdbg.views.tables.columns import TABLES as COLUMNS
from kdbg.views.tables.message_columns import WantedRows
from kdbg.views.tables.rows import Rows
from tests.cli.calls import SHIPPED

from ..cases import by_day, for_each


@for_each(
    ("kind", "said"),
    [
        ("text", "string"), ("texts", "list<element: string>"), ("short", "int16"), ("shorts", "list<element: int16>"),
        ("int", "int32"), ("long", "int64"), ("boolean", "bool"), ("bytes", "binary"),
        ("headers", "map<string, binary>"), ("time", "timestamp[us, tz=UTC]"),
    ],
)  # fmt: skip
def test_the_type_of_each_kind_of_column(kind: str, said: str) -> None:
    assert str(TYPES[kind]).startswith(said)


@for_each("table", COLUMNS)
def test_every_table_has_its_columns_in_order(table: str) -> None:
    assert TABLES[table].names == [*COLUMNS[table]]
    assert isinstance(TABLES[table], pa.Schema)


@for_each("table", COLUMNS)
def test_every_column_has_one_cell(table: str) -> None:
    columns = [name for cell in LAYOUTS[table] for name in ((cell,) if isinstance(cell, str) else cell)]
    assert sorted([*columns, RUN]) == sorted(COLUMNS[table]), "all but the run, which all rows have in common"
    assert WIDTHS[table] == len(columns) - sum(len(shared) - 1 for shared in SHARED.get(table, ()))


@pytest.mark.parametrize("path", by_day(SHIPPED, 2), ids=lambda path: path.name)
def test_columns_of_cells_are_those_of_the_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 3)
    cells: dict[str, list[object]] = {table: [] for table in COLUMNS}
    rows: dict[str, list[tuple[object, ...]]] = {table: [] for table in COLUMNS}
    wanted = WantedRows(records=True, values=True)
    in_cells = Rows(lambda table, time, some, size: cells[table].extend(some), wanted, {})
    in_rows = Rows(plain(lambda table, time, row, size: rows[table].append(row)), wanted, {})
    for exchange in kdbg.read(path):
        in_cells.exchange("capture", exchange)
        in_rows.exchange("capture", exchange)
    for table, schema in TABLES.items():
        found = batch(cells[table], table)
        assert found.schema == schema
        columns = [list(column) for column in zip(*rows[table], strict=True)] or [[] for _ in schema]
        assert found.columns == [pa.array(*each) for each in zip(columns, schema.types, strict=True)], table
