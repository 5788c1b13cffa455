"""The tables' columns as Arrow has them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pyarrow as pa

from .cells import LAYOUTS, WIDTHS, Cells, Shared
from .columns import RUN
from .columns import TABLES as COLUMNS


def _list(item: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", item))  # the name that Parquet and Spark give it


TYPES: dict[str, pa.DataType] = {
    "text": pa.string(),
    "texts": _list(pa.string()),
    "short": pa.int16(),
    "shorts": _list(pa.int16()),
    "int": pa.int32(),
    "ints": _list(pa.int32()),
    "long": pa.int64(),
    "boolean": pa.bool_(),
    "bytes": pa.binary(),
    "headers": pa.map_(pa.string(), pa.binary()),
    "time": pa.timestamp("us", tz="UTC"),
}
TABLES: dict[str, pa.Schema] = {
    name: pa.schema([(column, TYPES[kind]) for column, kind in columns.items()]) for name, columns in COLUMNS.items()
}
"""Every table's columns, as its files have them."""
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
DUCKDB_TABLES: dict[str, pa.Schema] = {
    name: pa.schema([field.with_type(HEADERS) if pa.types.is_map(field.type) else field for field in schema])
    for name, schema in TABLES.items()
}
"""The same as DuckDB takes them: its maps have every key once, and a record's headers may not."""


def batch(cells: Cells, table: str, run: str | None = None) -> pa.RecordBatch:
    """Return rows of a table, made by a run, as an Arrow batch."""
    schema, width, found = TABLES[table], WIDTHS[table], dict[str, pa.Array]()
    for place, name in enumerate(LAYOUTS[table]):
        column = list(cells[place::width])
        if isinstance(name, str):
            found[name] = _array(column, schema.field(name).type)
            continue
        distinct: list[Shared] = list(set(column))  # what many rows have in common is looked at once
        for number, cell in enumerate(distinct):
            cell.place = number
        places = pa.array(list(map(attrgetter("place"), column)), pa.int32())
        for number, each in enumerate(name):
            values = _array([cell.columns[number] for cell in distinct], schema.field(each).type)
            found[each] = values.take(places)
    found[RUN] = pa.repeat(pa.scalar(run, TYPES["text"]), len(cells) // width)
    return pa.RecordBatch.from_arrays([found[name] for name in schema.names], schema=schema)


def _array(column: list[Any], type: pa.DataType) -> pa.Array:
    """Return a column as Arrow has it; of lists, nearly all are empty in most tables."""
    if pa.types.is_list(type) and not any(column) and None not in column:
        offsets, no_items = pa.py_buffer(bytes(4 * len(column) + 4)), pa.array([], type.value_type)
        return pa.ListArray.from_buffers(type, len(column), [None, offsets], children=[no_items])
    return pa.array(column, type)
