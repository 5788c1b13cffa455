"""Questions that are asked often, ready to ask: each a name, a line that says what it answers, and its SQL.

Spark and DuckDB answer the same text alike. Functions that only Spark has are macros in DuckDB (scale/query/database);
where the two differ otherwise, the text says what it wants: arrays are taken apart by `posexplode`, never by an index.
The tables are those of columns.py. A topic goes by its name, or by its id where no capture tells the name.

The protocol does not tell of a member that timed out. What tells is the answer to the leader's JoinGroup, which names
all members of a generation: who was in the one before, is missing now, and was not seen to leave, has likely timed out
if these captures hold what it said. If they do not, it may have left where nobody looked: it is gone, that is all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

FENCED: Final = ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "FENCED_MEMBER_EPOCH", "UNRELEASED_INSTANCE_ID")
"""Errors by which a coordinator tells that it no longer counts on a member."""
UID: Final = "COALESCE(connection_uid, capture || ' ' || connection_id)"
"""What identifies a connection, in tables of kdbg 0.1 too."""

REBALANCES: Final = f"""
WITH heard AS (  -- whose a member id is
    SELECT broker, group_id, member_id, MIN(client_id) AS client_id, MAX(group_instance_id) AS instance,
        BOOL_OR(COALESCE(newcomer, FALSE)) AS new,
        MIN(CASE WHEN error_code = 0 AND generation_id > 0 THEN time END) AS since
    FROM groups
    WHERE event <> 'leave' AND member_id <> ''
    GROUP BY broker, group_id, member_id
),
static AS (
    SELECT broker, group_id, instance, MAX_BY(member_id, (since, member_id)) AS latest
    FROM heard
    WHERE instance IS NOT NULL
    GROUP BY broker, group_id, instance
),
generations AS (
    SELECT capture, broker, group_id, generation_id, MIN(unix_micros(time) + COALESCE(duration_us, 0)) AS formed
    FROM groups
    WHERE event IN ('join', 'sync', 'heartbeat') AND error_code = 0 AND generation_id > 0
    GROUP BY capture, broker, group_id, generation_id
),
leaves AS (  -- a static member may be taken out by its instance id alone
    SELECT told.capture, told.broker, told.group_id, time, reason, error_code, told.client_id AS asked_by,
        told.generation_id AS epoch, group_instance_id AS instance,
        COALESCE(NULLIF(told.member_id, ''), latest) AS member_id
    FROM groups AS told LEFT JOIN static ON told.broker = static.broker AND told.group_id = static.group_id
        AND told.group_instance_id = static.instance AND COALESCE(told.member_id, '') = ''
    WHERE event = 'leave' AND COALESCE(error_code, 0) = 0
),
listed AS (  -- the members of a generation, as its leader learns of them
    SELECT capture, broker, group_id, generation_id, formed, explode(ids) AS member_id
    FROM (
        SELECT capture, broker, group_id, generation_id, MAX_BY(member_ids, time) AS ids,
            MIN(unix_micros(time) + COALESCE(duration_us, 0)) AS formed
        FROM groups
        WHERE size(member_ids) > 0 AND error_code = 0
        GROUP BY capture, broker, group_id, generation_id
    ) AS lists
),
present AS (
    SELECT capture, broker, group_id, generation_id, member_id FROM listed
    UNION
    SELECT capture, broker, group_id, generation_id, member_id FROM groups
    WHERE event <> 'leave' AND error_code = 0 AND generation_id > 0 AND member_id <> ''
),
before AS (  -- each generation whose members are listed, and the one before it
    SELECT listed.capture, listed.broker, listed.group_id, listed.generation_id, formed,
        MAX(present.generation_id) AS previous
    FROM listed JOIN present ON listed.capture = present.capture AND listed.broker = present.broker
        AND listed.group_id = present.group_id AND present.generation_id < listed.generation_id
    GROUP BY listed.capture, listed.broker, listed.group_id, listed.generation_id, formed
),
missing AS (
    SELECT before.capture, before.broker, before.group_id, before.generation_id, formed, present.member_id,
        heard.client_id, heard.instance
    FROM before JOIN present ON before.capture = present.capture AND before.broker = present.broker
        AND before.group_id = present.group_id AND present.generation_id = previous
    LEFT JOIN heard ON before.broker = heard.broker AND before.group_id = heard.group_id
        AND present.member_id = heard.member_id
    WHERE NOT EXISTS (  -- it is there, or another that took its instance id over
        SELECT 1 FROM listed LEFT JOIN heard AS other ON listed.broker = other.broker
            AND listed.group_id = other.group_id AND listed.member_id = other.member_id
        WHERE listed.capture = before.capture AND listed.broker = before.broker AND listed.group_id = before.group_id
            AND listed.generation_id = before.generation_id
            AND (listed.member_id = present.member_id OR other.instance = heard.instance)
    ) AND NOT EXISTS (
        SELECT 1 FROM leaves WHERE leaves.broker = before.broker AND leaves.group_id = before.group_id
            AND leaves.member_id = present.member_id
    )
),
silent AS (
    SELECT missing.capture, missing.broker, missing.group_id, missing.generation_id, formed, missing.member_id,
        missing.client_id, missing.instance, MAX(time) AS last_time, MAX_BY(event, (time, event)) AS last_event,
        MAX_BY(error, (time, event, error)) AS last_error
    FROM missing LEFT JOIN groups ON missing.broker = groups.broker AND missing.group_id = groups.group_id
        AND missing.member_id = groups.member_id AND unix_micros(time) < formed
    GROUP BY missing.capture, missing.broker, missing.group_id, missing.generation_id, formed, missing.member_id,
        missing.client_id, missing.instance
),
happened AS (
    SELECT told.broker, told.group_id, told.generation_id, MIN(time) AS time,
        CASE WHEN MIN(time) > MIN(since) OR NOT BOOL_OR(new) THEN 'joined again' ELSE 'joined' END AS what,
        told.member_id, array_join(array_sort(collect_set(NULLIF(reason, ''))), '; ') AS why,
        CASE WHEN MIN(time) > MIN(since) OR BOOL_OR(new) THEN 'certain' ELSE 'likely' END AS certainty,
        MIN(told.client_id) AS client_id, MAX(group_instance_id) AS instance
    FROM groups AS told JOIN heard ON told.broker = heard.broker AND told.group_id = heard.group_id
        AND told.member_id = heard.member_id
    WHERE event = 'join' AND error_code = 0 AND told.generation_id > 0
    GROUP BY told.capture, told.broker, told.group_id, told.generation_id, told.member_id
    UNION ALL
    SELECT leaves.broker, leaves.group_id, MIN_BY(generation_id, formed), time,
        CASE WHEN heard.client_id <> asked_by THEN 'removed' ELSE 'left' END, leaves.member_id,
        CASE WHEN heard.client_id <> asked_by THEN 'by ' || asked_by || COALESCE(': ' || reason, '')
            WHEN epoch = -2 THEN 'a static member, which may come back' ELSE COALESCE(reason, '') END,
        CASE WHEN error_code = 0 AND heard.client_id IS NOT NULL THEN 'certain' ELSE 'likely' END,
        COALESCE(heard.client_id, asked_by), COALESCE(leaves.instance, heard.instance)
    FROM leaves
    LEFT JOIN generations AS now ON leaves.capture = now.capture AND leaves.broker = now.broker
        AND leaves.group_id = now.group_id AND formed > unix_micros(time)
    LEFT JOIN heard ON leaves.broker = heard.broker AND leaves.group_id = heard.group_id
        AND leaves.member_id = heard.member_id
    GROUP BY leaves.capture, leaves.broker, leaves.group_id, time, leaves.member_id, reason, error_code, asked_by,
        epoch, leaves.instance, heard.client_id, heard.instance
    UNION ALL
    SELECT told.broker, told.group_id, NULLIF(MAX(GREATEST(generation_id, 0)), 0), MIN(time), 'fenced',
        told.member_id, error || ' to ' || array_join(array_sort(collect_set(event)), ', '), 'certain',
        heard.client_id, heard.instance
    FROM groups AS told JOIN heard ON told.broker = heard.broker AND told.group_id = heard.group_id
        AND told.member_id = heard.member_id
    WHERE error IN ({", ".join(map(repr, FENCED))})
    GROUP BY capture, told.broker, told.group_id, told.member_id, error, heard.client_id, heard.instance
    UNION ALL
    SELECT broker, group_id, generation_id, COALESCE(last_time, timestamp_micros(formed)),
        CASE WHEN last_time IS NULL THEN 'gone' ELSE 'timed out' END, member_id,
        CASE WHEN last_time IS NULL THEN 'seen only in the list of members'
            ELSE CASE WHEN last_error = 'REBALANCE_IN_PROGRESS' THEN 'did not join again when asked to, '
                ELSE 'heard last, by a ' || last_event || ', ' END
                || CAST(CAST(FLOOR((formed - unix_micros(last_time)) / 1000) AS BIGINT) AS STRING)
                || ' ms before a generation without it' END,
        CASE WHEN last_time IS NULL THEN 'certain' ELSE 'likely' END, client_id, instance
    FROM silent
)
SELECT group_id, generation_id, time, what, client_id, why, certainty, instance AS group_instance_id, member_id
FROM happened
ORDER BY time, group_id, generation_id, what, member_id, why, certainty, client_id, instance
"""

GENERATIONS: Final = """
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
"""


class Answer(NamedTuple):
    """The names of the columns, and the rows: numbers, text, bytes, lists, dicts, points in time in UTC."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


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
    COUNT(DISTINCT (capture, connection_uid, connection_id, request_time, correlation_id)), NULL, SUM(records),
    SUM(bytes)
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
        f"""
WITH spoken AS (
    SELECT {UID} AS uid, collect_set(api || ' v' || api_version) AS apis
    FROM exchanges
    GROUP BY 1
)
SELECT software_name, software_version, client_id, COUNT(*) AS connections,
    array_sort(array_distinct(flatten(collect_list(apis)))) AS apis
FROM connections LEFT JOIN spoken ON uid = {UID}
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
    "no-response": Question(
        "requests without a response, and how long they waited",
        f"""
SELECT request_time, api, client_id, client, broker, correlation_id,
    (unix_micros(end_time) - unix_micros(request_time)) / 1000 AS waited_ms  -- till the end of the connection
FROM exchanges LEFT JOIN (SELECT {UID} AS uid, end_time FROM connections) AS known ON uid = {UID}
WHERE answered IS NULL
ORDER BY request_time, client, correlation_id, api, waited_ms
""",
    ),
}
"""By the names that `kdbg query --ask` has for them."""
