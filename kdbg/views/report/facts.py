"""What the page tells, asked for in SQL: plain rows, each kind of fact once. Nothing here knows what a page looks like.

Latencies are counted by their first two or three digits, so that percentiles (nearest rank) are within a percent or
so however much traffic there was; a percentile over time is coarser than one over all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..tables.columns import TIMES
from .ask import POLL, STEP, Ask, Bins, rounded

FactRow = tuple[Any, ...]
MOST_ROWS = 200
"""Rows of a table; what is left out is said."""
MOST_SERIES = 6
"""Lines or colours of a chart; the rest are "others"."""
OTHERS = "others"
PERCENTS = (50, 95, 99)
COMMITS = ("OffsetCommit", "OffsetFetch", "TxnOffsetCommit")
"""The APIs that tell what a group committed."""


@dataclass
class Listing:
    """The first rows of a table in its own order, and how many more there are."""

    rows: list[FactRow]
    left: int = 0


@dataclass
class Series:
    """Numbers over time, by name, the largest first: a number for each bin, None where there is none."""

    bins: Bins
    lines: dict[str, list[float | None]] = field(default_factory=dict)

    def at(self, name: str, i: int, value: float) -> None:
        self.lines.setdefault(name, [None] * self.bins.many)[i] = value


class Total(NamedTuple):
    """The whole in numbers."""

    first: int
    last: int
    exchanges: int
    bytes: int
    erroneous: int
    unanswered: int
    connections: int
    clients: int


class Heat(NamedTuple):
    """How many answers took how long: `counts[row][bin]`; each row begins with the microseconds in `edges`."""

    edges: list[int]
    counts: list[list[int]]


EDGES = (0, *(step * 10**power for power in range(1, 9) for step in (1, 2, 5)))
_ANSWERED = "latency_us IS NOT NULL AND request_time IS NOT NULL"
ANSWERS, POLLS = f"{_ANSWERED} AND NOT {POLL}", f"{_ANSWERED} AND {POLL}"
"""SQL: answers that come as soon as they can, and those to long polls, which brokers hold back."""
TIMED = "broker_us IS NOT NULL"
"""SQL: exchanges of which it is known where their time went."""
ERRORS = f"(SELECT * FROM errors WHERE NOT {STEP}) AS wrong"
STEPS = f"(SELECT * FROM errors WHERE {STEP}) AS steps"
"""SQL: errors but normal steps of protocols, and those steps, to ask for."""


def total(ask: Ask) -> Total | None:
    """Return totals over all exchanges; None where there is none."""
    [row] = ask("""
        SELECT MIN(request_time), MAX(request_time), COUNT(*),
               COALESCE(SUM(COALESCE(request_bytes, 0) + COALESCE(response_bytes, 0)), 0),
               SUM(CASE WHEN answered IS NULL THEN 1 ELSE 0 END)
        FROM exchanges""")
    first, last, exchanges, size, unanswered = row
    if not exchanges or first is None:
        return None
    [(erroneous,)] = ask(f"""
        SELECT COUNT(*) FROM (SELECT DISTINCT capture, connection_id, request_packet, response_packet, correlation_id,
                                              request_time FROM {ERRORS}) AS with_errors""")
    [(connections, clients)] = ask("SELECT COUNT(*), COUNT(DISTINCT host) FROM connections WHERE exchanges > 0")
    return Total(first, last, exchanges, size, erroneous, unanswered, connections, clients)


def listing(ask: Ask, sql: str, order: str, most: int = MOST_ROWS) -> Listing:
    """Return the first `most` rows of an answer."""
    rows = list(
        ask(f"SELECT answer.*, COUNT(*) OVER () AS all_rows FROM ({sql}) AS answer ORDER BY {order} LIMIT {most}")
    )
    return Listing([row[:-1] for row in rows], rows[0][-1] - len(rows) if rows else 0)


def over_time(ask: Ask, bins: Bins, name: str, amount: str, source: str) -> Series:
    """Return `amount` by `name` in each bin; all but the largest few names are put together."""
    where, bin = "request_time IS NOT NULL", bins.of("request_time")
    largest = ask(f"SELECT {name}, {amount} AS amount FROM {source} WHERE {where} GROUP BY {name} "
                  f"ORDER BY amount DESC, {name} LIMIT {MOST_SERIES + 1}")  # fmt: skip
    names = [row[0] for row in largest]
    named = names if len(names) <= MOST_SERIES else names[:MOST_SERIES]
    series = Series(bins, {label(each): [0] * bins.many for each in named})
    for each, i, value in ask(f"SELECT {name}, {bin}, {amount} FROM {source} WHERE {where} GROUP BY 1, 2"):
        line = series.lines.setdefault(label(each) if each in named else OTHERS, [0] * bins.many)
        line[i] = (line[i] or 0) + (value or 0)
    return series


def label(name: Any) -> str:
    return "unknown" if name is None else str(name)


def percentiles(counts: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the PERCENTS percentiles of numbers given as (number, how often), by nearest rank."""
    ordered = sorted(counts)
    whole = sum(count for _, count in ordered)
    found: list[int] = []
    so_far = 0
    for number, count in ordered:
        so_far += count
        while len(found) < len(PERCENTS) and so_far * 100 >= PERCENTS[len(found)] * whole:
            found.append(number)
    return tuple(found)


