"""A pipeline's tables asked by Spark: as views in SQL, with answers as plain Python, row by row.

Answers come as they are worked out, partition by partition: however long one is, memory holds a piece of it.

Users may send queries of the tables only. Other statements, and some functions, open files or run programs. Spark
itself opens files that a question names as tables (`parquet.`/path``) unless `SETTINGS` are set. Tokens are those of
Spark's SqlBaseLexer.g4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from ...errors import InputError, KdbgError
from ...views.tables.columns import CONTENTS, TABLES
from ...views.tables.questions import Answer
from . import session
from .session import failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {"spark.sql.runSQLOnFiles": "false"}
"""What makes Spark open no file that a question names."""
QUESTIONS = frozenset({"select", "with", "from", "values", "table", "describe", "desc", "show", "explain"})
"""The words that questions begin with."""
WRITES = frozenset({"insert", "delete", "update", "merge"})
"""What may follow tables in a statement that begins as a question does."""
RUNS = frozenset({"reflect", "try_reflect", "java_method", "identifier"})
"""Functions that call any method of Java, or any function by a name that is worked out."""
TOKEN = re.compile(
    r"""
      (?P<comment> -- (?: \\\n | [^\r\n] )* | /\*(?!\+) .*? \*/ )
    | (?P<text> \br'[^']*' | \br"[^"]*" | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
    | ` (?P<name> (?: [^`] | `` )* ) `
    | (?P<word> \w+ )
    | (?P<sign> \S )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def check(sql: str) -> None:
    """Raise `InputError` for SQL that is not a question, or may open files or run programs."""
    found = [token for token in TOKEN.finditer(sql) if token.lastgroup != "comment"]
    tokens = [(str(token.lastgroup), token[str(token.lastgroup)].lower()) for token in found]
    words = [word for kind, word in tokens if kind == "word"]
    if words and words[0] not in QUESTIONS:
        raise _refused(words[0].upper())
    for written in WRITES.intersection(words) if words and words[0] in ("with", "from", "explain") else ():
        raise _refused(written.upper())
    for (_, word), (kind, after) in pairwise(tokens):
        if after == "(" and word.strip("'\"") in RUNS:
            raise _refused(word)
        if word == "using" and kind == "text":
            raise _refused("USING with a program")


def _refused(what: str) -> InputError:
    return InputError(f"{what} may open files or run programs; use --allow-files to allow it")


ADAPTIVE = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
}
"""Answers are small next to the tables: let Spark see how small, and use few tasks."""
BATCH = 1000
"""Rows that are fetched in one call."""


def tables(spark: SparkSession, folder: str) -> dict[str, DataFrame]:
    """Return the tables in a folder, empty where nothing was written. Raise `InputError` where there are none."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from ...views.tables.arrow import TABLES as SCHEMAS  # which needs pyarrow
    from .archive.s3 import access, is_s3
    from .delta import DeltaFolder

    stored, frames = DeltaFolder(folder), {}
    reached = access().hadoop_options() if is_s3(stored.out) else {}
    root = re.sub("^s3:", "s3a:", stored.out)  # Hadoop's name of S3
    for table, files in stored.files(TABLES).files.items():
        schema = from_arrow_schema(SCHEMAS[table]).add("date", "date")
        reader = spark.read.schema(schema).options(basePath=f"{root}/{table}", **reached)
        paths = [f"{root}/{file.name}" for file in files]
        frames[table] = reader.parquet(*paths) if paths else spark.createDataFrame([], schema)
    return frames


@contextmanager
def opened(
    folder: str, master: str | None = None, configuration: Mapping[str, str] | None = None, *, verbose: bool = False,
    hide: bool = False, files: bool = False,
) -> Iterator[SparkSession]:  # fmt: skip
    """Open a session in which the tables in `folder` are views, with `hide` without what records hold.

    SQL may name other files if `files`.

    Raise `InputError` without tables, and `SparkError` without Spark.
    """
    session.check()
    from .delta import DeltaFolder  # which needs pyarrow

    DeltaFolder(folder).runs([])  # a session takes seconds to start: not for nothing
    closed = {} if files else SETTINGS
    spark = session.start(master, ADAPTIVE | dict(configuration or {}) | closed, verbose=verbose)
    from pyspark.logger import PySparkLogger

    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = not verbose  # of errors in SQL, which it also raises
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
    from pyspark.sql.functions import lit

    for name, frame in tables(spark, folder).items():
        if hide and name == "records":
            frame = frame.withColumns(
                {name: lit(None).cast(frame.schema[name].dataType) for name in CONTENTS if name in frame.columns}
            )
        frame.createOrReplaceTempView(name)


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
