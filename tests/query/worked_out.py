"""The questions' answers on a capture made for them (tests/spark/asked.py), each with the arithmetic behind it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.spark import asked

Answers = dict[str, list[dict[str, Any]]]
FIRST = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)


def at(milliseconds: int) -> datetime:
    return FIRST + timedelta(milliseconds=milliseconds)


def latency(answers: Answers) -> None:
    found = {row.pop("api"): row for row in answers["latency"]}
    # of 1, 2, … 100 ms, the value that 50, 95 and 99 in 100 do not exceed
    assert found["Metadata"] == {"answered": 100, "p50_ms": 50.0, "p95_ms": 95.0, "p99_ms": 99.0, "max_ms": 100.0}
    assert found["Produce"] == {"answered": 4, "p50_ms": 5.0, "p95_ms": 5.0, "p99_ms": 5.0, "max_ms": 5.0}
    # 100, 100, 1000 and 3000 ms: rank 2 of 4 is half of them
    assert found["JoinGroup"] == {
        "answered": 4, "p50_ms": 100.0, "p95_ms": 3000.0, "p99_ms": 3000.0, "max_ms": 3000.0,
    }  # fmt: skip
    assert list(found)[:3] == ["JoinGroup", "Fetch", "Metadata"], "the slowest first: 3000, 400 and 99 ms"


def errors(answers: Answers) -> None:
    assert [tuple(row.values()) for row in answers["errors"]] == [  # each once: by API
        ("Heartbeat", 27, "REBALANCE_IN_PROGRESS", "billing-1", None, [], 1, at(81_000), at(81_000)),
        ("Metadata", 3, "UNKNOWN_TOPIC_OR_PARTITION", "shop", "ghosts", [], 1, at(200), at(200)),
        ("OffsetCommit", 22, "ILLEGAL_GENERATION", "billing-1", "orders", [0], 1, at(64_100), at(64_100)),
        ("Produce", 6, "NOT_LEADER_OR_FOLLOWER", "shop", "orders", [1], 1, at(62_000), at(62_000)),
    ]


def throughput(answers: Answers) -> None:
    rows = answers["throughput"]
    minute = {0: at(0), 1: at(60_000)}
    found = {
        (row["minute"], row["topic"]): (row["exchanges"], row["records"], row["record_bytes"])
        for row in rows
        if row["api"] == "Produce"
    }
    assert found == {
        (minute[0], None): (1, None, None),
        (minute[0], "orders"): (1, 5, 61 + 5 * 20),
        (minute[1], None): (3, None, None),
        (minute[1], "orders"): (2, 3 + 1, 61 + 3 * 20 + 61 + 20),  # also what was refused went over the wire
        (minute[1], "parcels"): (1, 1, 61 + 20),
    }
    assert sum(row["bytes"] for row in rows if row["topic"] is None) == asked.wire_bytes()


def lag(answers: Answers) -> None:
    found = {
        (row["topic"], row["partition"]): (row["committed"], row["log_end"], row["lag"], row["committed_at"])
        for row in answers["lag"]
        if row["group_id"] == "billing"
    }
    assert found == {
        ("parcels", 0): (2, 7, 7 - 2, at(64_300)),  # ListOffsets says 7, though only offset 0 was seen produced
        ("orders", 0): (5, 8, 8 - 5, at(64_000)),  # produced up to offset 7, high watermark 8; the commit of 8 failed
        ("orders", 1): (4, None, None, at(64_400)),  # nothing tells where it ends
    }
    assert [row["lag"] for row in answers["lag"]] == [5, 3, None]


def slow_clients(answers: Answers) -> None:
    rows = {row["client_id"]: row for row in answers["slow-clients"]}
    # 1, 2, … 100 ms of Metadata, 2 of ApiVersions, 4 times 5 of Produce: 105 in all, 10 of them 5 ms or less.
    # Rank 53 (half) is 5 + (53 - 10), rank 100 (95 %) is 5 + (100 - 10).
    assert rows["shop"] == {
        "client_id": "shop", "host": "10.0.0.1", "answered": 105, "p50_ms": 48.0, "p95_ms": 95.0, "max_ms": 100.0,
        "slowest": "Metadata", "throttled_ms": 7,
    }  # fmt: skip
    assert rows["billing-1"]["max_ms"] == 4.0, "neither the fetch of 400 ms nor the join of 1000 ms is held against it"
    assert rows["billing-1"]["answered"] == 6, "three commits, ListOffsets, OffsetFetch and a heartbeat"
    assert "lost" not in rows


def versions(answers: Answers) -> None:
    rows = {row["client_id"]: row for row in answers["versions"]}
    assert rows["shop"] == {
        "software_name": "shopkit", "software_version": "1.2", "client_id": "shop", "connections": 1,
        "apis": ["ApiVersions v3", "Metadata v8", "Produce v8"],
    }  # fmt: skip
    assert rows["billing-2"]["apis"] == ["JoinGroup v8", "LeaveGroup v5", "SyncGroup v3"]
    assert rows["billing-2"]["software_name"] is None


def rebalances(answers: Answers) -> None:
    assert [tuple(row.values()) for row in answers["rebalances"]] == [
        ("billing", 1, at(70_000), "joined again", "billing-1", "", "certain", None, "b-1"),  # it had committed before
        ("billing", 2, at(80_000), "joined", "billing-2", "a new pod", "certain", None, "b-2"),
        ("billing", 2, at(82_000), "joined again", "billing-1", "group is already rebalancing", "certain", None, "b-1"),
        ("billing", 3, at(90_000), "left", "billing-2", "the pod is closed", "certain", None, "b-2"),
        ("billing", 3, at(90_500), "joined again", "billing-1", "", "certain", None, "b-1"),
    ]


def generations(answers: Answers) -> None:
    found = [tuple(row.values()) for row in answers["generations"]]
    assert found == [
        ("billing", 1, at(70_000), 120.0, 1, 1, 0, ""),  # 70,000 joins … 70,120 its sync is answered
        ("billing", 2, at(80_000), 3050.0, 2, 1, 0, "a new pod; group is already rebalancing"),  # … 83,050
        ("billing", 3, at(90_500), 115.0, 1, 0, 1, "the pod is closed"),  # … 90,615
    ]


def top_topics(answers: Answers) -> None:
    found = [tuple(row.values()) for row in answers["top-topics"]]
    assert found == [
        ("orders", 1, 5 + 3, 161 + 121, 5, 161),  # the batch that was refused is in no log
        ("parcels", 1, 1, 81, 0, 0),
    ]


def unanswered(answers: Answers) -> None:
    [row] = answers["no-response"]
    assert row == {
        "request_time": at(asked.LEFT_AT), "api": "Metadata", "client_id": "lost", "client": "10.0.0.9:50009",
        "broker": "10.0.0.2:9092", "correlation_id": 1, "waited_ms": 4000.0,
    }  # fmt: skip


CHECKS: dict[str, Callable[[Answers], None]] = {
    "latency": latency,
    "errors": errors,
    "throughput": throughput,
    "lag": lag,
    "slow-clients": slow_clients,
    "versions": versions,
    "rebalances": rebalances,
    "generations": generations,
    "top-topics": top_topics,
    "no-response": unanswered,
}
"""By the questions' names, what their answers must pass."""


