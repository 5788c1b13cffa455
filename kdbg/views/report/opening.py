"""How the page opens: what stands out, in a few lines each, and the exchanges that are worth looking at."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ...protocol.findings import Kind
from ...protocol.findings.amounts import count
from . import facts, outstanding
from . import page_queries as moves
from .ask import Ask
from .cells import ReportTable, duration, shown, table
from .outstanding import LATE, Named, Worth
from .page_queries import TableQuery

MOST_LINES = 30
"""Of one point, for filters to choose among; the page shows the first few, and says where the rest is."""
MOST_NAMES = 4
KEY_KINDS = {"connection": "text", "time": "time", "times": "count"}
NAME = 60
"""Characters of a name in a line."""


class OpeningLine(NamedTuple):
    """A line in three pieces, the middle one being how often it was, if that is said, which filters change."""

    before: str
    times: int | None = None
    after: str = ""

    @property
    def text(self) -> str:
        """The whole line."""
        return f"{self.before}{'' if self.times is None else f'{self.times:,}'}{self.after}"


@dataclass(frozen=True)
class Point:
    """One thing that stands out: `level` is error, warning or note; `section` has more of it.

    `rows` has a row for each line, with how often it was; what it counts is called `one`, or `many`.
    """

    level: str
    title: str
    section: str
    rows: ReportTable
    one: str
    many: str
    lines: list[OpeningLine] = field(default_factory=list)
    left: int = 0


def points(ask: Ask, rebalances: Sequence[Named], unanswered: int) -> list[Point]:
    """Return what stands out, the worst first; nothing where nothing does."""
    found = (erring(ask), late(ask), moved(rebalances), missing(ask, unanswered), odd(ask))
    order = ("error", "warning", "note")
    return sorted(filter(None, found), key=lambda point: order.index(point.level))


def erring(ask: Ask) -> Point | None:
    """Tell who gets errors."""
    rows, left = outstanding.errors_by_client(ask)
    if not rows:
        return None
    lines = [
        OpeningLine(f"{_name(row.client_id)} ({row.host}): {row.error} × ", row.times,
             f" in {facts.label(row.api)}{_places(row.places)}")
        for row in rows[:MOST_LINES]
    ]  # fmt: skip
    whole = sum(row.times for row in rows)
    title = f"{'more than ' if left else ''}{count(whole, 'error')} from brokers"
    of = _rows(moves.ERRORS_BY_CLIENT, ((row.client_id, row.host, row.error, row.api, row.times) for row in rows))
    return Point("error", title, "errors", of, "error from a broker", "errors from brokers", lines,
                 len(rows) + left - len(lines))  # fmt: skip


def late(ask: Ask) -> Point | None:
    """Tell of the latest answers."""
    rows = outstanding.latest(ask)
    found = [(time, row) for time, row in rows if time >= LATE]
    if not found:
        return None
    lines = [
        OpeningLine(
            f"{facts.label(row.api)} of {_name(row.client_id)}{_where(row)}: {duration(time)}{_in_all(row, time)}"
        )
        for time, row in found[:MOST_LINES]
    ]  # fmt: skip
    title = f"Slow responses, up to {duration(found[0][0])} above the allowed wait"
    [(many,)] = ask(f"SELECT COUNT(*) FROM exchanges WHERE request_time IS NOT NULL AND late_us >= {LATE}")
    of = _rows(moves.LATE, ((row.connection, facts.label(row.api), row.time, 1) for _, row in found))
    return Point("warning", title, "latency", of, "of the slowest responses", "of the slowest responses", lines,
                 many - len(lines))  # fmt: skip


def _where(row: Worth) -> str:
    """Return which exchange it is, as views have it; "" where nobody numbers them."""
    return "" if row.number is None else f" ({row.connection}, #{row.number})"


def _in_all(row: Worth, late: int) -> str:
    """Return how long an answer took that was held back at first."""
    return f", latency {duration(row.latency)}" if row.latency is not None and row.latency > late else ""


def moved(rebalances: Sequence[Named]) -> Point | None:
    """Tell which groups rebalanced, and who was in it."""
    if not rebalances:
        return None
    groups: dict[str | None, list[Named]] = {}
    for each in rebalances:
        groups.setdefault(each.group, []).append(each)
    busiest = sorted(groups.values(), key=len, reverse=True)
    lines = []
    for found in busiest[:MOST_LINES]:
        longest = max(each.ended - each.began for each in found)
        who = [words for words in (_who("joined", (name for each in found for name in each.joined)),
                                   _who("", (name for each in found for name in each.gone))) if words]  # fmt: skip
        said = f", up to {duration(longest)}; {'; '.join(who)}"
        lines.append(OpeningLine(f"{_name(found[0].group)}: ", len(found), said))
    of = _rows(moves.MOVED_GROUPS, ((each[0].group, len(each)) for each in busiest))
    return Point("warning", count(len(rebalances), "rebalance"), "rebalances", of, "rebalance", "rebalances", lines,
                 len(busiest) - len(lines))  # fmt: skip


def missing(ask: Ask, unanswered: int) -> Point | None:
    """Tell which requests got no answer."""
    if not unanswered:
        return None
    found = list(ask("SELECT api, client_id, COUNT(*) AS times FROM exchanges WHERE answered IS NULL "
                     "GROUP BY api, client_id ORDER BY times DESC, api, client_id"))  # fmt: skip
    lines = [
        OpeningLine(f"{facts.label(api)} of {_name(client)}: ", times) for api, client, times in found[:MOST_LINES]
    ]
    what = ("request without a response", "requests without a response")
    return Point("warning", f"{count(unanswered, 'request')} without a response", "traffic",
                 _rows(moves.UNANSWERED_REQUESTS, found), *what, lines, len(found) - len(lines))  # fmt: skip


def odd(ask: Ask) -> Point | None:
    """Tell what was odd, but for answers that are missing, which have their own point."""
    found = [row for row in outstanding.findings(ask).rows if Kind.named(row[0]) is not Kind.NO_RESPONSE]
    if not found:
        return None
    lines = [OpeningLine(f"{kind} × ", times, f": {shown(text)}") for kind, _, times, text in found[:MOST_LINES]]
    level = "error" if any(severity == "error" for _, severity, *_ in found) else "warning"
    of = _rows(moves.FINDINGS, ((kind, severity, times) for kind, severity, times, _ in found))
    many, what = sum(row[2] for row in found), ("finding above a note", "findings above a note")
    return Point(level, f"{many:,} {what[many != 1]}", "problems", of, *what, lines, len(found) - len(lines))


def _rows(apart: Sequence[TableQuery], rows: Iterable[Sequence[Any]]) -> ReportTable:
    """Return the rows behind a point's lines, by the questions that filters ask: keys, then how often."""
    columns = {title: KEY_KINDS.get(title, "text") for title in (*apart[0].keys, "times")}
    times = [replace(each, amounts={"times": each.amounts["times"]}) for each in apart]
    return table("", columns, list(rows)[:MOST_LINES], times)


