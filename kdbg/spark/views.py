"""A pipeline's tables, for those who ask Spark about them: as data frames, or as views for SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

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
HOST = ", regexp_replace(client, ':[0-9]+$', '') AS host"
ERRORS = "SELECT *, explode(errors) AS error FROM exchanges"


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


def asking(spark: SparkSession, out: str) -> Callable[[str], Iterator[tuple[Any, ...]]]:
    """What answers the SQL of reports (kdbg/report/ask.py) about the tables in a folder: rows, one by one."""
    spark.conf.set("spark.sql.adaptive.enabled", "true")  # answers are small: few tasks are enough for most of them
    for name, frame in tables(spark, out).items():
        frame.createOrReplaceTempView(f"stored_{name}")
        extra = HOST if name == "connections" else ""
        spark.sql(f"SELECT {_columns(name)}{extra} FROM stored_{name}").createOrReplaceTempView(name)
    spark.sql(ERRORS).createOrReplaceTempView("errors")

    def ask(sql: str) -> Iterator[tuple[Any, ...]]:
        return iter(spark.sql(sql).toLocalIterator())

    return ask


def _columns(table: str) -> str:
    """All columns of a table, points in time as microseconds since the epoch."""
    columns = TABLES[table].items()
    return ", ".join(f"unix_micros({name}) AS {name}" if kind == "time" else name for name, kind in columns)