def by_api(ask: Ask) -> Listing:
    """Return rows of (API, exchanges, request bytes, response bytes, error codes, unanswered)."""
    errors: dict[Any, int] = dict(ask(f"SELECT api, COUNT(*) FROM {ERRORS} GROUP BY api"))
    found = ask("""
        SELECT api, COUNT(*) AS exchanges, SUM(request_bytes), SUM(response_bytes),
               SUM(CASE WHEN answered IS NULL THEN 1 ELSE 0 END)
        FROM exchanges GROUP BY api ORDER BY exchanges DESC, api""")
    return Listing([(label(api), *amounts, errors.get(api, 0), unanswered) for api, *amounts, unanswered in found])


def latency_by_api(ask: Ask, which: str = ANSWERS) -> Listing:
    """Return rows of (API, answered, PERCENTS of latency, longest, longest beyond what was asked to wait)."""
    taken: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    where = f"FROM exchanges WHERE {which}"
    for api, latency, count in ask(f"SELECT api, {rounded('latency_us', 3)}, COUNT(*) {where} GROUP BY 1, 2"):
        taken[api].append((latency, count))
    found = ask(f"SELECT api, COUNT(*) AS times, MAX(latency_us), MAX(late_us) {where} GROUP BY api "
                "ORDER BY times DESC, api")  # fmt: skip
    return Listing([(label(api), times, *percentiles(taken[api]), *longest) for api, times, *longest in found])


def latencies(ask: Ask, bins: Bins, which: str = ANSWERS) -> tuple[Series, Heat]:
    """Return percentiles of latency over time, and how many answers took how long."""
    taken: dict[int, list[tuple[int, int]]] = defaultdict(list)
    sql = f"SELECT {bins.of('request_time')} AS bin, {rounded('latency_us', 2)} AS latency, COUNT(*) FROM exchanges "
    for i, latency, count in ask(f"{sql} WHERE {which} GROUP BY 1, 2"):
        taken[i].append((latency, count))
    lines, counts = Series(bins), {edge: [0] * bins.many for edge in EDGES}
    for i, found in sorted(taken.items()):
        for percent, value in zip(PERCENTS, percentiles(found), strict=False):
            lines.at(f"p{percent}", i, value)
        for latency, count in found:
            counts[max(edge for edge in EDGES if edge <= max(latency, 0))][i] += count
    full = [edge for edge in EDGES if any(counts[edge])]
    edges = [edge for edge in EDGES if full and full[0] <= edge <= full[-1]]
    return lines, Heat(edges, [counts[edge] for edge in edges])


def spent(ask: Ask, by: str = "api") -> Listing:
    """Return rows of (API, or `by` that, answered, then the microseconds in all of each of TIMES)."""
    sums = ", ".join(f"SUM({column}) AS {column}" for column in TIMES)
    found = ask(f"SELECT {by}, COUNT(*) AS times, {sums} FROM exchanges WHERE {TIMED} GROUP BY {by} "
                f"ORDER BY SUM(latency_us) DESC, {by}")  # fmt: skip
    rows = [(label(name), *rest) for name, *rest in found]
    return Listing(rows[:MOST_ROWS], len(rows[MOST_ROWS:]))


