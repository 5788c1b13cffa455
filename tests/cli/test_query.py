"""`kdbg query` on captures and on tables, without Spark: what is asked, shown and refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import kdbg
from kdbg.views.tables.questions import QUESTIONS
from tests.spark import asked
from tests.traffic import Talk, pcap

from ..cases import for_each
from .calls import CAPTURES, call, spawn

FORMULA = '=HYPERLINK("http://x")'


def test_help_tells_the_questions() -> None:
    said = call("query", "--help").out
    for name, question in QUESTIONS.items():
        assert f"    {name} " in said
        assert question.about in said


@for_each("name", QUESTIONS)
def test_the_sql_of_a_question_can_be_read_without_tables(name: str) -> None:
    shown = call("query", "nowhere", "--ask", name, "--show-sql")
    assert shown == (0, f"-- {name}: {QUESTIONS[name].about}\n{QUESTIONS[name].sql.strip()}\n", "")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no query: give SQL, or --ask with one of latency, errors, "),
        (["SELECT 1", "--ask", "lag"], "no query: give SQL, or --ask"),
        (["--ask", "lags"], "'lags' is not one of"),
        (["--ask", "lag", "--ask", "errors", "--format", "csv"], "--format csv prints one table"),
        (["SELECT 1", "--limit", "0"], "0 is not in the range"),
        (["SELECT 1", "--master", "local[1]"], ": no tables; create them with kdbg pipeline"),
        (["SELECT 1", "--conf", "a=b"], "--conf and --verbose require --master"),
        (["other", "SELECT 1", "--master", "local[1]"], "--master requires one folder of tables"),
        (["SELECT nope FROM exchanges"], "duckdb: Binder Error"),
    ],
)
def test_wrong_use_is_refused_in_a_line(tmp_path: Path, arguments: list[str], problem: str) -> None:
    done = call("query", tmp_path, *arguments)
    assert (done.status, done.out) == (2, "")
    assert problem in done.err
    assert done.err.count("\n") == 1


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "asked.pcap"
    path.write_bytes(asked.capture())
    return path


def test_captures_are_asked_in_sql_and_by_questions(capture: Path) -> None:
    done = call("query", capture, "--ask", "top-topics", "--ask", "errors", "--limit", 2)
    assert done == (0, asked.ANSWERS, "")
    lag = list(csv.DictReader(io.StringIO(call("query", capture, "--ask", "lag", "-f", "csv").out)))
    assert [row["lag"] for row in lag] == ["5", "3", ""]
    assert lag[0]["committed_at"] == "2026-11-21T12:31:04.300000Z"


def test_all_captures_of_a_folder_are_asked_together(capture: Path) -> None:
    (capture.parent / "again.pcap").write_bytes(capture.read_bytes())
    sql = "SELECT capture, COUNT(*) AS n FROM exchanges WHERE api = 'Produce' GROUP BY capture ORDER BY capture"
    found = call("query", capture.parent, sql, "-f", "json").lines
    assert [(Path(row["capture"]).name, row["n"]) for row in found] == [("again.pcap", 4), ("asked.pcap", 4)]


def test_filters_are_those_of_decode_and_what_fits_nothing_is_named(capture: Path) -> None:
    sql = "SELECT COUNT(*) AS n FROM exchanges"
    assert call("query", capture, sql, "--api", "produce", "-f", "json").lines == [{"n": 4}]
    done = call("query", capture, sql, "--topic", "order", "-f", "json")
    assert done.lines == [{"n": 0}]
    assert (
        done.err == "kdbg: --topic order: no match; did you mean orders? the captures contain orders, parcels, ghosts\n"
    )
    assert call("query", f"{capture}#3", sql, "-f", "json").lines == [{"n": 1}]


def test_an_expression_chooses_what_is_asked(capture: Path) -> None:
    pytest.importorskip("cel_expr_python", reason="expressions need the extra where")
    sql = "SELECT client_id FROM exchanges ORDER BY request_time"
    found = call("query", capture, sql, "--where", "latency_ms > 500.0", "-f", "json").lines
    assert [row["client_id"] for row in found] == ["billing-2", "billing-1"]


def test_the_exit_status_says_what_could_not_be_decoded_or_read(tmp_path: Path) -> None:
    sql = "SELECT COUNT(*) FROM exchanges"
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(pcap(Talk().ask("Metadata", 1, topics=[]))[:-20])
    expected = call("decode", broken, "-f", "summary").status
    assert call("query", broken, sql).status == expected
    missing = call("query", CAPTURES / "errors.pcap", tmp_path / "missing.pcap", sql)
    assert missing.status == 2
    assert missing.out
    assert "missing.pcap" in missing.err


def test_csv_has_no_formulas_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "formula.pcap"
    path.write_bytes(pcap(Talk(client_id=FORMULA).ask("Metadata", 1, topics=[])))
    sql = "SELECT client_id, -1 AS n FROM exchanges"
    assert [*csv.reader(io.StringIO(call("query", path, sql, "-f", "csv").out))][1] == [f"'{FORMULA}", "-1"]
    assert [*csv.reader(io.StringIO(call("query", path, sql, "-f", "csv", "--raw").out))][1] == [FORMULA, "-1"]


def test_captured_text_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "hostile.pcap"
    name = "<img src=x>\x1b[31m\u202e"
    path.write_bytes(pcap(Talk(client_id=name).ask("Metadata", 1, topics=[{"name": name}])))
    for form in ("table", "json"):
        done = call("query", path, "SELECT topics, client_id FROM exchanges", "-f", form)
        assert "<img src=x>" in done.out
        assert done.out.replace("\n", "").isprintable()
    assert json.loads(done.out) == {"topics": [name], "client_id": name}


def test_in_a_pipe_nothing_is_cut(capture: Path) -> None:
    done = spawn("query", capture, "SELECT repeat('x', 500) AS a, repeat('y', 500) AS b", COLUMNS="80")
    assert done.out.split() == ["a", "b", "x" * 500, "y" * 500]


def test_tables_of_a_pipeline_are_asked_without_spark(tmp_path: Path, capture: Path) -> None:
    written(tmp_path / "tables", str(capture))
    found = call("query", tmp_path / "tables", "--ask", "latency", "-f", "json").lines
    assert found == call("query", capture, "--ask", "latency", "-f", "json").lines
    days = call("query", tmp_path / "tables", "SELECT DISTINCT date FROM exchanges", "-f", "json").lines
    assert days == [{"date": "2026-11-21"}]
    assert call("query", tmp_path / "tables", "FROM groups").out.endswith("date\nno rows\n"), "none was written"
    refused = call("query", tmp_path / "tables", "FROM exchanges", "--api", "fetch")
    assert (refused.status, "--api applies to captures" in refused.err) == (2, True)
    assert "--jobs applies to captures" in call("query", tmp_path / "tables", "FROM exchanges", "--jobs", 2).err


def written(out: Path, capture: str) -> None:
    """Write the exchanges of a capture as `kdbg pipeline` does, and beside them a file of a run that was killed."""
    from kdbg.scale.spark.commit import Output
    from kdbg.scale.spark.delta import TableFile
    from kdbg.scale.spark.parquet import ParquetFile
    from kdbg.views.tables.arrow import TABLES

    output = Output(str(out))
    file = ParquetFile(output.out, "exchanges/date=2026-11-21", output.run, TABLES["exchanges"])
    with kdbg.read(capture) as reading:
        file.write(reading.to_arrow("exchanges"))
    output.commit([TableFile(*file.close())], {"files": {}}, append=False)
    (out / "exchanges" / "date=2026-11-21" / "killed-0.parquet").write_bytes(b"")
