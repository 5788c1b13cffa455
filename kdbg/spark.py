"""The tables of captures as DataFrames, each by a function of its name: thin over `format("kdbg")`.

`path` is a file, a folder, a glob or a URL, or a list of these. `filters` are the options of the source: those of
`kdbg decode` by their names (`api`, `client_id`, `topic`, `group`, `port`: one or a list of them; `errors`,
`slower_than` in milliseconds, `since` and `until`: ISO's form or seconds since 1970), those that deserialize keys and
values (`value`, `key_as`, `schema`, `registry`, `registry_config`), and `rolled`: all files of a folder are pieces of
one capture. Nothing is read before the DataFrame is asked for something.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Paths = str | Iterable[str]


def register(spark: SparkSession) -> None:
    """Make `format("kdbg")` known to a session."""
    from .scale.spark.source import register

    register(spark)


def exchanges(spark: SparkSession, path: Paths, **filters: Any) -> DataFrame:
    """Return a DataFrame with a row for each exchange: who asked what of whom, when, latency, errors, findings."""
    return _table(spark, "exchanges", path, filters)


def partitions(spark: SparkSession, path: Paths, **filters: Any) -> DataFrame:
    """Return a DataFrame with a row for each topic partition in an exchange: offsets, records, bytes, error."""
    return _table(spark, "partitions", path, filters)


def records(spark: SparkSession, path: Paths, *, values: bool = False, **filters: Any) -> DataFrame:
    """Return a DataFrame with a row for each record; keys, values and header values with `values` or a reader."""
    return _table(spark, "records", path, filters | {"values": values})


def connections(spark: SparkSession, path: Paths, **filters: Any) -> DataFrame:
    """Return a DataFrame with a row for each TCP connection: packets, bytes, software of the client."""
    return _table(spark, "connections", path, filters)


def groups(spark: SparkSession, path: Paths, **filters: Any) -> DataFrame:
    """Return a DataFrame with a row for each event in consumer groups: joins, syncs, heartbeats, commits."""
    return _table(spark, "groups", path, filters)


def problems(spark: SparkSession, path: Paths, **filters: Any) -> DataFrame:
    """Return a DataFrame with a row for each finding, of exchanges, connections and files."""
    return _table(spark, "problems", path, filters)


def files(spark: SparkSession, path: Paths, **filters: Any) -> DataFrame:
    """Return a DataFrame with a row for each file: packets, bytes, times, gaps."""
    return _table(spark, "files", path, filters)


def _table(spark: SparkSession, table: str, path: Paths, filters: dict[str, Any]) -> DataFrame:
    register(spark)
    given = {name: _option(value) for name, value in filters.items() if value is not None}
    paths = path if isinstance(path, str) else list(path)
    return spark.read.format("kdbg").options(table=table, **given).load(paths)


def _option(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list | tuple | set | frozenset) else value
