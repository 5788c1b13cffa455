"""What the page tells, asked for in SQL: plain rows, each kind of fact once. Nothing here knows what a page looks like.

Latencies are counted by their first two or three digits, so that percentiles (nearest rank) are within a percent or
so however much traffic there was; a percentile over time is coarser than one over all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .ask import Ask, Bins, rounded

FactRow = tuple[Any, ...]
MOST_ROWS = 200
"""Rows of a table; what is left out is said."""
MOST_SERIES = 6
"""Lines or colours of a chart; the rest are "others"."""
OTHERS = "others"
PERCENTS = (50, 95, 99)


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
ANSWERED = "latency_us IS NOT NULL AND request_time IS NOT NULL"


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
    [(erroneous,)] = ask("""
        SELECT COUNT(*) FROM (SELECT DISTINCT capture, connection_id, request_packet, response_packet, correlation_id,
                                              request_time FROM errors) AS with_errors""")
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
    errors: dict[Any, int] = dict(ask("SELECT api, COUNT(*) FROM errors GROUP BY api"))
    found = ask("""
        SELECT api, COUNT(*) AS exchanges, SUM(request_bytes), SUM(response_bytes),
               SUM(CASE WHEN answered IS NULL THEN 1 ELSE 0 END)
        FROM exchanges GROUP BY api ORDER BY exchanges DESC, api""")
    return Listing([(label(api), *amounts, errors.get(api, 0), unanswered) for api, *amounts, unanswered in found])


def latency_by_api(ask: Ask) -> Listing:
    """Return rows of (API, answered, PERCENTS of latency, longest)."""
    taken: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    where = f"FROM exchanges WHERE {ANSWERED}"
    for api, latency, count in ask(f"SELECT api, {rounded('latency_us', 3)}, COUNT(*) {where} GROUP BY 1, 2"):
        taken[api].append((latency, count))
    found = ask(f"SELECT api, COUNT(*) AS times, MAX(latency_us) {where} GROUP BY api ORDER BY times DESC, api")
    return Listing([(label(api), times, *percentiles(taken[api]), longest) for api, times, longest in found])


def latencies(ask: Ask, bins: Bins) -> tuple[Series, Heat]:
    """Return percentiles of latency over time, and how many answers took how long."""
    taken: dict[int, list[tuple[int, int]]] = defaultdict(list)
    sql = f"SELECT {bins.of('request_time')} AS bin, {rounded('latency_us', 2)} AS latency, COUNT(*) FROM exchanges "
    for i, latency, count in ask(f"{sql} WHERE {ANSWERED} GROUP BY 1, 2"):
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


def errors_by_api(ask: Ask) -> Listing:
    """Return rows of (error, API, how often, first, last)."""
    return listing(ask, "SELECT error, api, COUNT(*) AS times, MIN(request_time) AS first_time, MAX(request_time) AS "
                   "last_time FROM errors GROUP BY error, api", "times DESC, error, api")  # fmt: skip


def errors_by_topic(ask: Ask) -> Listing:
    """Return rows of (topic, error, API, how often, partitions)."""
    return listing(
        ask,
        """
        SELECT COALESCE(topic, topic_id) AS topic, error, api, COUNT(*) AS times, COUNT(DISTINCT partition)
        FROM partitions WHERE error_code <> 0 GROUP BY 1, 2, 3""",
        "times DESC, topic, error, api",
    )


def topics(ask: Ask) -> Listing:
    """Return rows of (topic, partitions, records and bytes produced, records and bytes fetched, errors)."""
    columns = ", ".join(f"SUM(CASE WHEN api = '{api}' THEN {amount} END) AS {amount}_{api}"
                        for api in ("Produce", "Fetch") for amount in ("records", "bytes"))  # fmt: skip
    return listing(
        ask,
        f"""
        SELECT COALESCE(topic, topic_id) AS topic, COUNT(DISTINCT partition) AS partitions, {columns},
               SUM(CASE WHEN error_code <> 0 THEN 1 ELSE 0 END) AS errors,
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


class Lag(NamedTuple):
    """Consumer lag: by group over time, and (group, topic, partition, end of the log, committed, lag) at the end."""

    groups: Series
    partitions: Listing


