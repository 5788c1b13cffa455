"""The tables as Arrow has them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kdbg.tables.arrow import TABLES, TYPES
from kdbg.tables.columns import TABLES as COLUMNS


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("text", "string"), ("texts", "list<element: string>"), ("short", "int16"), ("shorts", "list<element: int16>"),
        ("int", "int32"), ("long", "int64"), ("boolean", "bool"), ("bytes", "binary"),
        ("headers", "map<string, binary>"), ("time", "timestamp[us, tz=UTC]"),
    ],
)  # fmt: skip
def test_the_type_of_each_kind_of_column(kind: str, said: str) -> None:
    assert str(TYPES[kind]).startswith(said)


@pytest.mark.parametrize("table", COLUMNS)
def test_every_table_has_its_columns_in_order(table: str) -> None:
    assert TABLES[table].names == [*COLUMNS[table]]
    assert isinstance(TABLES[table], pa.Schema)
