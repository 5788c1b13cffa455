"""A pipeline's tables, for those who ask Spark about them: as data frames, or as views for SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ....errors import SparkError
from ....views.tables.columns import TABLES
from ..commit import Output
from ..session import failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPES = {
    "text": "string",
    "texts": "array<string>",
    "short": "smallint",
    "shorts": "array<smallint>",
    "int": "int",
    "ints": "array<int>",
    "long": "bigint",
    "boolean": "boolean",
    "bytes": "binary",
    "headers": "map<string, binary>",
    "time": "timestamp",
    "date": "date",
}
"""The kinds of columns in Spark's words."""
HOST = ", regexp_replace(client, ':[0-9]+$', '') AS host"
OWN = {"connections": HOST}
"""What a report's tables have beside their columns, in SQL."""
ERRORS = "SELECT *, explode(errors) AS error FROM exchanges"


def schema(table: str) -> str:
    """Return the columns of a table in Spark's DDL, with the day that its files are partitioned by."""
    columns = TABLES[table] | {"date": "date"}
    return ", ".join(f"`{column}` {TYPES[kind]}" for column, kind in columns.items())


def finished(output: Output) -> set[str]:
    """Return the runs that wrote the tables in a folder. Raise `SparkError` where there are none."""
    runs = output.runs()
    if not runs:
        problem = f"{output.out}: no tables"
        raise SparkError(problem, "create them with kdbg pipeline, which writes _kdbg.json at the end")
    return runs


def tables(spark: SparkSession, out: str) -> dict[str, DataFrame]:
    """Return the tables in a folder, empty where nothing was written. Raise `SparkError` where there are none."""
    output = Output(out)
    runs = finished(output)
    frames = {}
    for table in TABLES:
        files = [output.out + path.removeprefix(output.root) for path in output.files_of(table, runs)]
        reader = spark.read.schema(schema(table)).option("basePath", f"{output.out}/{table}")
        frames[table] = reader.parquet(*files) if files else spark.createDataFrame([], schema(table))
    return frames


def without_values(records: DataFrame) -> DataFrame:
    """Return the table of records with nulls for what users put into them."""
    from pyspark.sql.functions import lit

    held = {name: kind for name, kind in TABLES["records"].items() if name in ("key", "value", "headers")}
    return records.withColumns({name: lit(None).cast(TYPES[kind]) for name, kind in held.items()})


def asking(spark: SparkSession, out: str) -> Callable[[str], Iterator[tuple[Any, ...]]]:
    """Return a function that answers the SQL of reports (views/report/queries.py) about a folder's tables, row by row.

    It raises `SparkError` where Spark refuses.
    """
    for name, frame in tables(spark, out).items():
        frame.createOrReplaceTempView(f"stored_{name}")
        spark.sql(f"SELECT {_columns(name)}{OWN.get(name, '')} FROM stored_{name}").createOrReplaceTempView(name)
    spark.sql(ERRORS).createOrReplaceTempView("errors")

    def ask(sql: str) -> Iterator[tuple[Any, ...]]:
        try:
            yield from spark.sql(sql).toLocalIterator()
        except Exception as error:  # py4j's and Spark's own have only this in common
            raise failure(error) from error

    return ask


def _columns(table: str) -> str:
    """Return all columns of a table, points in time as microseconds since the epoch."""
    columns = TABLES[table].items()
    return ", ".join(f"unix_micros({name}) AS {name}" if kind == "time" else name for name, kind in columns)
