"""Functions of Spark's that questions use (kdbg/views/tables/questions.py), as macros of DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ...budget import MEMORY
from ...errors import InputError
from ...extras import install
from ...views.tables.columns import ABOUT, TABLES, TIMES
from .bounds import PART, Bounds, Watch

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


BATCH = 1000
"""Rows that are fetched in one call."""
NEEDED = ("duckdb", "pyarrow", "pytz")
TYPES = {
    "text": "VARCHAR",
    "texts": "VARCHAR[]",
    "short": "SMALLINT",
    "shorts": "SMALLINT[]",
    "int": "INTEGER",
    "ints": "INTEGER[]",
    "long": "BIGINT",
    "boolean": "BOOLEAN",
    "bytes": "BLOB",
    "headers": "STRUCT(key VARCHAR, value BLOB)[]",
    "time": "TIMESTAMPTZ",
}
"""The kinds of columns in DuckDB's words."""
DATED = {table: next(column for column, kind in columns.items() if kind == "time") for table, columns in TABLES.items()}
"""Table by table, the column whose day is `date`, as in a pipeline's tables."""
VALUES = ("key", "value", "headers")
"""The columns of `records` that hold what users put into records."""
DESCRIBE = re.compile(r'\s*DESC(?:RIBE)?\s+(?:TABLE\s+)?"?(\w+)"?\s*;?\s*', re.IGNORECASE)
ALL_COLUMNS = re.compile(r"(?:\bselect|[,.])\s*(?:distinct\s*)?\*", re.IGNORECASE)
CLOSED = {
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "python_enable_replacements": "false"
}  # fmt: skip
"""What makes DuckDB load nothing by itself, and see no variables of Python's."""
SETTINGS = f"SET TimeZone = 'UTC'; SET default_null_order = 'nulls_first_on_asc_last_on_desc';\n{SCRIPT}"
"""What makes DuckDB answer as Spark does."""


class Answer(NamedTuple):
    """The names of the columns, and the rows: numbers, text, bytes, lists, dicts, points in time in UTC."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


def check() -> None:
    """Raise `InputError` with what to install where DuckDB is missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(f"kdbg query needs {', '.join(missing)}; {install('query')}")


