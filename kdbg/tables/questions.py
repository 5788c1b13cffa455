"""Questions that are asked often, ready to ask: each a name, a line that says what it answers, and its SQL.

Spark and DuckDB answer the same text alike. Functions that only Spark has are macros in DuckDB (kdbg/query/macros.py);
where the two differ otherwise, the text says what it wants: arrays are taken apart by `posexplode`, never by an index.
The tables are those of kdbg/tables/columns.py. A topic goes by its name, or by its id where no capture tells the name.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """What it answers, in a line; and how it is asked."""

    about: str
    sql: str


QUESTIONS: dict[str, Question] = {
    "latency": Question(
        "how long answers take, by API, the slowest first",
        """
SELECT api, COUNT(*) AS answered,
    approx_percentile(latency_us, 0.5) / 1000 AS p50_ms,  -- nearest rank
    approx_percentile(latency_us, 0.95) / 1000 AS p95_ms,
    approx_percentile(latency_us, 0.99) / 1000 AS p99_ms,
    MAX(latency_us) / 1000 AS max_ms
FROM exchanges
WHERE latency_us IS NOT NULL
GROUP BY api
ORDER BY p99_ms DESC, api
""",
    ),
    "errors": Question(
        "which errors brokers answered with, by API, code and topic",
        """
WITH told AS (
    SELECT api, error_code, error, COALESCE(topic, topic_id) AS topic FROM partitions WHERE error_code <> 0
)
SELECT api, error_code, error, topic, SUM(times) AS times
FROM (
    SELECT api, code AS error_code, get(errors, CAST(place AS INT)) AS error,
        CASE WHEN size(topics) = 1 AND parted IS NULL THEN get(topics, 0) END AS topic, 1 AS times
    FROM exchanges
        LEFT JOIN (SELECT DISTINCT api AS parted FROM told) AS others ON api = parted,
        LATERAL posexplode(error_codes) AS found(place, code)
    UNION ALL  -- what a partition tells counts with its topic,
    SELECT *, 1 FROM told
    UNION ALL  -- and not with its exchange again
    SELECT api, error_code, error, NULL, -1 FROM told
)
GROUP BY api, error_code, error, topic
HAVING SUM(times) > 0
ORDER BY times DESC, api, error_code, topic
""",
    ),
    "throughput": Question(
        "what each minute carried, by API and, in records, by topic",
        """
SELECT date_trunc('minute', request_time) AS minute, api, CAST(NULL AS STRING) AS topic, COUNT(*) AS exchanges,
    SUM(COALESCE(request_bytes, 0) + COALESCE(response_bytes, 0)) AS bytes,
    CAST(NULL AS BIGINT) AS records, CAST(NULL AS BIGINT) AS record_bytes
FROM exchanges
GROUP BY 1, 2
UNION ALL
SELECT date_trunc('minute', request_time), api, COALESCE(topic, topic_id),
    COUNT(DISTINCT (capture, connection_id, request_time, correlation_id)), NULL, SUM(records), SUM(bytes)
FROM partitions
WHERE bytes IS NOT NULL
GROUP BY 1, 2, 3
ORDER BY minute, api, topic NULLS FIRST
""",
    ),
    "lag": Question(
        "how far groups are behind: the end of the log less the last commit",
        """
WITH told AS (
    SELECT *, COALESCE(topic, topic_id) AS log FROM partitions WHERE COALESCE(error_code, 0) = 0
),
ends AS (
    SELECT log, partition, MAX(GREATEST(
        CASE WHEN api = 'Fetch' THEN high_watermark END,
        CASE WHEN api IN ('Produce', 'Fetch') THEN last_offset + 1 END,
        CASE WHEN api = 'ListOffsets' AND asked_timestamp = -1 THEN told.offset END
    )) AS log_end
    FROM told
    GROUP BY log, partition
),
commits AS (
    SELECT group_id, log, partition, MAX_BY(told.offset, request_time) AS committed, MAX(request_time) AS committed_at
    FROM told
    WHERE api IN ('OffsetCommit', 'TxnOffsetCommit', 'OffsetFetch') AND told.offset >= 0
        AND group_id IS NOT NULL
    GROUP BY group_id, log, partition
)
SELECT group_id, log AS topic, partition, committed, log_end,
    CASE WHEN log_end < committed THEN 0 ELSE log_end - committed END AS lag, committed_at
FROM commits LEFT JOIN ends USING (log, partition)
ORDER BY lag DESC NULLS LAST, group_id, topic, partition
""",
    ),
    "slow-clients": Question(
        "which clients wait longest, fetches and joins aside",
        """
SELECT client_id, regexp_replace(client, ':[0-9]+$', '') AS host, COUNT(*) AS answered,
    approx_percentile(latency_us, 0.5) / 1000 AS p50_ms,
    approx_percentile(latency_us, 0.95) / 1000 AS p95_ms,
    MAX(latency_us) / 1000 AS max_ms,
    MAX_BY(api, (latency_us, api)) AS slowest, SUM(throttle_ms) AS throttled_ms
