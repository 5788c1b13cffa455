"""What the page tells, asked for in SQL: plain rows, each kind of fact once. Nothing here knows what a page looks like.

Latencies are counted by their first two or three digits, so that percentiles (nearest rank) are within a percent or
so however much traffic there was; a percentile over time is coarser than one over all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from .cells import Listing, shown
from .queries import ANSWERS, COMMITS, ERRORS, Ask, ChartQuery, ListQuery, rounded, unknown_first

MOST_ROWS = 200
"""Rows of a table; what is left out is said."""
MOST_SERIES = 6
"""Lines or colours of a chart; the rest are "others"."""
OTHERS = "others"
PERCENTS = (50, 95, 99)
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
WIDTHS = (
    *(step * 10**power for power in range(3, 6) for step in (1, 2, 5)),
    *(step * SECOND for step in (1, 2, 5, 10, 15, 30)), *(step * MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * HOUR for step in (1, 2, 3, 6, 12)), *(step * 10**power * DAY for power in range(7) for step in (1, 2, 5)),
)  # fmt: skip
"""What a bar of a chart over time may stand for, in microseconds: from a millisecond on, and nothing odd."""
MOST_BINS = 120


class Bins(NamedTuple):
    """Time cut into `many` pieces of `width` microseconds, from `start` on."""

    start: int
    width: int
    many: int

    @classmethod
    def over(cls, first: int, last: int) -> Bins:
        """Return at most MOST_BINS bins that cover this span; the first begins at a multiple of the width."""
        for width in WIDTHS:
            start = first - first % width
            if (last - start) // width < MOST_BINS:
                break
        return cls(start, width, (last - start) // width + 1)

    def of(self, column: str) -> str:
        """Return the SQL for the number of the bin that a point in time lies in."""
        return f"({column} - {self.start}) // {self.width}"

    @property
    def times(self) -> list[int]:
        """Return when each begins."""
        return [self.start + i * self.width for i in range(self.many)]


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
    [(erroneous,)] = ask(f"SELECT COUNT(DISTINCT exchange_uid) FROM {ERRORS}")
    [(connections, clients)] = ask("SELECT COUNT(*), COUNT(DISTINCT host) FROM connections WHERE exchanges > 0")
    return Total(first, last, exchanges, size, erroneous, unanswered, connections, clients)


def listing(ask: Ask, sql: str, order: str, most: int = MOST_ROWS) -> Listing:
    """Return the first `most` rows of an answer."""
    rows = list(
        ask(f"SELECT answer.*, COUNT(*) OVER () AS all_rows FROM ({sql}) AS answer ORDER BY {order} LIMIT {most}")
    )
    return Listing([row[:-1] for row in rows], rows[0][-1] - len(rows) if rows else 0)


def listed(ask: Ask, one: ListQuery) -> Listing:
    """Return the first rows of a list, all traffic together."""
    lead, *others = one.asked
    found, many = listing(ask, lead.whole(one.weight), one.by), len(lead.keys)
    known = [(query, {row[:many]: row[many:-1] for row in ask(query.whole())}) for query in others]
    rows = []
    for *row, _ in found.rows:
        told = dict(zip((*lead.keys, *lead.amounts), row, strict=True))
        for query, answers in known:
            told |= zip(query.amounts, answers.get(tuple(row[:many]), (0,) * len(query.amounts)), strict=True)
        rows.append(tuple(told[title] for title in one.titles if title in told))
    return Listing(rows, found.left)


def over_time(ask: Ask, bins: Bins, query: ChartQuery) -> Series:
    """Return the amounts of a chart in each bin; all but the largest few names are put together."""
    name, source, amount = query.name, query.source, query.aggregate
    largest = ask(f"SELECT {name} AS name, {amount} AS amount FROM {source} GROUP BY 1 "
                  f"ORDER BY amount DESC, {unknown_first('name')} LIMIT {MOST_SERIES + 1}")  # fmt: skip
    names = [row[0] for row in largest]
    named = names if len(names) <= MOST_SERIES else names[:MOST_SERIES]
    series = Series(bins, {label(each): [0] * bins.many for each in named})
    for each, i, value in ask(f"SELECT {name}, {bins.of('request_time')}, {amount} FROM {source} GROUP BY 1, 2"):
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


def latency_by_api(ask: Ask, one: ListQuery) -> Listing:
    """Return rows of (API, answered, PERCENTS of latency, longest …)."""
    taken: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    [query] = one.asked
    sql = f"SELECT {query.keys['API']}, {rounded('latency_us', 3)}, COUNT(*) FROM {query.source} GROUP BY 1, 2"
    for api, latency, count in ask(sql):
        taken[api].append((latency, count))
    rows = listed(ask, one).rows
    return Listing([(api, times, *percentiles(taken[api]), *longest) for api, times, *longest in rows])


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


def rebalances(ask: Ask) -> Listing:
    """(group, generation, begins, ends, members, a reason that a member gave), in the order of time.

    A rebalance is a generation: from the first JoinGroup that leads to it until the last SyncGroup of it is answered;
    in the newer protocols, the members that joined at an epoch. Captures and coordinators are distinguished: there may
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


