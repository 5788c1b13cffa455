"""The tables' columns as Arrow has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from .columns import TABLES as COLUMNS


def _list(item: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", item))  # the name that Parquet and Spark give it


TYPES: dict[str, pa.DataType] = {
    "text": pa.string(),
    "texts": _list(pa.string()),
    "short": pa.int16(),
    "shorts": _list(pa.int16()),
    "int": pa.int32(),
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


def columns(rows: Sequence[tuple[Any, ...]], width: int) -> Iterator[list[Any]]:
    """Yield the columns of rows that have so many; `zip(*rows)` makes an iterator a row, which wakes the collector."""
    for place in range(width):
        yield list(map(itemgetter(place), rows))


def batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows as an Arrow batch."""
    arrays = [_array(column, field.type) for column, field in zip(columns(rows, len(schema)), schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(column: list[Any], type: pa.DataType) -> pa.Array:
    """Return a column as Arrow has it; of lists, nearly all are empty in most tables."""
    if pa.types.is_list(type) and not any(column) and None not in column:
        return pa.ListArray.from_buffers(
            type,
            len(column),
            [None, pa.py_buffer(bytes(4 * len(column) + 4))],
            children=[pa.array([], type.value_type)],
        )
    return pa.array(column, type)
