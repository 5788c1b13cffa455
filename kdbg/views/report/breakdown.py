"""Facts once more, apart by who asked what of whom on which topics: what the page's filters choose among.

An *origin* is a client, an API, a broker and topics that occur together in exchanges. The rows of a list and the values
of a chart are made of parts, each of one origin; the page's script sums up those whose origin is chosen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .ask import Ask
from .cells import KINDS, ReportTable, TableCell
from .facts import OTHERS, label
from .page_queries import TOPIC, TableQuery

WHO = "client_id, api, broker, topics"
DIMENSIONS = ("client", "api", "broker", "topic")


class OriginValues(NamedTuple):
    """Values of one origin; `origin` is its number in `Origins.found`."""

    origin: int
    values: tuple[Any, ...]


class Origins:
    """Gives origins their numbers. Of clients, brokers and topics the `most` frequent go by name, the rest together."""

    options: dict[str, list[str]]
    found: list[tuple[int, int, int, tuple[int, ...]]]

    def __init__(self, ask: Ask, most: int) -> None:
        counts: dict[str, Counter[str]] = {name: Counter() for name in DIMENSIONS}
        for *who, times in ask(f"SELECT {WHO}, COUNT(*) FROM exchanges GROUP BY {WHO}"):
            for name, named in zip(DIMENSIONS, _named(who), strict=True):
                for each in named:
                    counts[name][each] += times
        self.options = {name: _few(found, len(found) if name == "api" else most) for name, found in counts.items()}
        self._places = {name: {each: i for i, each in enumerate(found)} for name, found in self.options.items()}
        self._numbers: dict[tuple[Any, ...], int] = {}
        self.found = []

    def number(self, who: Sequence[Any]) -> int:
        """Return the number of an origin: (client, API, broker, topics) as the tables have them."""
        client, api, broker, topics = (
            [self._place(name, each) for each in named] for name, named in zip(DIMENSIONS, _named(who), strict=True)
        )
        origin = (client[0], api[0], broker[0], tuple(sorted(set(topics))))
        number = self._numbers.setdefault(origin, len(self.found))
        if number == len(self.found):
            self.found.append(origin)
        return number

    def _place(self, name: str, value: str) -> int:
        return self._places[name].get(value, len(self.options[name]) - 1)

    def parts(self, ask: Ask, source: str, values: Sequence[str], where: str = "") -> Iterator[OriginValues]:
        """Yield what SQL says of `source` by origin; all `values` but sums, minima and maxima tell parts apart."""
        by = ", ".join((WHO, *(value for value in values if not value.startswith(AGGREGATES))))
        sql = f"SELECT {', '.join((WHO, *values))} FROM {source} {where} GROUP BY {by}"
        for row in ask(sql):
            yield OriginValues(self.number(row[:4]), tuple(row[4:]))


AGGREGATES = ("SUM(", "MIN(", "MAX(")


def _few(found: Counter[str], most: int) -> list[str]:
    """Return the most frequent names, and one that stands for all others, where there are any."""
    ordered = sorted(found, key=lambda name: (-found[name], name))
    return ordered if len(ordered) <= most else [*ordered[:most], OTHERS]


def _named(who: Sequence[Any]) -> tuple[list[str], list[str], list[str], list[str]]:
    client, api, broker, topics = who
    return [label(client)], [label(api)], [label(broker)], _topics(topics)


def _topics(value: Any) -> list[str]:
    """Return names of topics: one behind TOPIC; SQLite has lists as JSON, Spark as lists."""
    if isinstance(value, str) and value.startswith(TOPIC):
        return [value.removeprefix(TOPIC)]
    found = json.loads(value) if isinstance(value, str) else value
    return list(map(str, found or ()))


def rows_by_origin(ask: Ask, origins: Origins, table: ReportTable) -> list[dict[str, Any]]:
    """Return the parts of a table's rows by question: its columns, and [row, origin, value…] of each part."""
    titles = [column.title for column in table.columns]
    return [_answer(ask, origins, table, titles, apart) for apart in table.apart]


def _answer(ask: Ask, origins: Origins, table: ReportTable, titles: list[str], apart: TableQuery) -> dict[str, Any]:
    keyed = [titles.index(title) for title in apart.keys]
    shows = [KINDS[table.columns[place].kind] for place in keyed]
    rows: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(table.rows):
        rows.setdefault(tuple(row[place].text for place in keyed), number)
    counted: dict[Any, int] = {}
    found = []
    for origin, values in origins.parts(ask, apart.source, apart.sql, _where(apart, table, titles)):
        texts = (_text(show, value) for show, value in zip(shows, values, strict=False))
        number = rows.get(tuple(texts), -1)
        if number < 0:
            continue
        amounts = values[len(keyed) :]
        told = (counted.setdefault(amounts, len(counted)),) if apart.distinct else amounts
        found.append([number, origin, *told])
    return {"columns": [titles.index(title) for title in apart.amounts], "folds": apart.folds, "parts": found}


def _text(show: Any, value: Any) -> str:
    cell: TableCell = TableCell("–") if value is None else show(value)
    return cell.text


def _where(apart: TableQuery, table: ReportTable, titles: list[str]) -> str:
    """Return the SQL that leaves out what is in no row; "" where the question is narrow enough."""
    if not apart.narrow:
        return ""
    place = titles.index(apart.narrow)
    known = sorted({int(row[place].sort or 0) for row in table.rows})
    return f"WHERE {apart.keys[apart.narrow]} IN ({', '.join(map(str, known)) or 'NULL'})"
