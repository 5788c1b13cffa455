"""Captures' and pipelines' tables asked in SQL by DuckDB, within bounds of seconds, memory and files."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Iterator, Set
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from ...atomic import interrupting, terminated
from ...budget import MEMORY
from ...errors import InputError
from ...extras import require
from ...views.tables.columns import ABOUT, CONTENTS, TABLES, TIMES
from ...views.tables.questions import Answer

PART = 2
"""DuckDB's buffers may take one part of so many of the memory that kdbg may take."""
SMALLEST = 1e-3
"""Seconds that are always left, so that the error comes from DuckDB."""


@contextmanager
def memory() -> Iterator[None]:
    """Make a context in which the process allocates no more than `--max-memory` beside what it has; on Linux alone.

    DuckDB bounds the memory of its own buffers, but not that of one value, such as `range(1000000000)`. So the system
    bounds it as well: an allocation that is too large fails, and DuckDB says so.
    """
    try:
        import resource

        has = int(re.findall(r"VmData:\s*(\d+)", Path("/proc/self/status").read_text())[0]) << 10
    except (ImportError, OSError, IndexError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    most = has + MEMORY.limit
    for bound in before:
        most = most if bound == resource.RLIM_INFINITY else min(most, bound)
    resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


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
"""Functions of Spark's that questions use (kdbg/views/tables/questions.py)."""
BATCH = 1000
"""Rows that are fetched in one call."""
NEEDED = ("duckdb", "pyarrow", "pytz")
DATED = {table: next(column for column, kind in columns.items() if kind == "time") for table, columns in TABLES.items()}
"""Table by table, the column whose day is `date`, as in a pipeline's tables."""
TYPES = {"bytes": "BLOB", "headers": "STRUCT(key VARCHAR, value BLOB)[]", "text": "VARCHAR"}
"""The types of columns that hold what users put into records, by their kinds."""
DESCRIBE = re.compile(r'\s*DESC(?:RIBE)?\s+(?:TABLE\s+)?"?(\w+)"?\s*;?\s*', re.IGNORECASE)
ALL_COLUMNS = re.compile(r"(?:\bselect|[,.])\s*(?:distinct\s*)?\*", re.IGNORECASE)
CLOSED = {
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "python_enable_replacements": "false"
}  # fmt: skip
"""What makes DuckDB load nothing by itself, and see no variables of Python's."""
SETTINGS = "SET TimeZone = 'UTC'; SET default_null_order = 'nulls_first_on_asc_last_on_desc';\n"
SETTINGS += "".join(f"CREATE MACRO {macro};\n" for macro in MACROS)
"""What makes DuckDB answer as Spark does."""


class Database:
    """Holds the tables, empty at first: `insert` rows, or `show` what is stored elsewhere; then `answer` SQL.

    With `hide` the contents of records are null: their sizes stay. `seconds` is how long each question may take (None:
    any), and SQL may name `files` beside the given ones if that is set.
    """

    def __init__(self, *, hide: bool = False, seconds: float | None = None, files: bool = False) -> None:
        self.hide = hide
        require("kdbg query", "query", *NEEDED)
        import duckdb

        from ...views.tables.arrow import DUCKDB_TABLES

        self._schemas = DUCKDB_TABLES
        self._undo = ExitStack()
        self._undo.enter_context(terminated())
        folder = self._undo.enter_context(TemporaryDirectory(prefix="kdbg-query-"))
        settings: dict[str, Any] = {
            "memory_limit": f"{MEMORY.limit // PART >> 20}MiB", "temp_directory": folder, **CLOSED
        }  # fmt: skip
        self._connection = duckdb.connect(":memory:", config=settings)
        self._connection.execute(SETTINGS)
        for table, schema in DUCKDB_TABLES.items():
            self._connection.register("added", schema.empty_table())
            self._connection.execute(f"CREATE TABLE {table} AS SELECT *, NULL::DATE AS date FROM added")
        self._connection.unregister("added")
        if not files:
            self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")
        self._seconds = self._left = seconds

    def close(self) -> None:
        """Forget all rows."""
        self._connection.close()
        self._undo.close()

    def named(self, sql: str) -> Set[str]:
        """Return the tables that SQL names; where it is more than one statement, all whose names are words of it."""
        import duckdb

        try:
            words: Iterable[str] = self._connection.get_table_names(sql)
        except duckdb.Error:
            words = re.findall(r"\w+", sql)
        return TABLES.keys() & {word.lower() for word in words}

    @staticmethod
    def asks_for_times(sql: str) -> bool:
        """Return whether SQL may ask where the time of exchanges went: it names such a column, or all columns."""
        return bool(ALL_COLUMNS.search(sql)) or not set(TIMES).isdisjoint(re.findall(r"\w+", sql.lower()))

    def check(self, sql: str) -> None:
        """Raise `InputError` with DuckDB's words where it refuses SQL, as far as that can be told without rows."""
        import duckdb

        self._left = self._seconds
        with self._asking():
            statements = self._connection.extract_statements(sql)
            if len(statements) == 1 and statements[0].type is duckdb.StatementType.SELECT:
                self._connection.execute(f"EXPLAIN {sql}").fetchall()

    def insert(self, table: str, rows: Any) -> None:
        """Add rows, which come as an Arrow table."""
        time = DATED[table]
        self._connection.register("added", rows.cast(self._schemas[table]))
        with interrupting(self._connection.interrupt):
            self._connection.execute(
                f"INSERT INTO memory.main.{table} SELECT {self._all(table)}, CAST({time} AS DATE) FROM added"
            )
        self._connection.unregister("added")

    def show(self, table: str, stored: Any) -> None:
        """Put an Arrow dataset in the place of a table: its files are read when they are asked for."""
        self._connection.execute(f"DROP TABLE {table}")
        self._connection.register(f"stored_{table}", stored)
        self._connection.execute(f"CREATE VIEW {table} AS SELECT {self._all(table)} FROM stored_{table}")

    def register(self, name: str, rows: Any) -> None:
        """Make an Arrow table a table of this name."""
        self._connection.register(name, rows)

    def run(self, sql: str) -> None:
        """Run a statement that returns no rows."""
        self._left = self._seconds
        with self._asking():
            self._connection.execute(sql)

    def check_condition(self, table: str, condition: str) -> None:
        """Raise `InputError` with DuckDB's words where a condition on the rows of a table is none."""
        with self._asking():
            if len(self._connection.extract_statements(f"SELECT {_whether(condition)}")) != 1:
                raise InputError("not one SQL expression; remove ;")
        self.check(f"SELECT 1 FROM {table} WHERE {_whether(condition)}")

    def fitting(self, table: str, columns: dict[str, list[Any]], condition: str) -> list[int]:
        """Return the places of rows of a table, which come as columns, that a condition lets through."""
        import pyarrow as pa

        rows = pa.table(columns, self._schemas[table])
        placed = rows.append_column("place in the table", pa.array(range(rows.num_rows), pa.int64()))
        self._connection.register("asked", placed)
        self._left = self._seconds
        with self._asking():
            asked = f'SELECT "place in the table" FROM asked WHERE {_whether(condition)} ORDER BY 1'
            found = self._connection.execute(asked).fetchall()
        self._connection.unregister("asked")
        return [place for (place,) in found]

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Make a context for DuckDB at work, within the bounds; its errors become `InputError`s of one line.

        Only time in here counts against the seconds of a question.
        """
        import duckdb

        timer, begun = None, monotonic()
        if self._left is not None:
            timer = threading.Timer(max(self._left, SMALLEST), self._connection.interrupt)
            timer.daemon = True
            timer.start()
        try:
            with interrupting(self._connection.interrupt), memory():
                yield
        except duckdb.InterruptException:
            raise InputError(f"the query exceeds {self._seconds:g} s; raise --timeout, or select less") from None
        except duckdb.PermissionException as error:
            raise InputError(f"duckdb: {_line(error)}; use --allow-files to let SQL access files") from error
        except (duckdb.OutOfMemoryException, MemoryError):
            raise InputError("the query exceeds --max-memory; raise it, or select less") from None
        except duckdb.Error as error:
            raise InputError(f"duckdb: {_line(error)}") from error
        finally:
            if timer is not None and self._left is not None:
                timer.cancel()
                self._left -= monotonic() - begun

    def _all(self, table: str) -> str:
        """Return all columns of a table as they are shown, in SQL."""
        if table != "records" or not self.hide:
            return "*"
        columns = (f"NULL::{TYPES[TABLES[table][name]]} AS {name}" for name in CONTENTS)
        return f"* REPLACE ({', '.join(columns)})"

    def answer(self, sql: str, limit: int | None = None) -> Answer:
        """Return at most `limit` rows of the answer. Raise `InputError` with DuckDB's words where it refuses."""
        self._left = self._seconds
        with self._asking():
            answer = self._connection.execute(sql)
        columns, rows = [name for name, *_ in answer.description or ()], self._rows(limit)
        asked = DESCRIBE.fullmatch(sql)
        about = ABOUT.get(asked[1].lower()) if asked else None
        if about is None:
            return Answer(columns, rows)
        return Answer(["column", "type", "about"], ((*row[:2], about.get(row[0], "")) for row in rows))

    def _rows(self, limit: int | None) -> Iterator[tuple[Any, ...]]:
        left = sys.maxsize if limit is None else limit
        try:
            while left > 0:
                with self._asking():
                    batch = self._connection.fetchmany(min(left, BATCH))
                if not batch:
                    return
                left -= len(batch)
                for row in batch:
                    yield tuple(map(_plain, row))
        finally:  # else it takes no question before the last row is fetched
            getattr(self._connection, "abort", lambda: None)()


def _whether(condition: str) -> str:
    """Return a condition in brackets that it does not get out of: one that ends them is none."""
    return f"CAST(({condition}\n) AS BOOLEAN)"


def _plain(value: Any) -> Any:
    """Return a value without types of other packages' in it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _line(error: Exception) -> str:
    """Return DuckDB's words in a line, without the SQL that it shows."""
    return " ".join(line.strip() for line in str(error).split("\nLINE ")[0].splitlines() if line.strip())