def errors_by_api(ask: Ask, source: str = ERRORS) -> Listing:
    """Return rows of (error, API, how often, first, last)."""
    return listing(ask, "SELECT error, api, COUNT(*) AS times, MIN(request_time) AS first_time, MAX(request_time) AS "
                   f"last_time FROM {source} GROUP BY error, api", "times DESC, error, api")  # fmt: skip


def errors_by_topic(ask: Ask) -> Listing:
    """Return rows of (topic, error, API, how often, partitions)."""
    return listing(
        ask,
        f"""
        SELECT COALESCE(topic, topic_id) AS topic, error, api, COUNT(*) AS times, COUNT(DISTINCT partition)
        FROM partitions WHERE error_code <> 0 AND NOT {STEP} GROUP BY 1, 2, 3""",
        "times DESC, topic, error, api",
    )


MOVED = {
    "accepted": "api = 'Produce' AND error_code = 0",
    "rejected": "api = 'Produce' AND error_code <> 0",
    "unacknowledged": "api = 'Produce' AND error_code IS NULL",
    "fetched": "api = 'Fetch'",
}
"""What becomes of records, in SQL: of what nobody answered for (acks=0, or no answer in the capture) none can tell."""


def topics(ask: Ask) -> Listing:
    """Return rows of (topic, partitions, records and bytes of each of MOVED, errors)."""
    columns = ", ".join(f"SUM(CASE WHEN {which} THEN {amount} END) AS {amount}_{name}"
                        for name, which in MOVED.items() for amount in ("records", "bytes"))  # fmt: skip
    return listing(
        ask,
        f"""
        SELECT COALESCE(topic, topic_id) AS topic, COUNT(DISTINCT partition) AS partitions, {columns},
               SUM(CASE WHEN error_code <> 0 AND NOT {STEP} THEN 1 ELSE 0 END) AS errors,
               SUM(COALESCE(bytes, 0)) AS all_bytes
        FROM partitions GROUP BY 1""",
        "all_bytes DESC, topic",
    )


def clients(ask: Ask) -> Listing:
    """(client id, software, its version, mechanism, hosts, connections, exchanges, bytes, first, last)."""
    return listing(ask, """
        SELECT client_id, software_name, software_version, MAX(mechanism), COUNT(DISTINCT host), COUNT(*),
               SUM(exchanges) AS exchanges, SUM(bytes), MIN(start_time), MAX(end_time)
        FROM connections WHERE exchanges > 0 GROUP BY client_id, software_name, software_version""",
                   "exchanges DESC, client_id, software_name, software_version")  # fmt: skip


def rebalances(ask: Ask) -> Listing:
    """(group, generation, begins, ends, members, a reason that a member gave), in the order of time.

    A rebalance is a generation: from the first JoinGroup that leads to it until the last SyncGroup of it is answered;
    in the newer protocols, the members that joined at an epoch. Captures and coordinators are told apart: there may
    be several groups of a name.
    """
    found = listing(
        ask,
        """
        SELECT group_id, generation_id, MIN(time) AS begins, MAX(time + COALESCE(duration_us, 0)) AS ends,
               COUNT(DISTINCT member_id), MAX(reason)
        FROM groups WHERE event IN ('join', 'sync') AND generation_id > 0 AND time IS NOT NULL
        GROUP BY group_id, generation_id, capture, broker""",
        "ends - begins DESC, group_id, generation_id",
    )
    return Listing(sorted(found.rows, key=lambda row: row[2]), found.left)


def problems(ask: Ask) -> Listing:
    """Return rows of (severity, kind, what, API, how often, first)."""
    return listing(ask, "SELECT severity, kind, text, api, COUNT(*) AS times, MIN(request_time) FROM problems "
                   "GROUP BY severity, kind, text, api",
                   "CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, times DESC, kind, text, api",
                   )  # fmt: skip


def undecoded(ask: Ask) -> int:
    """Count the problems that say that something could not be decoded."""
    [(count,)] = ask("SELECT COUNT(*) FROM problems WHERE severity = 'error'")
    return int(count)


def files(ask: Ask) -> Listing:
    """Return rows of (file, packets, bytes, first, last, what is wrong with it)."""
    return listing(ask, "SELECT file, packets, packet_bytes, first_time, last_time, problem FROM files",
                   "first_time, file")  # fmt: skip
