"""Captures decoded into the tables of a database: only those that a question names, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import pyarrow as pa

from ..capture import Capture
from ..engine.driver import Drive, Fits
from ..engine.engine import Engine
from ..engine.garbage import seldom_collected
from ..filters.chosen import Filters
from ..filters.tally import Seen
from ..messages.exchange import Exchange
from ..render.values import escape
from ..tables.arrow import batch
from ..tables.cells import WIDTHS, Cells
from ..tables.columns import TABLES
from ..tables.connections import Connections
from ..tables.rows import NO_EXCHANGE, Rows, problem_columns
from ..tables.told import Wanted
from ..tables.values import moment
from .database import Database

ROWS = 1 << 14
"""Rows that are added to a table at once."""
SIZE = 16 << 20
"""Bytes of large values that wait at most."""
NO_ENDS = (None,) * 3
"""Stands for the rest of a connection where a problem is a capture's."""
SEVERITY = [*TABLES["problems"]].index("severity")


class Decoded:
    """Takes captures one by one, and puts the rows of `tables` into a database.

    `exchanges` counts those in the capture at hand so far, wanted or not; `undecoded` says whether there was anything
    that could not be decoded.
    """

    exchanges: int
    undecoded: bool

    def __init__(self, database: Database, tables: Set[str], filters: Filters, *, secrets: bool = False) -> None:
        self.database, self.tables, self.filters = database, tables, filters
        self.wanted = Wanted("records" in tables, "records" in tables, secrets)
        self.seen = Seen()
        self.exchanges, self.undecoded = 0, False
        self._waiting: dict[str, list[Any]] = {table: [] for table in tables}
        self._size = 0

    def capture(self, capture: Capture, filters: Filters | None = None) -> None:
        """Decode a capture to its end; `filters` are those for it, where not those for all."""
        name = escape(capture.name)
        with seldom_collected():
            _Decoding(self, name, filters or self.filters).run(capture)
        problems = capture.problems
        for finding in problems:
            self.add("problems", None, (name, *NO_ENDS, *NO_EXCHANGE, *problem_columns(finding, name)), 0)
        first, last = (None if time is None else moment(time) for time in (capture.first_time, capture.last_time))
        self.add("files", first, (
            name, name, None, capture.packets, capture.packets - capture.other, capture.other, None, capture.bytes, 1,
            first, last, None, "; ".join(finding.text for finding in problems) or None,
        ), 0)  # fmt: skip
        for table in self.tables:
            self._write(table)

    def add(self, table: str, time: int | None, cells: Cells, size: int) -> None:
        """Take rows, as `tables.rows.Rows` gives them."""
        if table == "problems" and cells[SEVERITY] == "error":
            self.undecoded = True
        waiting = self._waiting.get(table)
        if waiting is None:
            return
        waiting += cells
        self._size += size
        if len(waiting) >= ROWS * WIDTHS[table] or self._size >= SIZE:
            self._write(table)

    def _write(self, table: str) -> None:
        waiting = self._waiting[table]
        if waiting:
            self.database.insert(table, pa.Table.from_batches([batch(waiting, table)]))
            waiting.clear()
        if table == "records":
            self._size = 0


class _Decoding:
    """One capture on its way into the tables."""

    def __init__(self, to: Decoded, name: str, filters: Filters) -> None:
        self.to, self.name, self.filters = to, name, filters
        self.connections = Connections()
        self.engine = Engine(ports=filters.port or (), watch=self.connections.watch)
        self.rows = Rows(to.add, to.wanted, self.engine.names_then)
        self.shown: set[int] = set()
        """The connections of which an exchange is wanted."""

    def run(self, capture: Capture) -> None:
        blocks = capture.blocks()
        drive = Drive(self.engine, blocks, lambda: self._fits(capture), hear=self._hear, last=self.filters.last)
        for chunk in drive.chunks():
            self._take(chunk)
        whole = not self.filters.but(port=None)
        findings = self.engine.findings_by_connection()
        for number, spoken in self.connections.items():
            if whole or number in self.shown:
                spoken.tell(self.name, findings.get(number, ()), self.to.add)

    def _take(self, exchanges: Sequence[Exchange]) -> None:
        at = self.engine.names_then.at
        for exchange in exchanges:
            number = exchange.peers.number
            self.shown.add(number)
            exchange.peers = self.connections[number].peers
            at(exchange.names)
            self.rows.exchange(self.name, exchange)

    def _hear(self, exchange: Exchange, wanted: bool) -> None:
        self.to.exchanges += 1
        self.connections.heard(exchange)

    def _fits(self, capture: Capture) -> Fits | None:
        return self.filters.dated(capture.first_time).check(self.engine.names_then, self.to.seen)