class Database:
    """Holds the tables, empty at first: `insert` rows, or `show` what is stored elsewhere; then `answer` SQL.

    With `hide` the contents of records are null: their sizes stay.
    """

    hide: bool

    def __init__(self, *, hide: bool = False, bounds: Bounds = Bounds()) -> None:  # noqa: B008 - it does not change
        self.hide = hide
        check()
        import duckdb

        self._folder = TemporaryDirectory(prefix="kdbg-query-")
        settings: dict[str, Any] = {
            "memory_limit": f"{MEMORY.limit // PART >> 20}MiB", "temp_directory": self._folder.name, **CLOSED
        }  # fmt: skip
        self._connection = duckdb.connect(":memory:", config=settings)
        tables = (f"CREATE TABLE {table} ({_columns(table)});" for table in TABLES)
        self._connection.execute(SETTINGS + "\n".join(tables))
        if not bounds.files:
            self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")
        self._watch = Watch(bounds.seconds, self._connection.interrupt)

    def close(self) -> None:
        """Forget all rows."""
        self._connection.close()
        self._folder.cleanup()

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

        self._watch.begin()
        with self._asking():
            statements = self._connection.extract_statements(sql)
            if len(statements) == 1 and statements[0].type is duckdb.StatementType.SELECT:
                self._connection.execute(f"EXPLAIN {sql}").fetchall()

    def insert(self, table: str, rows: Any) -> None:
        """Add rows, which come as an Arrow table."""
        from .schemas import SCHEMAS

        time = DATED[table]
        self._connection.register("added", rows.cast(SCHEMAS[table]))
        self._connection.execute(f"INSERT INTO {table} SELECT {self._all(table)}, CAST({time} AS DATE) FROM added")
        self._connection.unregister("added")

    def show(self, table: str, stored: Any) -> None:
        """Put an Arrow dataset in the place of a table: its files are read when they are asked for."""
        self._connection.execute(f"DROP TABLE {table}")
        self._connection.register(f"stored_{table}", stored)
        self._connection.execute(f"CREATE VIEW {table} AS SELECT {self._all(table)} FROM stored_{table}")

    def check_condition(self, table: str, condition: str) -> None:
        """Raise `InputError` with DuckDB's words where a condition on the rows of a table is none."""
        with self._asking():
            if len(self._connection.extract_statements(f"SELECT {_whether(condition)}")) != 1:
                raise InputError("not one SQL expression; remove ;")
        self.check(f"SELECT 1 FROM {table} WHERE {_whether(condition)}")

    def fitting(self, table: str, columns: dict[str, list[Any]], condition: str) -> list[int]:
        """Return the places of rows of a table, which come as columns, that a condition lets through."""
        import pyarrow as pa

        from .schemas import SCHEMAS

        rows = pa.table(columns, SCHEMAS[table])
        placed = rows.append_column("place in the table", pa.array(range(rows.num_rows), pa.int64()))
        self._connection.register("asked", placed)
        self._watch.begin()
        with self._asking():
            asked = f'SELECT "place in the table" FROM asked WHERE {_whether(condition)} ORDER BY 1'
            found = self._connection.execute(asked).fetchall()
        self._connection.unregister("asked")
        return [place for (place,) in found]

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Make a context for DuckDB at work, within the bounds; its errors become `InputError`s of one line."""
        import duckdb

        try:
            with self._watch.running():
                yield
        except duckdb.InterruptException:
            raise self._watch.refusal() from None
        except duckdb.PermissionException as error:
            raise InputError(f"duckdb: {_line(error)}; use --allow-files to let SQL access files") from error
        except (duckdb.OutOfMemoryException, MemoryError):
            raise InputError("the query exceeds --max-memory; raise it, or select less") from None
        except duckdb.Error as error:
            raise InputError(f"duckdb: {_line(error)}") from error

    def _all(self, table: str) -> str:
        """Return all columns of a table as they are shown, in SQL."""
        if table != "records" or not self.hide:
            return "*"
        return f"* REPLACE ({', '.join(f'NULL::{TYPES[TABLES[table][name]]} AS {name}' for name in VALUES)})"

    def answer(self, sql: str, limit: int | None = None) -> Answer:
        """Return at most `limit` rows of the answer. Raise `InputError` with DuckDB's words where it refuses."""
        self._watch.begin()
        with self._asking():
            answer = self._connection.execute(sql)
        columns, rows = [name for name, *_ in answer.description or ()], self._rows(limit)
        asked = DESCRIBE.fullmatch(sql)
        about = ABOUT.get(asked[1].lower()) if asked else None
        if about is None:
            return Answer(columns, rows)
        return Answer(["column", "type", "about"], ((*row[:2], about.get(row[0], "")) for row in rows))

    def _rows(self, limit: int | None) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._fetched(limit)
        finally:
            getattr(
                self._connection, "abort", lambda: None
            )()  # else it takes no question before the last row is fetched

    def _fetched(self, left: int | None) -> Iterator[tuple[Any, ...]]:
        while left is None or left > 0:
            with self._asking():
                batch = self._connection.fetchmany(BATCH if left is None else min(left, BATCH))
            if not batch:
                return
            left = None if left is None else left - len(batch)
            for row in batch:
                yield tuple(map(_plain, row))


def _whether(condition: str) -> str:
    """Return a condition in brackets that it does not get out of: one that ends them is none."""
    return f"CAST(({condition}\n) AS BOOLEAN)"


def _columns(table: str) -> str:
    """Return the columns of a table in DuckDB's DDL."""
    columns = {column: TYPES[kind] for column, kind in TABLES[table].items()} | {"date": "DATE"}
    return ", ".join(f'"{column}" {kind}' for column, kind in columns.items())


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
