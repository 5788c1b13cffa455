"""How far consumer groups are behind: asked for in SQL, as far as the traffic tells."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple, TypeAlias

from .ask import Ask, Bins
from .cells import shown
from .facts import COMMITS, MOST_ROWS, MOST_SERIES, Listing, Series, label

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

    The end of a log is a high watermark fetched, the offset behind what was produced, or the answer of ListOffsets for
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
    rows = sorted(
        ((*place, *numbers) for place, numbers in last.items()),
        key=lambda row: (-row[-1], str(row[0]), str(row[1]), row[2]),
    )
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
                                WHEN 'Produce' THEN last_offset + 1 ELSE offset END) AS log_end
            FROM partitions
            WHERE request_time IS NOT NULL AND (api = 'Fetch' AND high_watermark >= 0
                OR api = 'Produce' AND last_offset >= 0 OR api = 'ListOffsets' AND asked_timestamp = -1 AND offset >= 0)
            GROUP BY 1, 2, 3),
        commits AS (
            SELECT group_id, {topic}, {bin} AS bin, MAX_BY(offset, request_time) AS committed
            FROM partitions
            WHERE request_time IS NOT NULL AND api IN ({", ".join(map(repr, COMMITS))}) AND offset >= 0
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
