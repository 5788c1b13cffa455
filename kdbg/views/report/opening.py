"""How the page opens: what stands out, in a few lines each, and the exchanges that are worth looking at.

Normal steps of protocols are no errors here, and what a request asked the broker to wait is no delay.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ...protocol.findings.amounts import count
from ..tables.questions import FENCED
from . import queries
from .cells import Listing, ReportTable, Row, duration, shown, table
from .facts import label, listed
from .queries import ERRORS, Ask, TableQuery

LATE = 100_000
"""Microseconds beyond what was asked to wait, from which on an answer stands out."""
MOST_WORTH = 15
"""Exchanges of one kind that are worth looking at."""
MOST_EVENTS = 5000
"""Of groups, looked through for names."""
WHERE = "number, run, capture, connection_uid, connection, client_id, api, request_time, latency_us"


class Worth(NamedTuple):
    """An exchange worth looking at, and why; what tables do not tell is None."""

    why: str
    number: int | None
    run: str | None
    capture: str
    connection_uid: str
    connection: str | None
    client_id: str | None
    api: str | None
    time: int
    latency: int | None


def latest(ask: Ask) -> list[tuple[int, Worth]]:
    """Return the latest answers beyond what was asked to wait, each with the microseconds that it was late."""
    rows = ask(f"SELECT late_us, {WHERE} FROM exchanges WHERE late_us IS NOT NULL AND request_time IS NOT NULL "
               f"ORDER BY late_us DESC, request_time, number LIMIT {MOST_WORTH}")  # fmt: skip
    return [(row[0], Worth("", *row[1:])) for row in rows]


def firsts(ask: Ask, why: str, source: str) -> list[Worth]:
    """Return the first exchange of each kind of trouble: `why` of an API and a client; the most frequent kinds."""
    rows = ask(f"""
        SELECT why, {WHERE} FROM (
            SELECT {why} AS why, {WHERE},
                   ROW_NUMBER() OVER (PARTITION BY {why}, api, client_id ORDER BY request_time, number) AS nth,
                   COUNT(*) OVER (PARTITION BY {why}, api, client_id) AS times
            FROM {source}) AS numbered
        WHERE nth = 1 ORDER BY times DESC, request_time, why LIMIT {MOST_WORTH}""")
    return [Worth(*row) for row in rows]


class Named(NamedTuple):
    """A generation of a group, with the names of who joined it, in their order, and of who had gone before."""

    group: str | None
    generation: int
    began: int
    ended: int
    members: int
    reason: str | None
    joined: list[str]
    gone: list[str]


def named(ask: Ask, rebalances: Listing) -> list[Named]:
    """Return rebalances with names; what went before a generation is taken to have led to it."""
    joined: dict[tuple[Any, int], list[str]] = defaultdict(list)
    for group, generation, client_id, _ in ask(f"""
        SELECT group_id, generation_id, client_id, MIN(time) AS since FROM groups
        WHERE event IN ('join', 'sync') AND generation_id > 0 AND time IS NOT NULL
        GROUP BY group_id, generation_id, client_id ORDER BY since, client_id LIMIT {MOST_EVENTS}"""):
        joined[group, generation].append(label(client_id))
    gone: dict[Any, list[tuple[int, str]]] = defaultdict(list)
    for group, time, client_id, event, reason, error in ask(f"""
        SELECT group_id, time, client_id, event, reason, error FROM groups
        WHERE time IS NOT NULL AND (event = 'leave' OR error IN ({", ".join(map(repr, FENCED))}))
        ORDER BY time, group_id, client_id, event, reason, error LIMIT {MOST_EVENTS}"""):
        said = f"left{f': {reason}' if reason else ''}" if event == "leave" else f"was rejected: {error}"
        gone[group].append((time, f"{label(client_id)} {said}"))
    found, before = [], dict[Any, int]()
    for row in rebalances.rows:
        group, generation, _, ended = row[:4]
        since = before.get(group, 0)
        words = [said for time, said in gone[group] if since < time <= ended]
        before[group] = max(since, ended)
        found.append(Named._make((*row, joined.get((group, generation), []), list(dict.fromkeys(words)))))
    return found


MOST_LINES = 30
"""Of one point, for filters to choose among; the page shows the first few, and says where the rest is."""
MOST_NAMES = 4
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
    rows, left = (found := listed(ask, queries.ERRORS_BY_CLIENT)).rows, found.left
    if not rows:
        return None
    places: dict[Row, dict[str, list[int]]] = defaultdict(dict)
    for *key, topic, partition in ask("""
        SELECT DISTINCT partitions.client_id, host, error, api, COALESCE(topic, topic_id) AS topic, partition
        FROM partitions JOIN connections USING (connection_uid)
        WHERE error_code <> 0 ORDER BY 5, 6"""):
        places[tuple(key)].setdefault(label(topic), []).append(partition)
    lines = []
    for client_id, host, error, api, times, *_ in rows[:MOST_LINES]:
        named, said = places[client_id, host, error, api], []
        for topic, partitions in list(named.items())[:2]:
            few = ", ".join(str(each) for each in sorted(partitions)[:MOST_NAMES])
            said.append(f"{_name(topic)}/{few}{'…' if len(partitions) > MOST_NAMES else ''}")
        of = f": {', '.join(said)}{' …' if len(named) > 2 else ''}" if said else ""
        lines.append(OpeningLine(f"{_name(client_id)} ({host}): {error} × ", times, f" in {label(api)}{of}"))
    title = f"{'more than ' if left else ''}{count(sum(row[4] for row in rows), 'error')} from brokers"
    counted = _rows(queries.ERRORS_BY_CLIENT.asked[0], (row[:5] for row in rows))
    return Point("error", title, "errors", counted, "error from a broker", "errors from brokers", lines,
                 len(rows) + left - len(lines))  # fmt: skip


def late(ask: Ask) -> Point | None:
    """Tell of the latest answers."""
    rows = latest(ask)
    found = [(time, row) for time, row in rows if time >= LATE]
    if not found:
        return None
    lines = []
    for time, row in found[:MOST_LINES]:
        where = "" if row.number is None else f" ({row.connection}, #{row.number})"  # of a large capture in tables
        in_all = f", latency {duration(row.latency)}" if row.latency is not None and row.latency > time else ""
        lines.append(OpeningLine(f"{label(row.api)} of {_name(row.client_id)}{where}: {duration(time)}{in_all}"))
    title = f"Slow responses, up to {duration(found[0][0])} above the allowed wait"
    [(many,)] = ask(f"SELECT COUNT(*) FROM exchanges WHERE request_time IS NOT NULL AND late_us >= {LATE}")
    of = _rows(queries.LATE, ((row.connection, label(row.api), row.time, 1) for _, row in found))
    return Point("warning", title, "latency", of, "of the slowest responses", "of the slowest responses", lines,
                 many - len(lines))  # fmt: skip


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
    of = _rows(queries.MOVED_GROUPS, ((each[0].group, len(each)) for each in busiest))
    return Point("warning", count(len(rebalances), "rebalance"), "rebalances", of, "rebalance", "rebalances", lines,
                 len(busiest) - len(lines))  # fmt: skip


def missing(ask: Ask, unanswered: int) -> Point | None:
    """Tell which requests got no answer."""
    if not unanswered:
        return None
    found = listed(ask, queries.UNANSWERED_REQUESTS)
    lines = [OpeningLine(f"{label(api)} of {_name(client)}: ", times) for api, client, times in found.rows[:MOST_LINES]]
    what = ("request without a response", "requests without a response")
    return Point("warning", f"{count(unanswered, 'request')} without a response", "traffic",
                 _rows(queries.UNANSWERED_REQUESTS.asked[0], found.rows), *what, lines,
                 len(found.rows) + found.left - len(lines))  # fmt: skip


def odd(ask: Ask) -> Point | None:
    """Tell what was odd, but for answers that are missing, which have their own point, and mere notes."""
    found = listed(ask, queries.ABOVE_NOTES).rows
    if not found:
        return None
    lines = [OpeningLine(f"{kind} × ", times, f": {shown(text)}") for kind, _, times, text in found[:MOST_LINES]]
    level = "error" if any(severity == "error" for _, severity, *_ in found) else "warning"
    of = _rows(queries.ABOVE_NOTES.asked[0], ((kind, severity, times) for kind, severity, times, _ in found))
    many, what = sum(row[2] for row in found), ("finding above a note", "findings above a note")
    return Point(level, f"{many:,} {what[many != 1]}", "problems", of, *what, lines, len(found) - len(lines))


def _rows(query: TableQuery, rows: Iterable[Sequence[Any]]) -> ReportTable:
    """Return the rows behind a point's lines, by the question that filters ask: keys, then how often."""
    times = replace(query, amounts={"times": query.amounts["times"]})
    return table("", (*query.keys, "times"), list(rows)[:MOST_LINES], [times])


