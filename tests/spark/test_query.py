"""The questions' answers on a capture made for them, each with the arithmetic that it can be checked by."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from kdbg.errors import SparkError
from kdbg.filters.chosen import Filters
from kdbg.spark.query.questions import QUESTIONS
from kdbg.spark.query.sql import ADAPTIVE, answer, name_tables
from kdbg.tables.columns import TABLES
from tests.cli.calls import SHIPPED

from . import asked
from .conftest import Run

Answers = dict[str, list[dict[str, Any]]]
FIRST = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
PORTABLE = ("lag", "top-topics")
"""Questions whose SQL is DuckDB's too."""


def answered(spark: Any, *names: str) -> Answers:
    found: Answers = {}
    for name in names:
        columns, rows = answer(spark, QUESTIONS[name].sql)
        found[name] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


def at(milliseconds: int) -> datetime:
    return FIRST + timedelta(milliseconds=milliseconds)


@pytest.fixture
def asking(spark: Any) -> Iterator[Any]:
    """The session, as `kdbg query` sets it."""
    before = {name: spark.conf.get(name) for name in ADAPTIVE}
    for name, value in ADAPTIVE.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture
def answers(asking: Any, run: Run, tmp_path: Path) -> Answers:
    path = tmp_path / "asked.pcap"
    path.write_bytes(asked.capture())
    out, _ = run([path])
    name_tables(asking, str(out))
    return answered(asking, *QUESTIONS)


def test_the_answers_are_those_worked_out_by_hand(answers: Answers) -> None:
    for check in (latency, errors, throughput, lag, slow_clients, versions, rebalances, top_topics, unanswered):
        check(answers)
    assert answers.keys() == QUESTIONS.keys()


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
    found = {(row["api"], row["error_code"], row["error"], row["topic"], row["times"]) for row in answers["errors"]}
    assert found == {
        ("Metadata", 3, "UNKNOWN_TOPIC_OR_PARTITION", "ghosts", 1),
        ("Produce", 6, "NOT_LEADER_OR_FOLLOWER", "orders", 1),
        ("OffsetCommit", 22, "ILLEGAL_GENERATION", "orders", 1),
        ("Heartbeat", 27, "REBALANCE_IN_PROGRESS", None, 1),
    }


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
    found = [tuple(row.values()) for row in answers["rebalances"]]
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
    [row] = answers["unanswered"]
    assert row == {
        "request_time": at(asked.LEFT_AT), "api": "Metadata", "client_id": "lost", "client": "10.0.0.9:50009",
        "broker": "10.0.0.2:9092", "correlation_id": 1, "waited_ms": 4000.0,
    }  # fmt: skip


@pytest.fixture
def shipped(run: Run) -> Path:
    """The tables of all captures that come with kdbg."""
    return run(SHIPPED)[0]


def test_every_question_can_be_asked_of_what_is_shipped_and_duckdb_agrees(asking: Any, shipped: Path) -> None:
    name_tables(asking, str(shipped))
    answers = answered(asking, *QUESTIONS)
    assert all(answers.values())
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        if (shipped / table).is_dir():
            database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{shipped}/{table}/*/*.parquet')")
    for name in PORTABLE:
        rows = database.execute(QUESTIONS[name].sql).fetchall()
        assert rows == [tuple(row.values()) for row in answers[name]]
    [(exchanges, date)] = answer(asking, "SELECT COUNT(*), MAX(date) FROM exchanges WHERE date = '2026-11-21'").rows
    assert (exchanges, f"{date}") == (*database.execute("SELECT COUNT(*) FROM exchanges").fetchone(), "2026-11-21")


def test_tables_without_rows_give_no_answers(asking: Any, run: Run) -> None:
    out, _ = run(SHIPPED[:1], filters=Filters(port=1))
    name_tables(asking, str(out))
    assert answered(asking, *QUESTIONS) == {name: [] for name in QUESTIONS}


def test_a_folder_without_tables_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="holds no tables"):
        name_tables(spark, str(tmp_path))


def test_values_come_as_plain_python(spark: Any) -> None:
    sql = """SELECT 1 AS a, CAST(2.50 AS DECIMAL(5, 2)) AS b, array(1, NULL) AS c, map('k', X'ff') AS d,
        named_struct('at', TIMESTAMP '2026-11-21 12:30:00.000001') AS e"""
    columns, rows = answer(spark, sql)
    [(a, b, c, d, e)] = rows
    assert columns == ["a", "b", "c", "d", "e"]
    assert (a, f"{b}", c, d) == (1, "2.50", [1, None], {"k": b"\xff"})
    assert e == {"at": FIRST + timedelta(microseconds=1)}


def test_no_more_rows_than_asked_for(spark: Any) -> None:
    assert list(answer(spark, "SELECT id FROM range(1000) ORDER BY id", limit=2).rows) == [(0,), (1,)]


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELEC 1", r"\[PARSE_SYNTAX_ERROR\] Syntax error at or near 'SELEC' \(line 1, pos 0\)$"),
        ("SELECT nope FROM range(1)", r"\[UNRESOLVED_COLUMN.WITH_SUGGESTION\] .* line 1 pos 7$"),
        ("SELECT 1 / id FROM range(2)", r"\[DIVIDE_BY_ZERO\] [^\n]*$"),
    ],
)
def test_what_spark_refuses_is_told_in_its_own_line(spark: Any, sql: str, problem: str) -> None:
    with pytest.raises(SparkError, match=problem):
        list(answer(spark, sql).rows)
