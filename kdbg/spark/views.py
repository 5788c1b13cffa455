"""A pipeline's tables, for those who ask Spark about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyarrow import fs

from ..errors import SparkError
from .columns import TABLES
from .commit import Output

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPES = {
    "text": "string",
    "texts": "array<string>",
    "short": "smallint",
    "shorts": "array<smallint>",
    "int": "int",
    "long": "bigint",
    "boolean": "boolean",
    "bytes": "binary",
    "headers": "map<string, binary>",
    "time": "timestamp",
}
"""The kinds of columns in Spark's words."""


def schema(table: str) -> str:
    """The columns of a table as Spark's DDL has them."""
    return ", ".join(f"`{column}` {TYPES[kind]}" for column, kind in TABLES[table].items())


def tables(spark: SparkSession, out: str) -> dict[str, DataFrame]:
    """The tables in a folder, without rows where nothing was written. Raises `SparkError` where there are none."""
    output = Output(out)
    runs = {run["run"] for run in output.state().get("runs", ())}
    if not runs:
        raise SparkError(f"{out} holds no tables", "`kdbg pipeline` writes them, and _kdbg.json once they are whole")
    frames = {}
    for table in TABLES:
        files = list(_files(output, table, runs))
        frames[table] = (
            spark.read.schema(schema(table)).parquet(*files) if files else spark.createDataFrame([], schema(table))
        )
    return frames


def _files(output: Output, table: str, runs: set[str]) -> Iterator[str]:
    """The files of a table that finished runs have written."""
    folder = fs.FileSelector(f"{output.root}/{table}", allow_not_found=True, recursive=True)
    for info in output.system.get_file_info(folder):
        if info.type == fs.FileType.File and info.base_name.rpartition("-")[0] in runs:
            yield output.out + info.path.removeprefix(output.root)