Changes: TypeAlias = dict[tuple[str, ...], list[tuple[int, str, int]]]
"""By group, topic and partition, as the page shows them: (bin, group, by how much the lag grows)."""
MOST_CHANGES = 50_000


class Lag(NamedTuple):
    """Consumer lag: by group over time, and (group, topic, partition, end of the log, committed, lag) at the end.

    `changes` are those of each partition over time; None where there were too many of them.
    """

    groups: Series
    partitions: Listing
    changes: Changes | None = None


def lag(ask: Ask, bins: Bins) -> Lag:
    """How far behind the groups are: the end of the log, as far as it is known, less what was committed last.

    The end of a log is a high watermark fetched, the offset after what was produced, or the answer of ListOffsets for
    the latest; between two sightings it is taken to stand still.
    """
    series = Series(bins)
    last: dict[tuple[Any, ...], tuple[int, int, int]] = {}
    behind: dict[str, int] = defaultdict(int)
    changes: Changes = defaultdict(list)
    now = many = 0
    for i, group, topic, partition, end, committed in ask(_lag_sql(bins.of("request_time"))):
        if i != now:
            _mark(series, now, i, behind)
            now = i
        place, amount = (group, topic, partition), max(end - committed, 0)
        grown = amount - last.get(place, (0, 0, 0))[2]
        behind[label(group)] += grown
        changed = grown or place not in last
        many += bool(changed)
        if changed and many <= MOST_CHANGES:
            changes[shown(group), shown(topic), str(partition)].append((i, label(group), grown))
        last[place] = end, committed, amount
    _mark(series, now, bins.many, behind)
    largest = sorted(series.lines, key=lambda name: -max(value or 0 for value in series.lines[name]))[:MOST_SERIES]
    series.lines = {name: series.lines[name] for name in largest}
    rows: list[Any] = [(*place, *numbers) for place, numbers in last.items()]
    rows.sort(key=lambda row: (-row[-1], str(row[0]), str(row[1]), row[2]))
    listing = Listing(rows[:MOST_ROWS], max(len(rows) - MOST_ROWS, 0))
    return Lag(series, listing, changes if many <= MOST_CHANGES else None)


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
                                WHEN 'Produce' THEN last_offset + 1 ELSE "offset" END) AS log_end
            FROM partitions
            WHERE request_time IS NOT NULL AND (api = 'Fetch' AND high_watermark >= 0
                OR api = 'Produce' AND last_offset >= 0
                OR api = 'ListOffsets' AND asked_timestamp = -1 AND "offset" >= 0)
            GROUP BY 1, 2, 3),
        commits AS (
            SELECT group_id, {topic}, {bin} AS bin, MAX_BY("offset", ROW(request_time, "offset")) AS committed
            FROM partitions
            WHERE request_time IS NOT NULL AND api IN ({", ".join(map(repr, COMMITS))}) AND "offset" >= 0
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
        SELECT * FROM carried WHERE end_so_far IS NOT NULL AND committed_last IS NOT NULL
        ORDER BY bin, group_id, topic, partition"""
