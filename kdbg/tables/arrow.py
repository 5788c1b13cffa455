"""The tables' columns as Arrow has them."""

from __future__ import annotations

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
