"""What the page's script needs to move charts and lists by client, API, broker and topic: small, whatever the traffic.

Where there is too much of it, fewer clients, brokers and topics go by name, and at last none.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .ask import Ask, Bins
from .breakdown import Origins, rows_by_origin
from .cells import ReportTable, shown
from .charts import NAME, Chart
from .facts import OTHERS, label
from .page_queries import LAG, Bars, ChartQuery, Heated, Running
from .sections import Report

ROOM = ((40, 3), (40, 2), (15, 2), (5, 2), (0, 1))
"""Clients, brokers and topics that go by name, and digits of latencies: as many as there is room for."""
MOST_PARTS = 120_000
"""Numbers of parts on a page, about four million characters before they are compressed."""


def moving(ask: Ask, report: Report) -> dict[str, Any] | None:
    """Return what a report's charts and lists are made of; None where there is no traffic, or far too much."""
    if report.bins is None:
        return None
    for most, digits in ROOM:
        found = _Moving(ask, report, report.bins, most, digits)
        if found.parts <= MOST_PARTS:
            return found.told
    return None


class _Moving:
    """One attempt: `told` is for the page, `parts` says how many parts it has."""

    def __init__(self, ask: Ask, report: Report, bins: Bins, most: int, digits: int) -> None:
        self.ask, self.bins, self.digits, self.origins, self.parts = ask, bins, digits, Origins(ask, most), 0
        charts = [chart for section in report.sections for chart in section.charts]
        tables = [table for section in report.sections for table in section.tables]
        tables += [chart.numbers for chart in charts]
        lists = {table.caption: self._list(table) for table in [report.tiles, *tables] if table is not None}
        points = {f"point {point.section}": self._list(point.rows) for point in report.points}
        self.told = {
            "start": bins.start, "width": bins.width, "options": self.origins.options, "lists": lists | points,
            "charts": {chart.id: self._chart(chart) for chart in charts}, "origins": self.origins.found,
        }  # fmt: skip

    def _list(self, table: ReportTable) -> dict[str, Any]:
        asked = rows_by_origin(self.ask, self.origins, table)
        self.parts += sum(len(answer["parts"]) for answer in asked)
        found: dict[str, Any] = {"kinds": [column.kind for column in table.columns], "asked": asked}
        if table.histogram:
            found |= {"histogram": table.histogram, "apis": [row[0].text for row in table.rows],
                      "percents": {i: int(column.title[1:]) for i, column in enumerate(table.columns)
                                   if column.title[1:].isdigit()}}  # fmt: skip
        return found

    def _chart(self, chart: Chart) -> dict[str, Any]:
        moved = chart.moved
        told = {"kind": chart.kind, "numbers": chart.numbers.caption, "names": [key.name for key in chart.keys]}
        if isinstance(moved, ChartQuery):
            return told | {"way": moved.way, "parts": self._over(moved, chart)}
        if isinstance(moved, Running):
            return told | (
                {"way": "running", "parts": self._running(moved, chart)} if moved.changes is not None else {}
            )
        if isinstance(moved, Bars):
            return told | {"way": "bars", "rows": moved.rows}
        if isinstance(moved, Heated):
            return told | {"way": "heat", "of": moved.chart, "edges": moved.edges}
        return told

    def _over(self, over: ChartQuery, chart: Chart) -> list[list[int]]:
        """Return [origin, bin, series or number, amount] of each part."""
        names = {key.name: i for i, key in enumerate(chart.keys)}
        found: dict[tuple[int, int, int], int] = defaultdict(int)
        for origin, (bin, name, amount) in self.origins.parts(
            self.ask, over.source, over.sql(self.bins.of("request_time"), self.digits)
        ):
            place = name if over.way == "percentiles" else names.get(named(name), names.get(OTHERS, 0))
            found[origin, bin, place] += amount or 0
        self.parts += len(found)
        return [[*place, amount] for place, amount in found.items()]

    def _running(self, running: Running, chart: Chart) -> list[list[Any]]:
        """Return [origins, bin, series, by how much it grows] of each part."""
        names = {key.name: i for i, key in enumerate(chart.keys)}
        [apart] = LAG
        whose: dict[tuple[str, ...], set[int]] = defaultdict(set)
        for origin, (group, topic, partition) in self.origins.parts(self.ask, apart.source, apart.sql):
            whose[shown(group), shown(topic), str(partition)].add(origin)
        found: dict[tuple[tuple[int, ...], int, int], int] = defaultdict(int)
        for place, changes in (running.changes or {}).items():
            origins = tuple(sorted(whose[place]))
            for bin, name, grown in changes:
                if named(name) in names:
                    found[origins, bin, names[named(name)]] += grown
        self.parts += len(found)
        return [[*place, amount] for place, amount in found.items()]


def named(name: object) -> str:
    """Return a name as the keys of charts have it."""
    return shown(label(name), NAME)
