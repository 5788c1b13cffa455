"""The questions' answers on a capture made for them, each with the arithmetic that it can be checked by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.errors import InputError, SparkError
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.database import Database
from kdbg.scale.query.sources import Decoded, show
from kdbg.scale.spark.delta import DeltaFolder
from kdbg.scale.spark.sql import ADAPTIVE, answer, name_tables
from kdbg.views.tables.columns import TABLES
from kdbg.views.tables.questions import QUESTIONS
from tests.cli.calls import MAIN, SHIPPED
from tests.query.worked_out import CHECKS, COMINGS_AND_GOINGS, FIRST, Answers

from ..cases import by_day
from . import asked, members
from .conftest import Run

CAPTURE = (".pcap", ".pcapng", ".gz")
SHARED_FOLDER = MAIN.parent / "shared" / "captures"
"""Where it is absent the test runs over what is shipped alone."""


def answered(spark: Any, *names: str) -> Answers:
    found: Answers = {}
    for name in names:
        columns, rows = answer(spark, QUESTIONS[name].sql)
        found[name] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


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
    assert answers.keys() == QUESTIONS.keys() == CHECKS.keys()
    for check in CHECKS.values():
        check(answers)


@pytest.fixture
def every(tmp_path: Path) -> list[Path]:
    """Those that come with kdbg, the shared ones, the one worked out by hand, and one of groups whose members move."""
    made = tmp_path / "members.pcap"
    made.write_bytes(members.capture())
    shared = [path for path in SHARED_FOLDER.rglob("*.pcap*") if path.suffix in CAPTURE and "bomb" not in path.name]
    answered = tmp_path / "asked.pcap"
    answered.write_bytes(asked.capture())
    return [made, answered, *by_day([*SHIPPED, *sorted(shared)], 25)]


def test_duckdb_answers_every_question_alike_of_tables_and_of_captures(
    asking: Any, run: Run, every: list[Path]
) -> None:
    out, _ = run(every, allow_duplicates=True)  # as decoding them one by one counts packets twice
    name_tables(asking, str(out))
    answers = answered(asking, *QUESTIONS)
    assert all(answers.values())
    assert [*COMINGS_AND_GOINGS] == [row for row in map(tuple, map(dict.values, answers["rebalances"]))
                                     if row[0] in ("trips", "rides", "late")]  # fmt: skip
    with closing(Database()) as stored, closing(Database()) as decoded:
        show(stored, DeltaFolder(str(out)).files(TABLES), TABLES.keys())
        captures = Decoded(decoded, TABLES.keys(), Filters())
        for path in every:
            with open_capture(str(path)) as capture:
                captures.capture(capture)
        for name, rows in answers.items():
            for database in (stored, decoded):
                columns, found = database.answer(QUESTIONS[name].sql)
                assert [dict(zip(columns, row, strict=True)) for row in found] == rows, name
        by_day = "SELECT COUNT(*), MAX(date), SUM(late_us) FROM exchanges WHERE date = DATE '2026-11-21'"
        [(exchanges, date, late)] = answer(asking, by_day).rows
        assert [(exchanges, date, late)] == list(stored.answer(by_day).rows) == list(decoded.answer(by_day).rows)
        numbered = "SELECT COUNT(number), COUNT(connection), COUNT(*) - COUNT(number) FROM exchanges"
        assert list(stored.answer(numbered).rows) == list(decoded.answer(numbered).rows)
    assert (exchanges > 0, f"{date}") == (True, "2026-11-21")


def test_tables_without_rows_give_no_answers(asking: Any, run: Run) -> None:
    out, _ = run(SHIPPED[:1], filters=Filters(port=1))
    name_tables(asking, str(out))
    assert answered(asking, *QUESTIONS) == {name: [] for name in QUESTIONS}


def test_a_folder_without_tables_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=": no tables"):
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