def lag(ask: Ask, bins: Bins) -> Lag:
    """How far behind the groups are: the end of the log, as far as it is known, less what was committed last.

    The end of a log is a high watermark fetched, the offset behind what was produced, or the answer of ListOffsets for
    the latest; between two sightings it is taken to stand still.
    """
    series = Series(bins)
    last: dict[tuple[Any, ...], tuple[int, int, int]] = {}
    behind: dict[str, int] = defaultdict(int)
    now = 0
    for i, group, topic, partition, end, committed in ask(_lag_sql(bins.of("request_time"))):
        if i != now:
            _mark(series, now, i, behind)
            now = i
        place, amount = (group, topic, partition), max(end - committed, 0)
        behind[label(group)] += amount - last.get(place, (0, 0, 0))[2]
        last[place] = end, committed, amount
    _mark(series, now, bins.many, behind)
    largest = sorted(series.lines, key=lambda name: -max(value or 0 for value in series.lines[name]))[:MOST_SERIES]
    series.lines = {name: series.lines[name] for name in largest}
    rows = sorted(
        ((*place, *numbers) for place, numbers in last.items()), key=lambda row: (-row[-1], *map(str, row[:3]))
    )
    return Lag(series, Listing(rows[:MOST_ROWS], max(len(rows) - MOST_ROWS, 0)))


def _mark(series: Series, start: int, stop: int, behind: dict[str, int]) -> None:
    """Note the lag at the end of a bin; it stands until something else is heard."""
    for group, amount in behind.items():
        for i in range(start, stop):
            series.at(group, i, amount)


def _lag_sql(bin: str) -> str:
    """(bin, group, topic, partition, end of the log, committed), in the order of bins.

    Where a group committed nothing in a bin, its last commit still stands: commits are counted, and each row takes the
    offset that stands in the row where its count was reached.
    """
    topic = "COALESCE(topic, topic_id) AS topic, partition"
    return f"""
        WITH ends AS (
            SELECT {topic}, {bin} AS bin,
                   MAX(CASE api WHEN 'Fetch' THEN high_watermark
                                WHEN 'Produce' THEN last_offset + 1 ELSE offset END) AS log_end
            FROM partitions
            WHERE request_time IS NOT NULL AND (api = 'Fetch' AND high_watermark >= 0
                OR api = 'Produce' AND last_offset >= 0 OR api = 'ListOffsets' AND asked_timestamp = -1 AND offset >= 0)
            GROUP BY 1, 2, 3),
        commits AS (
            SELECT group_id, {topic}, {bin} AS bin, MAX_BY(offset, request_time) AS committed
            FROM partitions
            WHERE request_time IS NOT NULL AND api IN ('OffsetCommit', 'OffsetFetch', 'TxnOffsetCommit') AND offset >= 0
                AND COALESCE(error_code, 0) = 0 AND group_id IS NOT NULL
            GROUP BY 1, 2, 3, 4),
        followed AS (SELECT DISTINCT group_id, topic, partition FROM commits),
        seen AS (
            SELECT group_id, ends.topic, ends.partition, bin, log_end, CAST(NULL AS BIGINT) AS committed
            FROM ends JOIN followed ON ends.topic = followed.topic AND ends.partition = followed.partition
            UNION ALL
            SELECT group_id, topic, partition, bin, CAST(NULL AS BIGINT), committed FROM commits),
        merged AS (
            SELECT group_id, topic, partition, bin, MAX(log_end) AS log_end, MAX(committed) AS committed
            FROM seen GROUP BY 1, 2, 3, 4),
        known AS (
            SELECT merged.*, MAX(log_end) OVER so_far AS end_so_far, COUNT(committed) OVER so_far AS commits_so_far
            FROM merged WINDOW so_far AS (PARTITION BY group_id, topic, partition ORDER BY bin)),
        carried AS (
            SELECT bin, group_id, topic, partition, end_so_far,
                   MAX(committed) OVER (PARTITION BY group_id, topic, partition, commits_so_far) AS committed_last
            FROM known)
        SELECT * FROM carried WHERE end_so_far IS NOT NULL AND committed_last IS NOT NULL ORDER BY bin"""
