"""Captures asked in DuckDB: the questions' answers, the rows behind them, what is decoded and what is refused."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed")

import kdbg
from kdbg import extras
from kdbg.capture import open_capture
from kdbg.errors import InputError
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages.requested_wait import beyond_wait
from kdbg.scale.query import database
from kdbg.scale.query import sources as captures
from kdbg.scale.query.database import Database
from kdbg.scale.query.sources import Decoded
from kdbg.views.tables.columns import ABOUT, TABLES
from kdbg.views.tables.questions import QUESTIONS
from tests.cli.calls import CAPTURES, SHIPPED, call
from tests.spark import asked, members

from ..cases import by_day
from .worked_out import CHECKS, COMINGS_AND_GOINGS, Answers


def ask(held: Database, sql: str) -> list[dict[str, Any]]:
    columns, rows = held.answer(sql)
    return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.fixture
def held() -> Iterator[Database]:
    with closing(Database()) as held:
        yield held


def decode(held: Database, *sources: Any, **filters: Any) -> Decoded:
    decoded = Decoded(held, TABLES.keys(), Filters(**filters))
    for source in sources:
        with open_capture(source) as capture:
            decoded.capture(capture)
    return decoded


def test_the_answers_are_those_worked_out_by_hand(held: Database) -> None:
    decode(held, io.BytesIO(asked.capture()))
    answers: Answers = {name: ask(held, question.sql) for name, question in QUESTIONS.items()}
    assert answers.keys() == CHECKS.keys()
    for check in CHECKS.values():
        check(answers)


def test_who_makes_a_group_rebalance_in_every_way_that_there_is(held: Database) -> None:
    decode(held, io.BytesIO(members.capture()))
    assert [tuple(row.values()) for row in ask(held, QUESTIONS["rebalances"].sql)] == COMINGS_AND_GOINGS


@pytest.mark.parametrize("path", by_day(SHIPPED, 3), ids=lambda path: path.name)
def test_every_question_can_be_asked_of_every_capture(held: Database, path: Path) -> None:
    decode(held, str(path))
    told = kdbg.read(str(path))
    seen = list(told)
    numbered = held.answer("SELECT number, connection, late_us FROM exchanges ORDER BY number").rows
    assert list(numbered) == [(one.number, f"c{one.peers.number}", microseconds(beyond_wait(one))) for one in seen]
    firsts = {(one.peers.number, one.request.first_packet) for one in seen if one.request is not None}
    for connection, first in held.answer("SELECT connection, connection_id FROM connections WHERE kafka").rows:
        assert all(first <= packet for number, packet in firsts if f"c{number}" == connection)
    for name, question in QUESTIONS.items():
        rows = ask(held, question.sql)
        if name == "no-response":
            assert len(rows) == sum(one.response is None and one.answered for one in seen)
        if name == "latency":
            assert sum(row["answered"] for row in rows) == sum(one.latency is not None for one in seen)


def microseconds(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else (nanoseconds + 500) // 1000


def test_versions_of_unknown_apis_are_no_names(held: Database) -> None:
    decode(held, *map(str, SHIPPED))
    held._connection.execute("UPDATE exchanges SET api = NULL WHERE number = 1")
    assert all(api[0] != " " for row in ask(held, QUESTIONS["versions"].sql) for api in row["apis"])


def test_without_rows_there_are_no_answers(held: Database) -> None:
    assert {name: ask(held, question.sql) for name, question in QUESTIONS.items()} == {name: [] for name in QUESTIONS}


def test_filters_choose_what_is_asked(held: Database) -> None:
    decoded = decode(held, io.BytesIO(asked.capture()), api=("produce",))
    assert ask(held, "SELECT api, COUNT(*) AS n FROM exchanges GROUP BY api") == [{"api": "Produce", "n": 4}]
    assert ask(held, "SELECT client_id FROM connections") == [{"client_id": "shop"}]
    assert decoded.exchanges > 100


def test_rows_come_in_batches_and_none_is_lost(held: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "ROWS", 7)
    monkeypatch.setattr(database, "BATCH", 3)
    decode(held, io.BytesIO(asked.capture()))
    latencies = "SELECT latency_us // 1000 AS ms FROM exchanges WHERE api = 'Metadata' AND answered ORDER BY ms"
    assert [row["ms"] for row in ask(held, latencies)] == list(range(1, asked.TRIES + 1))
    assert [len(list(held.answer(latencies, most).rows)) for most in (10, 20)] == [10, 20]


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT COUNT(*) FROM exchanges", {"exchanges"}),
        ("WITH partitions AS (SELECT 1 AS records) SELECT records FROM partitions", set()),
        ("FROM Groups", {"groups"}),
        ('SELECT 1 FROM "files" WHERE EXISTS (SELECT 1 FROM problems)', {"files", "problems"}),
        ("DESCRIBE records", {"records"}),
        ("SET memory_limit = '2GB'; SELECT api FROM exchanges", {"exchanges"}),
    ],
)
def test_only_tables_that_are_named_are_decoded(held: Database, sql: str, tables: set[str]) -> None:
    assert held.named(sql) == tables


def test_columns_say_what_they_are(held: Database) -> None:
    rows = ask(held, "DESCRIBE groups")
    assert [*rows[0]] == ["column", "type", "about"]
    assert {row["column"]: row["about"] for row in rows} == ABOUT["groups"] | {"date": ""}
    assert rows[-1] == {"column": "date", "type": "DATE", "about": ""}


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELEC 1", 'duckdb: Parser Error: syntax error at or near "SELEC"'),
        ("SELECT apis FROM exchanges", r'duckdb: Binder Error: Referenced column "apis" not found .* "api"'),
        ("SELECT * FROM exchange", "duckdb: Catalog Error: Table with name exchange does not exist! Did you mean"),
    ],
)
def test_wrong_sql_is_refused_before_anything_is_decoded(held: Database, sql: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        held.check(sql)
    assert "\n" not in str(refused.value)


def test_values_come_as_plain_python(held: Database) -> None:
    sql = """SELECT [1, NULL] AS a, MAP {'k': '\\xFF'::BLOB} AS b, {'at': TIMESTAMPTZ '2026-11-21 12:30:00+00'} AS c,
        SUM(range) AS d FROM range(3)"""
    assert ask(held, sql) == [
        {"a": [1, None], "b": {"k": b"\xff"}, "c": {"at": datetime(2026, 11, 21, 12, 30, tzinfo=UTC)}, "d": 3}
    ]


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "duckdb" else sys)
    with pytest.raises(InputError, match=r"kdbg query needs duckdb; pip install 'kdbg-kafka\[query\]'"):
        Database()


def test_a_former_name_of_a_query_is_accepted() -> None:
    today, former = (call("query", CAPTURES / "errors.pcap", "--ask", name) for name in ("no-response", "unanswered"))
    assert former == today
    assert "Fetch" in today.out
