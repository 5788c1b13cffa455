"""Tables asked in SQL: a session that has them as views, and answers as plain Python, row by row.

Answers come as they are worked out, partition by partition: however long one is, memory holds a piece of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ....errors import KdbgError
from .. import session
from ..session import failure
from . import statements

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ADAPTIVE = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
}
"""Answers are small next to the tables: let Spark see how small, and use few tasks."""
BATCH = 1000
"""Rows that are fetched in one call."""


class Answer(NamedTuple):
    """The names of the columns, and the rows: numbers, text, bytes, lists, dicts, points in time in UTC."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


@contextmanager
def opened(
    folder: str, master: str | None = None, configuration: Mapping[str, str] | None = None, *, verbose: bool = False,
    hide: bool = False, files: bool = False,
) -> Iterator[SparkSession]:  # fmt: skip
    """Open a session in which the tables in `folder` are views, with `hide` without what records hold.

    SQL may name other files if `files`.

    Raise `SparkError` without tables or Spark.
    """
    session.check()
    from ..commit import Output
    from .views import finished

    finished(Output(folder))  # a session takes seconds to start: not for nothing
    closed = {} if files else statements.SETTINGS
    spark = session.start(master, ADAPTIVE | dict(configuration or {}) | closed, verbose=verbose)
    _hush(not verbose)
    try:
        with _refusals(), _in_thread(spark) as call:
            call(lambda: name_tables(spark, folder, hide=hide))
            for name, value in closed.items():  # the session may be older
                call(partial(spark.conf.set, name, value))
        yield spark
    finally:
        session.stop(spark)


def name_tables(spark: SparkSession, folder: str, *, hide: bool = False) -> None:
    """Make the tables in `folder` views of their names, with `hide` without what records hold."""
    from .views import tables, without_values

    for name, frame in tables(spark, folder).items():
        if hide and name == "records":
            frame = without_values(frame)
        frame.createOrReplaceTempView(name)


def _hush(hushed: bool) -> None:
    """Keep PySpark from printing Java's traces of errors in SQL, which it also raises."""
    from pyspark.logger import PySparkLogger

    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = hushed


def answer(spark: SparkSession, sql: str, limit: int | None = None) -> Answer:
    """Return at most `limit` rows of Spark's answer. Raise `SparkError` with Spark's words where it refuses."""
    with _refusals(), _in_thread(spark) as call:
        frame = call(lambda: spark.sql(sql))
        columns = frame.columns
    return Answer(columns, _rows(spark, frame if limit is None else frame.limit(limit)))


def _rows(spark: SparkSession, frame: DataFrame) -> Iterator[tuple[Any, ...]]:
    with _refusals(), _in_thread(spark) as call:
        rows = call(frame.toLocalIterator)
        while batch := call(lambda: list(islice(rows, BATCH))):
            for row in batch:
                yield tuple(map(_plain, row))


@contextmanager
def _in_thread(spark: SparkSession) -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Yield a function that makes calls to Spark in a thread of its own; on Ctrl-C, interrupt what Spark is doing.

    In the main thread Ctrl-C would break py4j's connection in the midst of a call.
    """
    thread = ThreadPoolExecutor(1)
    try:
        yield lambda call: thread.submit(call).result()
    except KeyboardInterrupt:
        spark.interruptAll()
        raise
    finally:
        thread.shutdown(wait=False)  # not every task heeds an interruption; the end of the session ends all


def _plain(value: Any) -> Any:
    """Return a value without types of Spark's in it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)  # PySpark gives local time, and does not say so
    if isinstance(value, tuple) and hasattr(value, "asDict"):
        return {name: _plain(item) for name, item in value.asDict().items()}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return bytes(value) if isinstance(value, bytearray) else value


@contextmanager
def _refusals() -> Iterator[None]:
    """Make a context in which Spark's errors become `SparkError`s of one line."""
    try:
        yield
    except KdbgError:
        raise
    except Exception as error:
        raise failure(error) from error
