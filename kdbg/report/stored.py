"""The tables of a pipeline, as `ask.Ask` wants them: Spark answers, wherever it runs, and only answers come here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..spark.columns import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTRA = {"connections": ", regexp_replace(client, ':[0-9]+$', '') AS host"}
ERRORS = "SELECT *, explode(errors) AS error FROM exchanges"


def asking(spark: SparkSession, out: str) -> Callable[[str], Iterator[tuple[Any, ...]]]:
    """What answers SQL about the tables in a folder. Raises `SparkError` where there are none."""
    from ..spark.views import tables

    spark.conf.set("spark.sql.adaptive.enabled", "true")  # answers are small: few tasks are enough for most of them
    for name, frame in tables(spark, out).items():
        frame.createOrReplaceTempView(f"stored_{name}")
        spark.sql(f"SELECT {_columns(name)} FROM stored_{name}").createOrReplaceTempView(name)
    spark.sql(ERRORS).createOrReplaceTempView("errors")

    def ask(sql: str) -> Iterator[tuple[Any, ...]]:
        return iter(spark.sql(sql).toLocalIterator())

    return ask


def _columns(table: str) -> str:
    columns = (f"unix_micros({name}) AS {name}" if kind == "time" else name for name, kind in TABLES[table].items())
    return ", ".join(columns) + EXTRA.get(table, "")