def worth_looking(ask: Ask) -> ReportTable:
    """List exchanges that are worth looking at, in the order of time, each with the command that shows it."""
    late = (row._replace(why=f"{duration(time)} above the allowed wait") for time, row in latest(ask) if time >= LATE)
    odd = firsts(
        ask, "kind", f"(SELECT {WHERE.removesuffix('latency_us')} CAST(NULL AS BIGINT) AS latency_us, kind "
        "FROM problems WHERE severity <> 'note' AND request_time IS NOT NULL) AS odd",
    )  # fmt: skip
    every = [*firsts(ask, "error", ERRORS), *odd, *late]
    merged: dict[object, Worth] = {}
    for row in every:
        key = row[1:9]
        merged[key] = row._replace(why=f"{merged[key].why}, {row.why}") if key in merged else row
    titles = ("exchange", "command", "why", "client", "connection", "API", "time")
    rows = sorted(merged.values(), key=lambda row: (row.time, row.number or 0, row.why))
    paths = {(run, capture): path for run, capture, path in ask("SELECT run, capture, path FROM places")}
    cells = [(row.number, command(row.number, paths.get((row.run, row.capture), "")), row.why, label(row.client_id),
              row.connection, label(row.api), row.time) for row in rows]  # fmt: skip
    if all(row.number is None for row in rows):  # as a pipeline leaves those of large captures
        return table("Notable exchanges", titles[2:], [cell[2:] for cell in cells], [queries.WORTH])
    return table("Notable exchanges", titles, cells, [queries.WORTH])


def command(number: int | None, path: str) -> str | None:
    """Return the command that shows an exchange; None where its capture is not one file, or its number is unknown."""
    if number is None or path in ("", "-", "<stdin>") or "\\" in path:
        return None
    name = path if shlex.quote(path) == path else None
    numbered = f"{path}#{number}"
    return f"kdbg decode {numbered if name else shlex.quote(numbered)}"


def _name(name: object) -> str:
    return shown(label(name), NAME)


def _who(words: str, names: Iterable[str]) -> str:
    every = list(dict.fromkeys(names))
    more = f" and {len(every) - MOST_NAMES:,} more" if len(every) > MOST_NAMES else ""
    said = ", ".join(shown(name, NAME) for name in every[:MOST_NAMES])
    return f"{words} {said}{more}".strip() if every else ""
