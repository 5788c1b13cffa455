"""What the page's script needs to move charts and lists by client, API, broker and topic: small, whatever the traffic.

An *origin* is a client, an API, a broker and topics that occur together in exchanges. The rows of a list and the values
of a chart are made of parts, each of one origin; the page's script sums up those whose origin is chosen. Where there is
too much of it, fewer clients, brokers and topics go by name, and at last none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from .cells import KINDS, ReportTable, shown
from .charts import NAME, Chart
from .facts import OTHERS, Bins, Changes, Lag, label
from .page import Report
from .queries import DISTINCT, LAG, TOPIC, Ask, ChartQuery, TableQuery

WHO = "client_id, api, broker, topics"
DIMENSIONS = ("client", "api", "broker", "topic")


class Origins:
    """Gives origins their numbers. Of clients, brokers and topics the `most` frequent go by name, the rest together."""

    def __init__(self, ask: Ask, most: int) -> None:
        counts: dict[str, Counter[str]] = {name: Counter() for name in DIMENSIONS}
        for *who, times in ask(f"SELECT {WHO}, COUNT(*) FROM exchanges GROUP BY {WHO}"):
            for name, named in zip(DIMENSIONS, _named(who), strict=True):
                for each in named:
                    counts[name][each] += times
        self.options: dict[str, list[str]] = {}
        for name, found in counts.items():  # of many, one stands for all others
            ordered = sorted(found, key=lambda each: (-found[each], each))
            many = name != "api" and len(ordered) > most
            self.options[name] = [*ordered[:most], OTHERS] if many else ordered
        self._places = {name: {each: i for i, each in enumerate(found)} for name, found in self.options.items()}
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._known: dict[tuple[Any, ...], int] = {}
        self.found: list[tuple[int, int, int, tuple[int, ...]]] = []

    def number(self, who: Sequence[Any]) -> int:
        """Return the number of an origin: (client, API, broker, topics) as the tables have them."""
        client, api, broker, topics = (
            [self._places[name].get(each, len(self.options[name]) - 1) for each in named]
            for name, named in zip(DIMENSIONS, _named(who), strict=True)
        )
        origin = (client[0], api[0], broker[0], tuple(sorted(set(topics))))
        number = self._numbers.setdefault(origin, len(self.found))
        if number == len(self.found):
            self.found.append(origin)
        return number

    def parts(self, ask: Ask, source: str, values: Sequence[str], where: str = "") -> Iterator[tuple[int, Any]]:
        """Yield (origin, values that SQL has of it); all `values` but sums, minima and maxima tell parts apart."""
        by = ", ".join((WHO, *(value for value in values if not value.startswith(AGGREGATES))))
        sql = f"SELECT {', '.join((WHO, *values))} FROM {source} {where} GROUP BY {by} ORDER BY {by}"
        for client, api, broker, topics, *found in ask(sql):
            who = client, api, broker, tuple(topics) if isinstance(topics, list) else topics
            number = self._known.get(who)
            if number is None:
                number = self._known[who] = self.number(who)
            yield number, tuple(found)


AGGREGATES = ("SUM(", "MIN(", "MAX(")


def _named(who: Sequence[Any]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return client, API, broker and topics, of which one alone follows TOPIC."""
    client, api, broker, topics = who
    if isinstance(topics, str):
        topics = [topics.removeprefix(TOPIC)]
    return [label(client)], [label(api)], [label(broker)], list(map(str, topics or ()))


def rows_by_origin(ask: Ask, origins: Origins, table: ReportTable, apart: TableQuery) -> dict[str, Any]:
    """Return the parts of a table's rows that a question tells of: its columns, and [row, origin, value…] of each."""
    titles = [column.title for column in table.columns]
    keyed = [titles.index(title) for title in apart.keys]
    shows = [KINDS[table.columns[place].kind] for place in keyed]
    rows: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(table.rows):
        rows.setdefault(tuple(row[place].text for place in keyed), number)
    counted: dict[Any, int] = {}
    found, where = [], ""
    if apart.narrow:  # it leaves out what is in no row
        place = titles.index(apart.narrow)
        known = sorted({int(row[place].sort or 0) for row in table.rows})
        where = f"WHERE {apart.keys[apart.narrow]} IN ({', '.join(map(str, known)) or 'NULL'})"
    for origin, values in origins.parts(ask, apart.source, apart.sql, where):
        texts = ("–" if value is None else show(value).text for show, value in zip(shows, values, strict=False))
        number = rows.get(tuple(texts), -1)
        if number < 0:
            continue
        amounts = values[len(keyed) :]
        told = (counted.setdefault(amounts, len(counted)),) if DISTINCT in apart.folds else amounts
        found.append([number, origin, *told])
    return {"columns": [titles.index(title) for title in apart.amounts], "folds": apart.folds, "parts": found}


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
        parts = [part for apart in table.apart for part in apart.parts]
        asked = [rows_by_origin(self.ask, self.origins, table, part) for part in parts]
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
            way, found = moved.way, self._over(moved, chart)
        elif isinstance(moved, Lag) and moved.changes is not None:
            way, found = "running", self._running(moved.changes, chart)
        else:
            return told | (moved if isinstance(moved, dict) else {})
        self.parts += len(found)
        return told | {"way": way, "parts": [[*place, amount] for place, amount in found.items()]}

    def _over(self, over: ChartQuery, chart: Chart) -> dict[tuple[Any, ...], int]:
        """Return the amount of each part, by (origin, bin, series or number)."""
        names = {key.name: i for i, key in enumerate(chart.keys)}
        found: dict[tuple[Any, ...], int] = defaultdict(int)
        for origin, (bin, name, amount) in self.origins.parts(
            self.ask, over.source, over.sql(self.bins.of("request_time"), self.digits)
        ):
            place = name if over.way == "percentiles" else names.get(named(name), names.get(OTHERS, 0))
            found[origin, bin, place] += amount or 0
        return found

    def _running(self, changes: Changes, chart: Chart) -> dict[tuple[Any, ...], int]:
        """Return by how much each part grows, by (origins, bin, series)."""
        names = {key.name: i for i, key in enumerate(chart.keys)}
        whose: dict[tuple[str, ...], set[int]] = defaultdict(set)
        for origin, (group, topic, partition) in self.origins.parts(self.ask, LAG.source, LAG.sql):
            whose[shown(group), shown(topic), str(partition)].add(origin)
        found: dict[tuple[Any, ...], int] = defaultdict(int)
        for place, grows in changes.items():
            origins = tuple(sorted(whose[place]))
            for bin, name, grown in grows:
                if named(name) in names:
                    found[origins, bin, names[named(name)]] += grown
        return found


def named(name: object) -> str:
    """Return a name as the keys of charts have it."""
    return shown(label(name), NAME)
