"""What `kdbg stats` counts: exchanges into tables of numbers, which are shown at the end."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias
from uuid import UUID

import click

from ...analysis.logs.log import ApplicationLog
from ...analysis.stats.dimensions import Dimension, Key, dimensions
from ...analysis.stats.measures import Tally
from ...analysis.stats.statistics import Overview, Statistics, StatsTable, folded
from ...exchanges.jobs import ExchangePool, Show
from ...exchanges.messages.exchange import Exchange
from ...protocol.findings.amounts import count
from ...views.render.stats_table import ANY_WIDTH, lines, screen
from ...views.render.style import Look
from . import INTERRUPTED
from .counts import CountedFindings, FindingCounts
from .output import terminal_size
from .runner import Runner

CHUNK = 4096
"""Exchanges of a piece of work."""
PROMPT = 2
"""Lines of a terminal that are not the screen's: the command, and the prompt behind it."""
SEVERAL = ("topic", "partition", "group", "error")
"""Dimensions of which an exchange may have several values."""
Rows: TypeAlias = Sequence[tuple[Key | str, Tally]]


class StatsOptions(NamedTuple):
    """What is asked for: rows `by` dimensions, in an order, the `top` ones of them, in a format; `raw` is of CSV."""

    by: tuple[str, ...] = ()
    sort: str | None = None
    top: int | None = None
    format: str = "table"
    raw: bool = False


def write_stats(runner: Runner, files: Sequence[str], asked: StatsOptions, look: Look, jobs: int = 1) -> int:
    """Count what is in captures; show the numbers, and say what they do not tell. Return the exit status."""
    by = asked.by
    if len(files) > 1 and "connection" in by and "file" not in by:
        by = ("file", *by)
    table, overview = StatsTable(dimensions(by)), None
    if not by:
        overview = Overview()
        check_overview(asked)
    table.sorted(asked.sort)  # refuses now what nothing can be sorted by
    counter = StatsCounter(runner.findings, [table] if overview is None else overview.tables)
    for file in runner.open(files):
        with file, runner.drive(file, counted=True) as drive:
            names = drive.engine.names_then
            counter.statistics.capture(file.name, names)
            here = jobs == 1 or runner.writer.live or runner.timed or isinstance(file.capture, ApplicationLog)
            pool = None if here else PoolCounter(counter, jobs, names.topics, runner.writer.write)
            try:
                for chunk in runner.chunks(file, drive):
                    counter.statistics.know(chunk)
                    (counter if pool is None else pool).add(chunk)
                if pool is not None:
                    pool.wait()
            finally:
                if pool is not None:
                    pool.close()
                counter.statistics.finish()
    if not runner.has_read:
        return runner.status
    shown = StatsText(asked, look, runner.timed)
    if overview is None:
        pieces = shown.table(table)
    elif asked.format == "table":
        packets = None if runner.counts["lines"] and not runner.counts["packets"] else runner.counts["packets"]
        pieces = shown.screen(overview, runner.findings, packets)
    else:
        pieces = shown.objects(overview)
    for piece in pieces:
        runner.writer.write(piece)
    if runner.status == INTERRUPTED:
        runner.say("interrupted; the statistics cover only what was read so far")
    if table.others is not None:
        many = table.others.exchanges
        runner.say(f'{count(many, "exchange")} counted as "others": the table keeps {count(table.most, "row")}')
    if inner := [name for name in SEVERAL if name in asked.by]:
        runner.say(f"an exchange is counted once for each {' and '.join(inner)} it contains")
    has_counts = overview is not None and asked.format == "table"  # the first screen has all that, but in data
    runner.close([] if has_counts else runner.closing())
    return runner.status


def check_overview(asked: StatsOptions) -> None:
    """Raise `UsageError` for what an overview does not have."""
    for option, given in (("--sort", asked.sort), ("--top", asked.top)):
        if given is not None:
            raise click.UsageError(f"{option} requires --by")
    if asked.format == "csv":
        raise click.UsageError("--format csv requires --by, such as --by api")


