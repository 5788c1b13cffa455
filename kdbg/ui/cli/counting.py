"""One run of `kdbg stats`: captures through an engine into tables of numbers, shown at the end."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

import click

from ...analysis.logs.log import ApplicationLog
from ...analysis.stats.dimensions import Dimension, Key, dimensions
from ...analysis.stats.statistics import Overview, Statistics
from ...analysis.stats.table import StatsTable, folded
from ...analysis.stats.tally import Tally
from ...capture import Capture
from ...exchanges.filters.filter_set import Filters
from ...exchanges.jobs.forks import Show
from ...exchanges.jobs.pool import ExchangePool
from ...exchanges.messages.exchange import Exchange
from ...protocol.findings.amounts import count
from ...views.render.stats_screen import screen
from ...views.render.stats_table import ANY_WIDTH, lines
from ...views.render.style import Look
from . import INTERRUPTED
from .output import Writer
from .runner import Captures

CHUNK = 4096
"""Exchanges of a piece of work."""
PROMPT = 2
"""Lines of a terminal that are not the screen's: the command, and the prompt behind it."""
SEVERAL = ("topic", "partition", "group", "error")
"""Dimensions of which an exchange may have several values."""


class StatsOptions(NamedTuple):
    """What is asked for: rows `by` dimensions, in an order, the `top` ones of them, in a format; `raw` is of CSV."""

    by: tuple[str, ...] = ()
    sort: str | None = None
    top: int | None = None
    format: str = "table"
    raw: bool = False