FROM exchanges
WHERE latency_us IS NOT NULL
    AND api NOT IN ('Fetch', 'ShareFetch', 'JoinGroup', 'SyncGroup')  -- brokers hold these back on purpose
GROUP BY 1, 2
ORDER BY p95_ms DESC, client_id, host
""",
    ),
    "versions": Question(
        "which software clients run, and the versions of APIs they speak",
        """
WITH spoken AS (
    SELECT capture, connection_id, collect_set(api || ' v' || api_version) AS apis
    FROM exchanges
    GROUP BY capture, connection_id
)
SELECT software_name, software_version, client_id, COUNT(*) AS connections,
    array_sort(array_distinct(flatten(collect_list(apis)))) AS apis
FROM connections LEFT JOIN spoken USING (capture, connection_id)
WHERE kafka
GROUP BY software_name, software_version, client_id
ORDER BY software_name NULLS LAST, software_version, client_id
""",
    ),
    "rebalances": Question(
        "generations of groups: when, how long, who came and went, and why",
        """
WITH events AS (
    SELECT *, unix_micros(time) + duration_us AS until,
        LAG(time) OVER (PARTITION BY broker, group_id, generation_id ORDER BY time) AS last
    FROM groups
    WHERE event IN ('join', 'sync', 'heartbeat') AND error_code = 0 AND generation_id > 0
),
told_apart AS (  -- a group that was gone counts from 1 again; 5 minutes are the default of max.poll.interval.ms
    SELECT *, COUNT(CASE WHEN time > last + INTERVAL 5 MINUTES THEN 1 END)
        OVER (PARTITION BY broker, group_id, generation_id ORDER BY time) AS again
    FROM events
),
arrived AS (  -- a member is in a generation once its sync is answered; without syncs, once it is told of it
    SELECT broker, group_id, generation_id, again, member_id, MIN(time) AS began, BOOL_OR(event = 'join') AS by_join,
        COALESCE(MAX(CASE WHEN event = 'sync' THEN until END), MIN(until)) AS until,
        MIN(time) = MIN(MIN(time)) OVER (PARTITION BY broker, group_id, member_id) AS new
    FROM told_apart
    GROUP BY broker, group_id, generation_id, again, member_id
),
generations AS (
    SELECT broker, group_id, generation_id, again, MIN(began) AS began, MAX(until) AS until, COUNT(*) AS members,
        COUNT(CASE WHEN new THEN 1 END) AS joined, BOOL_OR(by_join) AS by_join,
        LAG(MIN(began)) OVER (PARTITION BY broker, group_id ORDER BY MIN(began)) AS before
    FROM arrived
    GROUP BY broker, group_id, generation_id, again
)
SELECT now.group_id, now.generation_id, began, (until - unix_micros(began)) / 1000 AS duration_ms,
    now.members, joined, COUNT(CASE WHEN event = 'leave' THEN 1 END) AS departed,
    array_join(array_sort(collect_set(NULLIF(reason, ''))), '; ') AS reasons
FROM generations AS now LEFT JOIN groups AS told
    ON now.broker = told.broker AND now.group_id = told.group_id AND error_code = 0 AND (
        event = 'join' AND told.generation_id = now.generation_id AND time >= began AND unix_micros(time) <= until
        OR event = 'leave' AND time < began AND (before IS NULL OR time >= before)
    )
WHERE by_join OR (again = 0 AND before IS NOT NULL)  -- else the captures begin after it
GROUP BY now.broker, now.group_id, now.generation_id, began, until, now.members, joined
ORDER BY began, group_id, generation_id
""",
    ),
    "top-topics": Question(
        "which topics carry most bytes, with the records in and out",
        """
SELECT COALESCE(topic, topic_id) AS topic, COUNT(DISTINCT partition) AS partitions,
    SUM(CASE WHEN api = 'Produce' THEN records ELSE 0 END) AS records_in,
    SUM(CASE WHEN api = 'Produce' THEN bytes ELSE 0 END) AS bytes_in,
    SUM(CASE WHEN api <> 'Produce' THEN records ELSE 0 END) AS records_out,
    SUM(CASE WHEN api <> 'Produce' THEN bytes ELSE 0 END) AS bytes_out
FROM partitions
WHERE bytes IS NOT NULL AND COALESCE(error_code, 0) = 0
GROUP BY 1
ORDER BY SUM(bytes) DESC, topic
""",
    ),
    "unanswered": Question(
        "which requests got no answer, and how long they waited",
        """
SELECT request_time, api, exchanges.client_id, client, broker, correlation_id,
    (unix_micros(end_time) - unix_micros(request_time)) / 1000 AS waited_ms  -- till the end of the connection
FROM exchanges LEFT JOIN connections USING (capture, connection_id, client, broker)
WHERE answered IS NULL
ORDER BY request_time, client, correlation_id
""",
    ),
}
"""By the names that `kdbg query --ask` has for them."""
