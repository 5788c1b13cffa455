"""What stands out in the traffic, asked for in SQL: who gets errors, late answers, rebalances by name, what is odd.

Normal steps of protocols are no errors here, and what a request asked the broker to wait is no delay.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from ..tables.group_questions import FENCED
from .ask import Ask
from .facts import ERRORS, FactRow, Listing, label, listing

LATE = 100_000
"""Microseconds beyond what was asked to wait, from which on an answer stands out."""
MOST_WORTH = 15
"""Exchanges of one kind that are worth looking at."""
MOST_EVENTS = 5000
"""Of groups, looked through for names."""
WHERE = "number, capture, connection_id, connection, client_id, api, request_time, latency_us"


class Worth(NamedTuple):
    """An exchange worth looking at, and why; what tables do not tell is None."""

    why: str
    number: int | None
    capture: str
    connection_id: int
    connection: str | None
    client_id: str | None
    api: str | None
    time: int
    latency: int | None


class Erring(NamedTuple):
    """Errors of one kind that a client got; `places` are topics, each with its partitions."""

    client_id: str | None
    host: str
    error: str
    api: str | None
    times: int
    first: int
    last: int
    places: dict[str, list[int]]


def errors_by_client(ask: Ask) -> tuple[list[Erring], int]:
    """Return who gets which errors, the most frequent first, and how many kinds more there are."""
    found = listing(
        ask,
        f"""
        SELECT wrong.client_id, host, error, wrong.api, COUNT(*) AS times, MIN(request_time) AS first_time,
               MAX(request_time) AS last_time
        FROM {ERRORS} JOIN connections ON wrong.capture = connections.capture
                                      AND wrong.connection_id = connections.connection_id
        GROUP BY wrong.client_id, host, error, wrong.api""",
        "times DESC, client_id, host, error, api",
    )
    places: dict[FactRow, dict[str, list[int]]] = defaultdict(dict)
    for client_id, host, error, api, topic, partition in ask("""
        SELECT DISTINCT partitions.client_id, host, error, api, COALESCE(topic, topic_id) AS topic, partition
        FROM partitions JOIN connections ON partitions.capture = connections.capture
                                        AND partitions.connection_id = connections.connection_id
        WHERE error_code <> 0 ORDER BY 5, 6"""):
        places[client_id, host, error, api].setdefault(label(topic), []).append(partition)
    return [Erring._make((*row, places[row[:4]])) for row in found.rows], found.left


def latest(ask: Ask, most: int = MOST_WORTH) -> list[tuple[int, Worth]]:
    """Return the latest answers beyond what was asked to wait, each with the microseconds that it was late."""
    rows = ask(f"SELECT late_us, {WHERE} FROM exchanges WHERE late_us IS NOT NULL AND request_time IS NOT NULL "
               f"ORDER BY late_us DESC, request_time, number LIMIT {most}")  # fmt: skip
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


def odd(ask: Ask) -> list[Worth]:
    """Return the first exchange of each kind of finding but mere notes."""
    return firsts(
        ask, "kind", f"(SELECT {WHERE.removesuffix('latency_us')} CAST(NULL AS BIGINT) AS latency_us, kind "
        "FROM problems WHERE severity <> 'note' AND request_time IS NOT NULL) AS odd",
    )  # fmt: skip


def findings(ask: Ask) -> Listing:
    """Return rows of (kind, severity, how often, one of its sentences), without mere notes."""
    return listing(
        ask, "SELECT kind, severity, COUNT(*) AS times, MIN(text) FROM problems WHERE severity <> 'note' "
        "GROUP BY kind, severity", "CASE severity WHEN 'error' THEN 0 ELSE 1 END, times DESC, kind",
    )  # fmt: skip


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
    joined = _joined(ask)
    gone: dict[Any, list[tuple[int, str]]] = defaultdict(list)
    for group, time, said in _gone(ask):
        gone[group].append((time, said))
    found, before = [], dict[Any, int]()
    for row in rebalances.rows:
        group, generation, _, ended = row[:4]
        since = before.get(group, 0)
        words = [said for time, said in gone[group] if since < time <= ended]
        before[group] = max(since, ended)
        found.append(Named._make((*row, joined.get((group, generation), []), list(dict.fromkeys(words)))))
    return found


def _joined(ask: Ask) -> dict[tuple[Any, int], list[str]]:
    """Return client ids by group and generation, in the order in which they joined."""
    found: dict[tuple[Any, int], list[str]] = defaultdict(list)
    for group, generation, client_id, _ in ask(f"""
        SELECT group_id, generation_id, client_id, MIN(time) AS since FROM groups
        WHERE event IN ('join', 'sync') AND generation_id > 0 AND time IS NOT NULL
        GROUP BY group_id, generation_id, client_id ORDER BY since, client_id LIMIT {MOST_EVENTS}"""):
        found[group, generation].append(label(client_id))
    return found


def _gone(ask: Ask) -> list[tuple[Any, int, str]]:
    """Return (group, time, what is to say) of members that left, were fenced or forgotten by the coordinator."""
    rows = ask(f"""
        SELECT group_id, time, client_id, event, reason, error FROM groups
        WHERE time IS NOT NULL AND (event = 'leave' OR error IN ({", ".join(map(repr, FENCED))}))
        ORDER BY time, group_id, client_id LIMIT {MOST_EVENTS}""")
    return [
        (group, time, f"{label(client_id)} left{f': {reason}' if reason else ''}" if event == "leave"
         else f"{label(client_id)} was rejected: {error}")
        for group, time, client_id, event, reason, error in rows
    ]  # fmt: skip