class StatsText:
    """Makes text of numbers."""

    def __init__(self, asked: StatsOptions, look: Look, timed: bool) -> None:
        self._asked, self._look, self._timed = asked, look, timed
        self._terminal = sys.stdout.isatty() and not look.long_lines
        self._width = look.width if self._terminal else ANY_WIDTH

    def screen(self, overview: Overview, findings: FindingCounts, packets: int | None) -> Iterator[str | bytes]:
        """Yield the overview on one screen."""
        height = terminal_size().lines - PROMPT if self._terminal else None
        yield screen(overview, findings.kinds, packets, self._look, self._width, height)
        yield from self._spent((), [((), overview.total)])

    def objects(self, overview: Overview) -> Iterator[bytes]:
        """Yield the overview as objects."""
        from ...views.render.stats_table import json_row

        yield json_row((), (), overview.total, {"table": "total"}, timed=self._timed)
        for name, table in overview.items():
            for key, tally in self._rows(table, None):
                yield json_row(table.by, key, tally, {"table": name}, timed=self._timed)

    def table(self, table: StatsTable) -> Iterator[str | bytes]:
        """Yield a table."""
        by, rows, timed = table.by, self._rows(table, self._asked.sort), self._timed
        if self._asked.format == "table":
            shown = lines(by, rows, self._look, self._width)
            yield from (f"{line}\n" for line in (shown.heading, *shown.rows))
            yield from self._spent(by, rows)
            return
        from ...views.render.stats_table import csv_head, csv_row, json_row

        if self._asked.format == "json":
            yield from (json_row(by, key, tally, timed=timed) for key, tally in rows)
        else:
            yield csv_head(by, timed=timed)
            yield from (csv_row(by, key, tally, raw=self._asked.raw, timed=timed) for key, tally in rows)

    def _rows(self, table: StatsTable, sort: str | None) -> Rows:
        """Return the rows of a table in their order, and what is not shown as one row."""
        found = table.sorted(sort)
        top = len(found) if self._asked.top is None else self._asked.top
        rest = folded(found[top:], table.others)
        rows: list[tuple[Key | str, Tally]] = list(found[:top])
        if rest is not None:
            rows.append((f"({len(found) - top:,} others)" if table.others is None else "(others)", rest))
        return rows

    def _spent(self, by: Sequence[Dimension], rows: Rows) -> Iterator[str]:
        """Yield where the time went, below the other numbers; what no packets tell has no lines."""
        if not self._timed:
            return
        from ...views.render.stats_table import spent_lines

        table = spent_lines(by, rows, self._look, self._width)
        if table.rows:
            yield from (f"{line}\n" for line in ("", table.heading, *table.rows))


class StatsCounter:
    """Counts exchanges in this process, into tables and findings."""

    def __init__(self, findings: FindingCounts, tables: list[StatsTable]) -> None:
        self.findings, self.tables = findings, tables
        self.statistics: Statistics = Statistics(tables)

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Count exchanges."""
        self.statistics.take(exchanges, self.findings.note)


class Counted(NamedTuple):
    """What came of a chunk: the rows of each table, and what is odd in it."""

    tables: list[tuple[dict[Key, Tally], Tally | None]]
    findings: CountedFindings


class PoolCounter(ExchangePool):
    """Counts exchanges in this process, which pairs all of them, and in copies of it."""

    def __init__(
        self, counter: StatsCounter, jobs: int, topics: dict[UUID, str], show: Callable[[bytes], None]
    ) -> None:
        super().__init__(jobs - 1, topics, show, CHUNK)
        self._counter = counter

    def pack(self, exchanges: list[Exchange], copy: int) -> list[bytes]:
        """Return exchanges as bytes, for a copy, with what is known of their connections."""
        known = self._counter.statistics.known(exchanges)
        return [pickle.dumps((known, b"".join(super().pack(exchanges, copy))))]

    def do(self, exchanges: list[Exchange], show: Show) -> None:
        """Count exchanges here."""
        self._counter.add(exchanges)

    def do_packed(self, packed: bytes, show: Show) -> Counted:
        """Count exchanges in a copy; return what came of these alone."""
        counter = self._counter
        known, parcel = pickle.loads(packed)  # what this process packed
        counter.statistics.forget(known)
        counter.findings.clear()
        counter.add(self._parcels.unpack(parcel))
        counter.statistics.finish()
        return Counted([(table.rows, table.others) for table in counter.tables], counter.findings.clear())

    def take(self, counted: Counted | None) -> None:
        """Add what a copy counted."""
        if counted is not None:
            for mine, (rows, others) in zip(self._counter.tables, counted.tables, strict=True):
                mine.merge(rows, others)
            self._counter.findings.add(counted.findings)
