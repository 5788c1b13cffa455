"""`kdbg query` as far as it goes without Spark: what is asked, what is refused. The rest is in tests/spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.spark.query.questions import QUESTIONS

from .calls import call


def test_help_tells_the_questions() -> None:
    said = call("query", "--help").out
    for name, question in QUESTIONS.items():
        assert f"    {name} " in said
        assert question.about in said


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_sql_of_a_question_can_be_read_without_tables(name: str) -> None:
    shown = call("query", "nowhere", "--ask", name, "--show-sql")
    assert shown == (0, f"-- {name}: {QUESTIONS[name].about}\n{QUESTIONS[name].sql.strip()}\n", "")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "Say what to ask: SQL, or --ask with one of latency, errors, "),
        (["SELECT 1", "--ask", "lag"], "Say what to ask: SQL, or --ask"),
        (["--ask", "lags"], "'lags' is not one of"),
        (["--ask", "lag", "--ask", "errors", "--format", "csv"], "CSV holds one table"),
        (["SELECT 1", "--limit", "0"], "0 is not in the range"),
        (["SELECT 1"], "holds no tables; `kdbg pipeline` writes them"),
    ],
)
def test_wrong_use_is_refused_in_a_line(tmp_path: Path, arguments: list[str], problem: str) -> None:
    done = call("query", tmp_path, *arguments)
    assert (done.status, done.out) == (2, "")
    assert problem in done.err
    assert done.err.count("\n") == 1
