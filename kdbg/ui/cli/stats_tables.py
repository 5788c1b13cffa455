"""What `kdbg stats` counts: exchanges into tables of numbers, which are shown at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import click

from ...analysis.stats.dimensions import Key, dimensions
from ...analysis.stats.measures import Tally
from ...analysis.stats.statistics import Overview, Statistics, StatsTable, folded
from ...exchanges.messages.exchange import Exchange
from ...protocol.findings.amounts import count
from ...views.render.stats_table import ANY_WIDTH, csv_head, csv_row, json_row, lines, screen, spent_lines
from ...views.render.style import Look
from . import INTERRUPTED
from .output import Sink, terminal_size
from .runner import Runner

PROMPT = 2
"""Lines of a terminal that are not the screen's: the command, and the prompt after it."""
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


def write_stats(runner: Runner, files: Sequence[str], asked: StatsOptions, look: Look) -> int:
    """Count what is in captures; show the numbers, and say what they do not tell. Return the exit status."""
    by = asked.by
    if len(files) > 1 and "connection" in by and "file" not in by:
        by = ("file", *by)
    table, overview = StatsTable(dimensions(by)), None
    if not by:
        overview = Overview()
        for option, given in (("--sort", asked.sort), ("--top", asked.top)):
            if given is not None:
                raise click.UsageError(f"{option} requires --by")
        if asked.format == "csv":
            raise click.UsageError("--format csv requires --by, such as --by api")
    table.sorted(asked.sort)  # refuses now what nothing can be sorted by
    statistics = Statistics([table] if overview is None else overview.tables)
    for file in runner.open(files):
        with file, runner.drive(file, counted=True) as drive:
            statistics.capture(file.name, drive.engine.names_then)
            try:
                runner.show(file, drive, StatisticsSink(runner, statistics))
            finally:
                statistics.finish()
    if not runner.has_read:
        return runner.status
    for piece in texts(runner, asked, look, table, overview):
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


def texts(
    runner: Runner, asked: StatsOptions, look: Look, table: StatsTable, overview: Overview | None
) -> Iterator[str | bytes]:
    """Yield the numbers as text: a table, or an overview where there is one."""
    timed, by = runner.timed, table.by
    terminal = sys.stdout.isatty() and not look.long_lines
    width = look.width if terminal else ANY_WIDTH
    rows: Rows = []
    if overview is None:
        rows = rows_of(table, asked.sort, asked.top)
    if overview is not None and asked.format == "table":
        packets = None if runner.counts["lines"] and not runner.counts["packets"] else runner.counts["packets"]
        height = terminal_size().lines - PROMPT if terminal else None
        yield screen(overview, runner.findings, packets, look, width, height)
        by, rows = (), [((), overview.total)]
    elif overview is not None:
        yield json_row((), (), overview.total, {"table": "total"}, timed=timed)
        for name, one in overview.items():
            for key, tally in rows_of(one, None, asked.top):
                yield json_row(one.by, key, tally, {"table": name}, timed=timed)
    elif asked.format == "table":
        shown = lines(by, rows, look, width)
        yield from (f"{line}\n" for line in (shown.heading, *shown.rows))
    elif asked.format == "json":
        yield from (json_row(by, key, tally, timed=timed) for key, tally in rows)
    else:
        yield csv_head(by, timed=timed)
        yield from (csv_row(by, key, tally, raw=asked.raw, timed=timed) for key, tally in rows)
    if timed and asked.format == "table":
        spent = spent_lines(by, rows, look, width)  # what no packets tell has none
        yield from (f"{line}\n" for line in ("", spent.heading, *spent.rows) if spent.rows)


def rows_of(table: StatsTable, sort: str | None, top: int | None) -> Rows:
    """Return the rows of a table in their order, and what is not shown as one row."""
    found = table.sorted(sort)
    top = len(found) if top is None else top
    rest = folded(found[top:], table.others)
    rows: list[tuple[Key | str, Tally]] = list(found[:top])
    if rest is not None:
        rows.append((f"({len(found) - top:,} others)" if table.others is None else "(others)", rest))
    return rows


class StatisticsSink(Sink):
    """Counts exchanges; what a process counts is a few rows, which are added to those before."""

    most = 4096

    def __init__(self, runner: Runner, statistics: Statistics) -> None:
        self._runner, self._statistics = runner, statistics

    def show(self, exchanges: Sequence[Exchange]) -> None:
        """Count exchanges."""
        self._statistics.take(exchanges, self._runner.findings.note)

    def make(self, exchanges: Sequence[Exchange], show: Callable[[bytes], Any]) -> list[dict[Key, Tally]]:
        """Return the rows of exchanges."""
        with self._statistics.separate() as tables:
            self.show(exchanges)
        return tables

    def take(self, result: list[dict[Key, Tally]]) -> None:
        """Add rows."""
        self._statistics.merge(result)
