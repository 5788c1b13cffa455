"""Captures decoded here and now, their rows collected in SQLite: in a temporary file, so memory does not grow."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from ..capture import Capture
from ..engine.driver import Drive, Fits
from ..engine.engine import Engine
from ..engine.garbage import seldom_collected
from ..filters.chosen import Filters
from ..filters.tally import Seen
from ..forks import Forks
from ..messages.exchange import Exchange
from ..render.values import escape
from ..tables.columns import TABLES
from ..tables.connections import Connections
from ..tables.rows import NO_EXCHANGE, Rows, TableRow, problem_columns
from ..tables.told import Wanted
from ..tables.values import moment
from ..wire import Api

KEPT = ("exchanges", "partitions", "connections", "groups", "problems", "files")
DERIVED = """
ALTER TABLE connections ADD COLUMN host GENERATED ALWAYS AS (rtrim(rtrim(client, '0123456789'), ':'));
CREATE VIEW errors AS SELECT exchanges.*, json_each.value AS error FROM exchanges, json_each(exchanges.errors);
"""
BATCH = 1000
CHUNK = 4096
"""Exchanges whose rows are made in one copy of the process."""


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


class Collected:
    """Takes captures, one by one; then answers SQL as `ask.Ask`. `filters.limit` exchanges are taken in all.

    `exchanges` counts those in the capture at hand so far, wanted or not.

    With more `jobs` than one, copies of this process make the rows while it pairs and keeps them.
    """

    filters: Filters
    left: Any
    jobs: int
    exchanges: int

    def __init__(self, filters: Filters, jobs: int = 1) -> None:
        self.filters, self.left, self.jobs = filters, filters.limit, jobs
        self.seen = Seen()
        self.exchanges = 0
        self._waiting: dict[str, list[TableRow]] = {table: [] for table in KEPT}
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
        """Decode a capture to its end, or to the limit; `filters` are those for it, where not those for all."""
        name = escape(capture.name)
        with seldom_collected():
            _Decoding(self, name, filters or self.filters).run(capture)
        problems = capture.problems
        for finding in problems:
            self.add("problems", None, (name, *NO_ENDS, *NO_EXCHANGE, *problem_columns(finding, name)))
        first, last = (None if time is None else moment(time) for time in (capture.first_time, capture.last_time))
        self.add("files", first, (
            name, name, None, capture.packets, capture.packets - capture.other, capture.other, None, capture.bytes, 1,
            first, last, None, "; ".join(finding.text for finding in problems) or None,
        ))  # fmt: skip

    def add(self, table: str, time: int | None, row: TableRow, size: int = 0) -> None:
        """Take one row, as `tables.rows.Rows` gives it."""
        rows = self._waiting[table]
        rows.append(row)
        if len(rows) >= BATCH:
            self._write(table)

    def _write(self, table: str) -> None:
        places = ", ".join("?" * len(TABLES[table]))
        rows = [_stored(row, LISTS[table]) for row in self._waiting[table]]
        with self._database:
            self._database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        self._waiting[table].clear()


NO_ENDS: TableRow = (None,) * 3
"""Stands for the rest of a connection where a problem is a capture's."""


LISTS = {
    table: [place for place, kind in enumerate(columns.values()) if kind in ("texts", "shorts")]
    for table, columns in TABLES.items()
}
"""Table by table, where in a row its lists stand."""


def _stored(row: TableRow, lists: list[int]) -> Sequence[Any]:
    """Return a row with its lists as JSON."""
    if not lists:
        return row
    stored = list(row)
    for place in lists:
        stored[place] = json.dumps(stored[place]) if stored[place] else "[]"
    return stored


class _Decoding:
    """One capture on its way through a session."""

    def __init__(self, to: Collected, name: str, filters: Filters) -> None:
        self.to, self.name, self.filters = to, name, filters
        self.connections = Connections()
        self.engine = Engine(ports=filters.port or (), watch=self.connections.watch)
        self.rows = Rows(to.add, Wanted(), self.engine.names_then)
        self.shown: set[int] = set()
        """The connections of which an exchange is shown."""

    def run(self, capture: Capture) -> None:
        blocks = capture.blocks(singly=self.to.left is not None)
        drive = Drive(
            self.engine, blocks, lambda: self._fits(capture), left=self.to.left, hear=self._hear, last=self.filters.last
        )
        take, at = self.rows_of if self.to.jobs == 1 else _Apart(self).take, self.engine.names_then.at
        for chunk in drive.chunks():
            for exchange in chunk:
                at(exchange.names)
                number = exchange.peers.number
                self.shown.add(number)
                exchange.peers = self.connections[number].peers
                take(exchange)
        take(None)
        self.to.left = drive.left
        self._tell()

    def rows_of(self, exchange: Exchange | None) -> None:
        """Add the rows of an exchange; None says that there are no more."""
        if exchange is not None:
            self.rows.exchange(self.name, exchange)

    def _hear(self, exchange: Exchange, wanted: bool) -> None:
        self.to.exchanges += 1
        self.connections.heard(exchange)

    def _fits(self, capture: Capture) -> Fits | None:
        return self.filters.dated(capture.first_time).check(self.engine.names_then, self.to.seen)

    def _tell(self) -> None:
        """Add the rows of connections: of all, or of those that a filter lets through."""
        whole = not self.filters.but(port=None)
        findings = self.engine.findings_by_connection()
        for number, spoken in self.connections.items():
            if whole or number in self.shown:
                spoken.tell(self.name, findings.get(number, ()), self.to.add)


class _Apart:
    """Makes the rows of exchanges in copies of this process, a chunk in each; those of each kind's first here."""

    def __init__(self, decoding: _Decoding) -> None:
        self.decoding, self.rows = decoding, decoding.rows
        self._chunk: list[Exchange] = []
        self._seen: set[tuple[Api | None, int]] = set()
        self._forks: Forks[list[Exchange]] = Forks(decoding.to.jobs, self._work, lambda made: made, self._add)

    def take(self, exchange: Exchange | None) -> None:
        """Take an exchange; None says that there are no more, and waits for the rows."""
        if exchange is None:
            self._forks.give(self._chunk)
            self._forks.close()
        elif (exchange.api, exchange.version) not in self._seen:
            self._seen.add((exchange.api, exchange.version))
            self.decoding.rows_of(exchange)
        else:
            self._chunk.append(exchange)
            if len(self._chunk) >= CHUNK:
                self._forks.give(self._chunk)
                self._chunk = []

    def _work(self, chunk: list[Exchange]) -> dict[str, list[TableRow]]:
        """Return the rows of a chunk by their tables; in a copy."""
        made: dict[str, list[TableRow]] = {table: [] for table in KEPT}
        add, self.rows.add = self.rows.add, lambda table, time, row, size: made[table].append(row)
        for exchange in chunk:
            self.decoding.engine.names_then.at(exchange.names)
            self.decoding.rows_of(exchange)
        self.rows.add = add
        return made

    def _add(self, made: dict[str, list[TableRow]]) -> None:
        for table, rows in made.items():
            for row in rows:
                self.decoding.to.add(table, None, row)
