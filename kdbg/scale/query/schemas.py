"""The tables' columns as DuckDB takes them from Arrow."""

from __future__ import annotations

import pyarrow as pa

from ...views.tables.arrow import TABLES

HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
"""DuckDB's maps have every key once, and a record's headers may not."""
SCHEMAS: dict[str, pa.Schema] = {
    name: pa.schema([field.with_type(HEADERS) if pa.types.is_map(field.type) else field for field in schema])
    for name, schema in TABLES.items()
}
"""Every table's columns; headers are lists of keys and values."""
