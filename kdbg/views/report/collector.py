"""Captures decoded here and now, their rows collected in SQLite: in a temporary file, so memory does not grow."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ...analysis.ledgers import Ledgers
from ...capture import Capture
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import Filters
from ...exchanges.jobs import ExchangePool, Show
from ...exchanges.messages.exchange import Exchange
from ..tables.cells import Cells, TableRow, plain
from ..tables.columns import TABLES
from ..tables.decoding import Decoding
from ..tables.message_columns import WantedRows
from .causes import ReportedCauses

KEPT = ("exchanges", "partitions", "connections", "groups", "problems", "files")
DERIVED = """
ALTER TABLE connections ADD COLUMN host GENERATED ALWAYS AS (rtrim(rtrim(client, '0123456789'), ':'));
CREATE VIEW errors AS SELECT exchanges.*, json_each.value AS error FROM exchanges, json_each(exchanges.errors);
"""
BATCH = 1000
Stored: TypeAlias = dict[str, list[Sequence[Any]]]
"""Rows as they are stored, by their tables."""


class Largest:
    """SQL's MAX_BY, which SQLite lacks: the value that goes with the largest key."""

    def __init__(self) -> None:
        self.key: Any = None
        self.value: Any = None

    def step(self, value: Any, key: Any) -> None:
        if key is not None and (self.key is None or key >= self.key):
            self.key, self.value = key, value

    def finalize(self) -> Any:
        return self.value


class Collected(Decoding):
    """Takes captures, one by one; then answers SQL as `ask.Ask`. `diagnosis` is what is found in them.

    With more `jobs` than one, copies of this process make rows too, while it pairs and keeps what is made.
    """

    def __init__(self, filters: Filters, jobs: int = 1) -> None:
        super().__init__(filters, WantedRows(timed=True))
        self.jobs: int = jobs
        self.keep: Callable[[str, list[Sequence[Any]]], None] = self._keep
        """Takes rows as they are stored."""
        self.diagnosis: ReportedCauses = ReportedCauses()
        self._ledgers: Ledgers | None = None
        self._cells = plain(self._row)
        self._waiting: Stored = {table: [] for table in KEPT}
        self._database = sqlite3.connect("", isolation_level=None)  # "" is a file of its own, gone when it is closed
        self._database.create_aggregate("MAX_BY", 2, Largest)  # type: ignore[arg-type]  # a key of any type
        self._database.execute("PRAGMA journal_mode = OFF")
        for table in KEPT:
            self._database.execute(f"CREATE TABLE {table} ({', '.join(TABLES[table])})")
        self._database.executescript(DERIVED)

    def ask(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Answer a question in SQL."""
        for table in KEPT:
            self._write(table)
        return self._database.execute(sql)

    def close(self) -> None:
        """Close the database, and forget all rows."""
        self._database.close()

    def capture(self, capture: Capture, filters: Filters | None = None) -> None:
        """Decode a capture, and judge it: all that was read of it, whatever filters let through."""
        super().capture(capture, filters)
        ledgers, self._ledgers = self._ledgers, None
        if ledgers is not None:
            self.diagnosis.take(ledgers, capture.name)

    def ledgers(self, engine: Engine) -> Ledgers:
        self._ledgers = Ledgers(engine.names_then)
        return self._ledgers

    def pool(self, engine: Engine, make: Callable[[Sequence[Exchange]], None]) -> ExchangePool | None:
        return None if self.jobs == 1 else _RowPool(self, engine, make)

    def add(self, table: str, time: int | None, cells: Cells, size: int, /) -> None:
        """Take rows, as `tables.rows.Rows` gives them."""
        self._cells(table, time, cells, size)

    def _row(self, table: str, time: int | None, row: TableRow, size: int) -> None:
        lists = LISTS[table]
        stored: Any = list(row) if lists else row
        for place in lists:
            stored[place] = json.dumps(row[place]) if row[place] else "[]"
        self.keep(table, [stored])

    def _keep(self, table: str, rows: list[Sequence[Any]]) -> None:
        waiting = self._waiting[table]
        waiting += rows
        if len(waiting) >= BATCH:
            self._write(table)

    def _write(self, table: str) -> None:
        places = ", ".join("?" * len(TABLES[table]))
        with self._database:
            self._database.executemany(f"INSERT INTO {table} VALUES ({places})", self._waiting[table])
        self._waiting[table].clear()


LISTS = {
    table: [place for place, kind in enumerate(columns.values()) if kind in ("texts", "shorts", "ints")]
    for table, columns in TABLES.items()
}
"""Table by table, where in a row its lists stand, which are stored as JSON."""


class _RowPool(ExchangePool):
    """Makes the rows of exchanges in this process, which pairs and keeps them, and in copies of it."""

    def __init__(self, to: Collected, engine: Engine, make: Callable[[Sequence[Exchange]], None]) -> None:
        super().__init__(to.jobs - 1, engine.topic_names, lambda text: None)
        self.to, self.make = to, make

    def pack(self, exchanges: list[Exchange], copy: int) -> list[bytes]:
        """Return exchanges as bytes, for a copy, with where their time went, which packets told."""
        timings = [exchange.timing for exchange in exchanges]
        return [pickle.dumps((timings, b"".join(super().pack(exchanges, copy))))]

    def do_packed(self, packed: bytes, show: Show) -> Stored:
        """Return the rows of exchanges in a copy."""
        timings, parcel = pickle.loads(packed)  # what this process packed
        exchanges = self._parcels.unpack(parcel)
        for exchange, timing in zip(exchanges, timings, strict=True):
            exchange.timing = timing
        return self.do(exchanges, show)

    def do(self, exchanges: list[Exchange], show: Show) -> Stored:
        """Return the rows of exchanges as they are stored, by their tables."""
        made: Stored = {table: [] for table in KEPT}
        keep, self.to.keep = self.to.keep, lambda table, rows: made[table].extend(rows)
        self.make(exchanges)
        self.to.keep = keep
        return {table: rows for table, rows in made.items() if rows}

    def take(self, stored: Stored) -> None:
        """Keep rows."""
        for table, rows in stored.items():
            self.to.keep(table, rows)
