"""Captures decoded here and now, their rows collected in SQLite: in a temporary file, so memory does not grow."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeAlias

from ..capture import Capture
from ..engine.driver import Drive, Fits
from ..engine.engine import Engine
from ..engine.garbage import seldom_collected
from ..filters.chosen import Filters
from ..filters.tally import Seen
from ..jobs.apart import Apart
from ..jobs.forks import Show
from ..messages.exchange import Exchange
from ..messages.waiting import beyond_wait
from ..render.values import escape
from ..tables.cells import TableRow, plain
from ..tables.columns import TABLES
from ..tables.connections import Connections
from ..tables.rows import NO_EXCHANGE, Rows, problem_columns
from ..tables.told import Wanted
from ..tables.values import micros, moment

KEPT = ("exchanges", "partitions", "connections", "groups", "problems", "files")
DERIVED = """
ALTER TABLE connections ADD COLUMN host GENERATED ALWAYS AS (rtrim(rtrim(client, '0123456789'), ':'));
CREATE VIEW errors AS SELECT exchanges.*, json_each.value AS error FROM exchanges, json_each(exchanges.errors);
"""
OWN = {"exchanges": ("number", "late_us"), "problems": ("number",)}
"""Columns that only reports have, behind those of the tables."""
COLUMNS: dict[str, tuple[str, ...]] = {table: (*TABLES[table], *OWN.get(table, ())) for table in KEPT}
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


class Collected:
    """Takes captures, one by one; then answers SQL as `ask.Ask`. `filters.limit` exchanges are taken in all.

    `exchanges` counts those in the capture at hand so far, wanted or not.

    With more `jobs` than one, copies of this process make rows too, while it pairs and keeps what is made.
    """

    filters: Filters
    left: Any
    jobs: int
    exchanges: int

    def __init__(self, filters: Filters, jobs: int = 1) -> None:
        self.filters, self.left, self.jobs = filters, filters.limit, jobs
        self.seen = Seen()
        self.exchanges = 0
        self._waiting: Stored = {table: [] for table in KEPT}
        self._database = sqlite3.connect("", isolation_level=None)  # "" is a file of its own, gone when it is closed
        self._database.create_aggregate("MAX_BY", 2, Largest)  # type: ignore[arg-type]  # a key of any type
        self._database.execute("PRAGMA journal_mode = OFF")
        for table in KEPT:
            self._database.execute(f"CREATE TABLE {table} ({', '.join(COLUMNS[table])})")
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
        """Take one row that belongs to no exchange, value by value."""
        self.keep(table, [_stored((*row, *(None for _ in OWN.get(table, ()))), LISTS[table])])

    def keep(self, table: str, rows: list[Sequence[Any]]) -> None:
        """Take rows as they are stored."""
        waiting = self._waiting[table]
        waiting += rows
        if len(waiting) >= BATCH:
            self._write(table)

    def _write(self, table: str) -> None:
        places = ", ".join("?" * len(COLUMNS[table]))
        with self._database:
            self._database.executemany(f"INSERT INTO {table} VALUES ({places})", self._waiting[table])
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

    exchange: Exchange
    """The one whose rows are made."""

    def __init__(self, to: Collected, name: str, filters: Filters) -> None:
        self.to, self.name, self.filters = to, name, filters
        self.connections = Connections()
        self.engine = Engine(ports=filters.port or (), watch=self.connections.watch)
        self.keep: Callable[[str, Sequence[Any]], None] = lambda table, row: to.keep(table, [row])
        self.rows = Rows(plain(self._add), Wanted(), self.engine.names_then)
        self.shown: set[int] = set()
        """The connections of which an exchange is shown."""

    def run(self, capture: Capture) -> None:
        blocks = capture.blocks(singly=self.to.left is not None)
        drive = Drive(
            self.engine, blocks, lambda: self._fits(capture), left=self.to.left, hear=self._hear, last=self.filters.last
        )
        with closing(_Here(self) if self.to.jobs == 1 else _Apart(self)) as making:
            for chunk in drive.chunks():
                for exchange in chunk:
                    number = exchange.peers.number
                    self.shown.add(number)
                    exchange.peers = self.connections[number].peers
                making.add(chunk)
            making.wait()
        self.to.left = drive.left
        self._tell()

    def rows_of(self, exchanges: Sequence[Exchange]) -> None:
        """Make the rows of exchanges."""
        at = self.engine.names_then.at
        for exchange in exchanges:
            at(exchange.names)
            self.exchange = exchange
            self.rows.exchange(self.name, exchange)

    def _add(self, table: str, time: int | None, row: TableRow, size: int) -> None:
        """Take a row of the exchange at hand."""
        if table == "exchanges":
            late = beyond_wait(self.exchange)
            row = (*row, self.exchange.number, None if late is None else micros(late))
        elif table == "problems":
            row = (*row, self.exchange.number)
        self.keep(table, _stored(row, LISTS[table]))

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


class _Here:
    """Makes the rows of exchanges in this process."""

    def __init__(self, decoding: _Decoding) -> None:
        self.add = decoding.rows_of

    def wait(self) -> None:
        """Do nothing: all are made."""

    def close(self) -> None:
        """Do nothing: nothing is held."""


class _Apart(Apart):
    """Makes the rows of exchanges in this process, which pairs and keeps them, and in copies of it."""

    def __init__(self, decoding: _Decoding) -> None:
        super().__init__(decoding.to.jobs - 1, decoding.engine.topic_names, lambda text: None)
        self.decoding = decoding

    def do(self, exchanges: list[Exchange], show: Show) -> Stored:
        """Return the rows of exchanges as they are stored, by their tables."""
        made: Stored = {table: [] for table in KEPT}
        keep, self.decoding.keep = self.decoding.keep, lambda table, row: made[table].append(row)
        self.decoding.rows_of(exchanges)
        self.decoding.keep = keep
        return {table: rows for table, rows in made.items() if rows}

    def take(self, stored: Stored) -> None:
        """Keep rows."""
        for table, rows in stored.items():
            self.decoding.to.keep(table, rows)