def worth_looking(ask: Ask) -> ReportTable:
    """List exchanges that are worth looking at, in the order of time, each with the command that shows it."""
    late = (
        _because(row, f"{duration(time)} above the allowed wait")
        for time, row in outstanding.latest(ask)
        if time >= LATE
    )
    every = [*outstanding.firsts(ask, "error", facts.ERRORS), *outstanding.odd(ask), *late]
    merged: dict[object, Worth] = {}
    for row in every:
        key = row[1:8]
        merged[key] = _because(row, f"{merged[key].why}, {row.why}") if key in merged else row
    columns = {"exchange": "exchange", "command": "command", "why": "text", "client": "text",
               "connection": "text", "API": "text", "time": "time"}  # fmt: skip
    rows = sorted(merged.values(), key=lambda row: (row.time, row.number or 0, row.why))
    cells = [(row.number, command(row), row.why, facts.label(row.client_id), row.connection, facts.label(row.api),
              row.time) for row in rows]  # fmt: skip
    if all(row.number is None for row in rows):  # a pipeline's tables do not number exchanges
        columns = dict(list(columns.items())[2:])
        return table("Notable exchanges", columns, [cell[2:] for cell in cells], moves.WORTH)
    return table("Notable exchanges", columns, cells, moves.WORTH)


def _because(row: Worth, why: str) -> Worth:
    """Return the exchange with another reason to look at it."""
    return row._replace(why=why)


def command(row: Worth) -> str | None:
    """Return the command that shows an exchange; None where its capture was no file, or nobody knows its number."""
    if row.number is None or row.capture in ("-", "<stdin>") or "\\" in row.capture:
        return None
    name = row.capture if shlex.quote(row.capture) == row.capture else None
    numbered = f"{row.capture}#{row.number}"
    return f"kdbg decode {numbered if name else shlex.quote(numbered)}"


def _name(name: object) -> str:
    return shown(facts.label(name), NAME)


def _who(words: str, names: Iterable[str]) -> str:
    every = list(dict.fromkeys(names))
    more = f" and {len(every) - MOST_NAMES:,} more" if len(every) > MOST_NAMES else ""
    said = ", ".join(shown(name, NAME) for name in every[:MOST_NAMES])
    return f"{words} {said}{more}".strip() if every else ""


def _places(places: dict[str, list[int]]) -> str:
    """Return topics with their partitions, a few of each."""
    said = []
    for topic, partitions in list(places.items())[:2]:
        few = ", ".join(str(each) for each in sorted(partitions)[:MOST_NAMES])
        said.append(f"{_name(topic)}/{few}{'…' if len(partitions) > MOST_NAMES else ''}")
    return f": {', '.join(said)}{' …' if len(places) > 2 else ''}" if said else ""
