"""`kdbg query` as a user calls it, on tables of its own; in a process of its own where that matters."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kdbg.scale.spark.archive.plan import plan
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.pipeline import Pipeline, PipelineOptions
from tests.cli.calls import COMMAND, ENVIRONMENT, Outcome, call, spawn
from tests.traffic import Talk, pcap

from . import asked

pytestmark = pytest.mark.usefixtures("here")
HERE = ("--master", "local[2]")
HOSTILE = "<img src=x>\x1b[31m\u202e"


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of the capture that the questions were made for, and of one whose names are hostile."""
    folder, options = tmp_path_factory.mktemp("query"), PipelineOptions()
    capture, hostile = folder / "asked.pcap", folder / "hostile.pcap"
    capture.write_bytes(asked.capture())
    hostile.write_bytes(pcap(Talk(client_id=HOSTILE).ask("Metadata", 1, topics=[{"name": HOSTILE}])))
    planned = plan([str(capture), str(hostile)], options.split)
    Pipeline(spark, Output(str(folder / "tables")), options).run(planned)
    return folder / "tables"


def query(*arguments: object, status: int = 0, **environment: str) -> Outcome:
    done = (spawn if environment else call)("query", *arguments, *HERE, **environment)
    assert done.status == status, done.err
    return done


def test_questions_are_answered(tables: Path) -> None:
    done = query(tables, "--ask", "top-topics", "--ask", "errors", "--limit", 2)
    assert done.err == ""
    assert done.out == asked.ANSWERS


@pytest.mark.nightly  # a session of its own; by day that of the query that Ctrl-C ends is not heard either
def test_nothing_of_spark_is_heard(tables: Path) -> None:
    done = spawn("query", tables, "--ask", "top-topics", "--ask", "errors", "--limit", 2, *HERE)
    assert done == (0, asked.ANSWERS, "")


def test_only_the_tables_are_opened_unless_files_are_allowed(tables: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("correct horse")
    there = f"SELECT * FROM text.`{secret}`"
    done = call("query", tables, there, *HERE, "--format", "csv", "--conf", "spark.sql.runSQLOnFiles=true")
    assert done.status == 2
    assert "correct horse" not in done.out
    assert "Traceback" not in done.err
    done = call("query", tables, f"CREATE TEMPORARY VIEW a USING text OPTIONS (path '{secret}')", *HERE)
    assert (done.status, "--allow-files" in done.err) == (2, True)
    assert "correct horse" in query(tables, there, "--format", "csv", "--allow-files").out


def test_csv_and_json_are_for_other_programs(tables: Path) -> None:
    done = query(tables, "--ask", "lag", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert rows[0] == {
        "group_id": "billing", "topic": "parcels", "partition": "0", "committed": "2", "log_end": "7", "lag": "5",
        "committed_at": "2026-11-21T12:31:04.300000Z",
    }  # fmt: skip
    assert rows[2]["lag"] == ""
    several = query(tables, "--ask", "lag", "--ask", "no-response", "--format", "json").lines
    assert [(line["question"], line.get("lag")) for line in several if line.get("client_id") != HOSTILE] == [
        ("lag", 5), ("lag", 3), ("lag", None), ("no-response", None),
    ]  # fmt: skip


def test_captured_text_is_escaped(tables: Path) -> None:
    sql = "SELECT topics, client_id FROM exchanges WHERE capture LIKE '%hostile%'"
    for form in ("table", "json"):
        done = query(tables, sql, "--format", form)
        assert "<img src=x>" in done.out
        assert done.out.replace("\n", "").isprintable()
    assert json.loads(done.out) == {"topics": [HOSTILE], "client_id": HOSTILE}


def test_wrong_sql_is_told_in_spark_s_own_line(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = query(tables, "SELECT * FROM nowhere", status=2)
    assert done.out == ""
    assert done.err.startswith("kdbg: spark: [TABLE_OR_VIEW_NOT_FOUND] The table or view `nowhere` cannot be")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "spark-warehouse").exists()


def test_two_columns_of_a_name_are_no_json(tables: Path) -> None:
    assert "two columns are named 'a'" in query(tables, "SELECT 1 AS a, 2 AS a", "--format", "json", status=2).err


def test_what_is_not_installed_is_named(tables: Path) -> None:
    done = query(tables, "SELECT 1", status=2, PATH="/nowhere", JAVA_HOME="")
    assert "Spark needs Java" in done.err
    assert done.err.count("\n") == 1


def test_ctrl_c_ends_it(tables: Path) -> None:
    sql = "SELECT id FROM range(0, 1000000000, 1, 10000)"  # rows come partition by partition
    with subprocess.Popen(
        [*COMMAND, "query", str(tables), sql, "--format", "csv", *HERE],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stdout.readline() == b"id\n"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (130, b"")


@pytest.mark.nightly  # a session of its own; other commands' closed pipes, and Ctrl-C of this one, are tested by day
def test_whoever_reads_may_stop_reading(tables: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "query", str(tables), "SELECT id FROM range(1000000)", "--format", "csv", *HERE],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"id\n"
        running.stdout.close()
        assert running.wait(60) == 0
        assert running.stderr.read() == b""