COMINGS_AND_GOINGS = [
    ("trips", 1, at(1010), "joined", "alpha", "it needs an id", "certain", None, "a-1"),
    ("trips", 2, at(2000), "joined", "beta", "", "certain", None, "b-1"),
    ("trips", 2, at(2010), "joined again", "alpha", "the group rebalances", "certain", None, "a-1"),
    ("trips", 3, at(3000), "timed out", "beta",
     "did not join again when asked to, 3000 ms before a generation without it", "likely", None, "b-1"),
    ("trips", 3, at(3010), "joined again", "alpha", "the group rebalances", "certain", None, "a-1"),
    ("trips", 3, at(6000), "gone", None, "seen only in the list of members", "certain", None, "g-9"),
    ("trips", 2, at(7000), "fenced", "beta", "UNKNOWN_MEMBER_ID to heartbeat", "certain", None, "b-1"),
    ("trips", 4, at(8000), "joined", "delta", "", "certain", "d", "d-1"),
    ("trips", 4, at(8010), "joined again", "alpha", "", "certain", None, "a-1"),
    ("trips", 5, at(9000), "joined", "delta", "", "certain", "d", "d-2"),  # d-1 is missing because this took its place
    ("trips", 5, at(9010), "joined again", "alpha", "", "certain", None, "a-1"),
    ("trips", 6, at(10_000), "removed", "delta", "by operator: an admin says so", "certain", "d", "d-2"),
    ("trips", 6, at(10_010), "joined again", "alpha", "", "certain", None, "a-1"),
    ("trips", None, at(11_000), "left", "alpha", "done", "likely", None, "a-1"),  # nobody saw it answered
    ("rides", 1, at(12_000), "joined", "epsilon", "", "certain", "e", "e-1"),
    ("rides", 1, at(13_000), "fenced", "epsilon", "FENCED_MEMBER_EPOCH to heartbeat", "certain", "e", "e-1"),
    ("rides", 3, at(13_100), "joined again", "epsilon", "", "certain", "e", "e-1"),
    ("rides", None, at(14_000), "left", "epsilon", "a static member, which may come back", "certain", "e", "e-1"),
    ("late", 7, at(15_000), "joined again", "zeta", "", "likely", None, "z-1"),
]  # fmt: skip
"""The answer to `rebalances` about the capture of tests/spark/members.py."""
