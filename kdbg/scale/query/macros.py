"""Functions of Spark's that questions use (kdbg/views/tables/questions.py), as macros of DuckDB."""

from __future__ import annotations

MACROS = (
    "unix_micros(time) AS epoch_us(time)",
    "timestamp_micros(number) AS make_timestamptz(number)",
    "approx_percentile(value, rank) AS quantile_disc(value, rank)",
    "size(list) AS len(list)",
    "get(list, place) AS list[place + 1]",
    "array_join(list, gap) AS array_to_string(list, gap)",
    "collect_list(value) AS coalesce(list(value) FILTER (WHERE value IS NOT NULL), [])",
    "collect_set(value) AS coalesce(list(DISTINCT value) FILTER (WHERE value IS NOT NULL), [])",
    "explode(list) AS unnest(list)",
    "posexplode(list) AS TABLE SELECT unnest(range(len(list))) AS pos, unnest(list) AS col",
)
SCRIPT = "".join(f"CREATE MACRO {macro};\n" for macro in MACROS)
"""Statements that make all of them."""