class StatsRun(Captures):
    """Counts what is in one file after the other; `several`: connections of several files are told apart."""

    asked: StatsOptions
    look: Look
    jobs: int

    reads_logs = True
    counts_itself = True

    def __init__(
        self, asked: StatsOptions, look: Look, writer: Writer, filters: Filters, jobs: int = 1, several: bool = False
    ) -> None:
        super().__init__(filters, writer)
        self.asked, self.look, self.jobs = asked, look, jobs
        by = ("file", *asked.by) if several and "connection" in asked.by and "file" not in asked.by else asked.by
        self.overview: Overview | None = None
        self.table: StatsTable = StatsTable(dimensions(by))
        if not asked.by:
            self.overview = Overview()
            self._check_overview()
        self.table.sorted(asked.sort)  # refuses now what nothing can be sorted by
        self.tables: list[StatsTable] = [self.table] if self.overview is None else self.overview.tables
        self.statistics: Statistics = Statistics(self.tables)

    def _check_overview(self) -> None:
        asked = self.asked
        for option, given in (("--sort", asked.sort), ("--top", asked.top)):
            if given is not None:
                raise click.UsageError(f"{option} requires --by")
        if asked.format == "csv":
            raise click.UsageError("--format csv requires --by, such as --by api")

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Count what is in a capture."""
        with self.driven(capture, name) as drive:
            self.statistics.capture(name, drive.engine.names_then)
            here = self.jobs == 1 or self.writer.live or self.timed or isinstance(capture, ApplicationLog)
            counted = CountedHere(self) if here else PoolCounter(self, drive.engine.names_then.topics)
            try:
                for chunk in drive.chunks():
                    self.statistics.know(chunk)
                    counted.add(chunk)
                    if drive.engine.findings:
                        self.tell(drive.engine, name)
                counted.wait()
            finally:
                counted.close()
                self.statistics.finish()

    def count(self, exchanges: Sequence[Exchange]) -> None:
        """Count exchanges."""
        self.statistics.take(exchanges, self.note)

    def close(self) -> None:
        """Show the numbers, and say beside them what they do not tell."""
        for piece in self.shown():
            self.writer.write(piece)
        if self.status == INTERRUPTED:
            self.say("interrupted; the statistics cover only what was read so far")
        if self.table.others is not None:
            many = self.table.others.exchanges
            self.say(f'{count(many, "exchange")} counted as "others": the table keeps {count(self.table.most, "row")}')
        if inner := [name for name in SEVERAL if name in self.asked.by]:
            self.say(f"an exchange is counted once for each {' and '.join(inner)} it contains")
        super().close()

    def closing(self) -> list[str]:
        """Return the parts of the closing line; the first screen has all that, but in data."""
        return [] if self.overview is not None and self.asked.format == "table" else super().closing()

    def shown(self) -> Iterator[str | bytes]:
        """Yield the output."""
        terminal = sys.stdout.isatty() and not self.look.long_lines
        width = self.look.width if terminal else ANY_WIDTH
        if self.overview is not None and self.asked.format == "table":
            packets = None if self.counts["lines"] and not self.counts["packets"] else self.counts["packets"]
            height = rows_of_terminal() - PROMPT if terminal else None
            yield screen(self.overview, self.findings, packets, self.look, width, height)
            if self.timed:
                yield from self._spent((), [((), self.overview.total)], width)
        elif self.overview is not None:
            from ...views.render.stats_table import json_row

            yield json_row((), (), self.overview.total, {"table": "total"}, timed=self.timed)
            for name, table in self.overview.items():
                for key, tally in self.rows(table, None):
                    yield json_row(table.by, key, tally, {"table": name}, timed=self.timed)
        else:
            yield from self._by(width)

    def rows(self, table: StatsTable, sort: str | None) -> list[tuple[Key | str, Tally]]:
        """Return the rows of a table in their order, and what is not shown as one row."""
        found = table.sorted(sort)
        top = len(found) if self.asked.top is None else self.asked.top
        rest = folded(found[top:], table.others)
        rows: list[tuple[Key | str, Tally]] = list(found[:top])
        if rest is not None:
            rows.append((f"({len(found) - top:,} others)" if table.others is None else "(others)", rest))
        return rows

    def _by(self, width: int) -> Iterator[str | bytes]:
        by, rows = self.table.by, self.rows(self.table, self.asked.sort)
        if self.asked.format == "table":
            table = lines(by, rows, self.look, width)
            yield from (f"{line}\n" for line in (table.heading, *table.rows))
            if self.timed:
                yield from self._spent(by, rows, width)
            return
        from ...views.render.stats_table import csv_head, csv_row, json_row

        if self.asked.format == "json":
            yield from (json_row(by, key, tally, timed=self.timed) for key, tally in rows)
        else:
            yield csv_head(by, timed=self.timed)
            yield from (csv_row(by, key, tally, raw=self.asked.raw, timed=self.timed) for key, tally in rows)

    def _spent(
        self, by: Sequence[Dimension], rows: Sequence[tuple[Key | str, Tally]], width: int
    ) -> Iterator[str | bytes]:
        """Yield where the time went, below the other numbers; what no packets tell has no lines."""
        from ...views.render.stats_table import spent_lines

        table = spent_lines(by, rows, self.look, width)
        if table.rows:
            yield from (f"{line}\n" for line in ("", table.heading, *table.rows))


class Counted(NamedTuple):
    """What came of a chunk: the rows of each table, what is odd in it, and the exit status."""

    tables: list[tuple[dict[Key, Tally], Tally | None]]
    findings: Counter[str]
    status: int


class CountedHere:
    """Counts exchanges in this process."""

    def __init__(self, run: StatsRun) -> None:
        self.add: Callable[[Sequence[Exchange]], None] = run.count

    def wait(self) -> None:
        """Do nothing: all is counted."""

    def close(self) -> None:
        """Do nothing: nothing is held."""


class PoolCounter(ExchangePool):
    """Counts exchanges in this process, which pairs all of them, and in copies of it."""

    run: StatsRun

    def __init__(self, run: StatsRun, topics: dict[UUID, str]) -> None:
        super().__init__(run.jobs - 1, topics, run.writer.write, CHUNK)
        self.run = run

    def pack(self, exchanges: list[Exchange], copy: int) -> list[bytes]:
        """Return exchanges as bytes, for a copy, with what is known of their connections."""
        return [pickle.dumps((self.run.statistics.known(exchanges), b"".join(super().pack(exchanges, copy))))]

    def do(self, exchanges: list[Exchange], show: Show) -> None:
        """Count exchanges here."""
        self.run.count(exchanges)

    def do_packed(self, packed: bytes, show: Show) -> Counted:
        """Count exchanges in a copy; return what came of these alone."""
        run = self.run
        known, parcel = pickle.loads(packed)  # what this process packed
        run.statistics.forget(known)
        run.findings, run.status = Counter(), 0
        run.count(self._parcels.unpack(parcel))
        run.statistics.finish()
        return Counted([(table.rows, table.others) for table in run.tables], run.findings, run.status)

    def take(self, counted: Counted | None) -> None:
        """Add what a copy counted."""
        if counted is None:
            return
        for mine, (rows, others) in zip(self.run.tables, counted.tables, strict=True):
            mine.merge(rows, others)
        self.run.findings.update(counted.findings)
        self.run.status = self.run.status or counted.status


def rows_of_terminal() -> int:
    """Return how many lines the terminal has."""
    import shutil

    return shutil.get_terminal_size((80, 24)).lines
