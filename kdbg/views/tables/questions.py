"""Questions that are asked often, ready to ask: each a name, a line that says what it answers, and its SQL.

Spark and DuckDB answer the same text alike. Functions that only Spark has are macros in DuckDB (scale/query/macros.py);
where the two differ otherwise, the text says what it wants: arrays are taken apart by `posexplode`, never by an index.
The tables are those of columns.py. A topic goes by its name, or by its id where no capture tells the name.
"""

from __future__ import annotations

from typing import NamedTuple

from .group_questions import GENERATIONS, REBALANCES


class Question(NamedTuple):
    """What it answers, in a line; and how it is asked."""

    about: str
    sql: str


QUESTIONS: dict[str, Question] = {
    "latency": Question(
        "response latency by API, slowest first",
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
        "errors in responses: client, topic, count, time",
        """
WITH told AS (
    SELECT api, code AS error_code, get(errors, CAST(place AS INT)) AS error, client_id,
        get(error_topics, CAST(place AS INT)) AS topic, get(error_partitions, CAST(place AS INT)) AS partition,
        request_time
    FROM exchanges, LATERAL posexplode(error_codes) AS found(place, code)
)
SELECT api, error_code, error, client_id, topic, array_sort(collect_set(partition)) AS partitions, COUNT(*) AS times,
    MIN(request_time) AS first_time, MAX(request_time) AS last_time
FROM told
GROUP BY api, error_code, error, client_id, topic
ORDER BY times DESC, api, error_code, client_id, topic
""",
    ),
    "throughput": Question(
        "traffic per minute: bytes by API, records by topic",
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
        "consumer lag: log end offset minus last committed offset",
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
        "clients with the highest latency, excluding long polls",
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
        "which software clients run, and the API versions they use",
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
    "rebalances": Question("group members that joined, left, timed out or were fenced, and why", REBALANCES),
    "generations": Question("group generations: start, duration, members that joined and left", GENERATIONS),
    "top-topics": Question(
        "topics with the most bytes, with records produced and fetched",
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
        "requests without a response, and how long they waited",
        """
SELECT request_time, api, exchanges.client_id, client, broker, correlation_id,
    (unix_micros(end_time) - unix_micros(request_time)) / 1000 AS waited_ms  -- till the end of the connection
FROM exchanges LEFT JOIN connections USING (capture, connection_id, client, broker)
WHERE answered IS NULL
ORDER BY request_time, client, correlation_id, api, waited_ms
""",
    ),
}
"""By the names that `kdbg query --ask` has for them."""
