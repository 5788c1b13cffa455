"""SQL stays within bounds: it opens no files, reaches no network, sees no variables, takes so much time and memory."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed")

from kdbg.errors import InputError
from kdbg.scale.query.database import Database
from tests.brokers.waiting import until
from tests.cli.calls import CAPTURES, COMMAND, ENVIRONMENT, call

ERRORS = CAPTURES / "errors.pcap"
FILES = (
    "SELECT * FROM read_csv('{there}')", "SELECT * FROM '{there}'", "SELECT * FROM read_text('{there}')",
    "SELECT * FROM read_blob('{there}')", "SELECT * FROM read_parquet('{there}')", "SELECT * FROM read_json('{there}')",
    "SELECT * FROM sniff_csv('{there}')", "SELECT * FROM parquet_metadata('{there}')",
    "SELECT * FROM glob('{folder}/*')", "COPY (SELECT 1) TO '{new}'", "COPY exchanges FROM '{there}'",
    "ATTACH '{new}' AS other", "EXPORT DATABASE '{new}'", "IMPORT DATABASE '{folder}'",
    "SELECT * FROM read_csv('https://127.0.0.1:1/x.csv')", "SELECT * FROM 's3://bucket/x.parquet'",
)  # fmt: skip
"""Every way in which SQL names a file."""
SETTINGS = (
    "INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL httpfs", "SET enable_external_access = true",
    "SET lock_configuration = false", "SET memory_limit = '100GB'", "PRAGMA memory_limit = '100GB'",
    "RESET memory_limit", "SET temp_directory = '{folder}'", "SET autoload_known_extensions = true",
    "PRAGMA enable_profiling", "SET profiling_output = '{new}'", "SET python_enable_replacements = true",
    "CALL enable_logging('QueryLog', storage = 'file', storage_path = '{new}')", "SELECT * FROM duckdb_secrets()",
    "SELECT getenv('HOME')", "SELECT * FROM variable_of_python",
)  # fmt: skip
"""Every way in which SQL changes what it may, or looks out of the database."""


@pytest.fixture
def held() -> Iterator[Database]:
    with closing(Database()) as held:
        yield held


def refused(held: Database, sql: str, folder: Path) -> str:
    there = folder / "there.csv"
    there.write_text("a,b\n1,2\n")
    with pytest.raises(InputError) as error:
        list(held.answer(sql.format(there=there, folder=folder, new=folder / "new")).rows)
    assert [path.name for path in folder.iterdir()] == ["there.csv"], sql
    return str(error.value)


def test_files_are_not_opened(held: Database, tmp_path: Path) -> None:
    for sql in FILES:
        problem = refused(held, sql, tmp_path)
        assert "; use --allow-files to let SQL access files" in problem, (sql, problem)


def test_nothing_of_that_can_be_changed(held: Database, tmp_path: Path) -> None:
    import pyarrow as pa

    variable_of_python = pa.table({"secret": [42]})
    assert variable_of_python.num_rows == 1
    for sql in SETTINGS:
        assert "\n" not in refused(held, sql, tmp_path), sql


def test_files_are_opened_where_they_are_allowed(tmp_path: Path) -> None:
    there, new = tmp_path / "there.csv", tmp_path / "new.csv"
    there.write_text("a,b\n1,2\n")
    with closing(Database(files=True)) as held:
        assert list(held.answer(f"SELECT * FROM '{there}'").rows) == [(1, 2)]
        list(held.answer(f"COPY (SELECT 1 AS a) TO '{new}'").rows)
        with pytest.raises(InputError, match="locked"):
            held.answer("SET memory_limit = '100GB'")
    assert new.read_text() == "a\n1\n"
    asked = call("query", ERRORS, f"SELECT a FROM '{there}'", "--allow-files", "--format", "csv")
    assert asked.out == "a\r\n1\r\n" or asked.out == "a\n1\n"
    assert call("query", ERRORS, f"SELECT a FROM '{there}'").status == 2


def test_a_question_has_so_many_seconds(tmp_path: Path) -> None:
    for sql in ("SELECT count(*) FROM range(10000000) a, range(10000000) b",
                "SELECT a.range FROM range(10000000) a, range(10000000) b WHERE a.range + b.range < 0"):  # fmt: skip
        with closing(Database(seconds=0.5)) as held:
            with pytest.raises(InputError, match=r"the query exceeds 0.5 s; raise --timeout"):
                list(held.answer(sql).rows)
            assert list(held.answer("SELECT 1").rows) == [(1,)], "the next one has all seconds again"
    done = call("query", ERRORS, "SELECT count(*) FROM range(10000000) a, range(10000000) b", "--timeout", "0.05")
    assert (done.status, done.err) == (
        2, "kdbg: the query exceeds 0.05 s; raise --timeout, or select less\n"
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the system bounds memory on Linux alone")
@pytest.mark.parametrize(
    "sql",
    ["SELECT range(1000000000)", "SELECT length(repeat('a', 3000000000))", "SELECT list(range) FROM range(90000000)"],
)
def test_a_question_takes_no_more_memory_than_is_allowed(sql: str) -> None:
    """Neither in rows nor in one value; where this fails the guard below ends the process."""
    program = (
        "import sys; from kdbg.ui.cli import run; status = run(sys.argv[1:]);"
        "lines = open('/proc/self/status').read().splitlines();"  # getrusage has the peak of who forked, too
        "print(next(line.split()[1] for line in lines if line.startswith('VmHWM')), status)"
    )
    done = subprocess.run(
        [COMMAND[0], "-c", program, "query", str(ERRORS), sql, "--max-memory", "256MB", "--timeout", "20"],
        capture_output=True, text=True, env=ENVIRONMENT, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30)),
    )  # fmt: skip
    peak, status = map(int, done.stdout.split())
    assert status == 2
    assert "the query exceeds --max-memory" in done.stderr
    assert peak >> 10 < 512


def test_a_condition_is_one_expression(held: Database) -> None:
    for text in ("true) AS BOOLEAN); DROP TABLE exchanges; SELECT CAST((true", "true; SELECT 1"):
        with pytest.raises(InputError):
            held.check_condition("exchanges", text)
    held.check_condition("exchanges", "api = 'a;b'")


def test_spark_has_bounds_of_its_own() -> None:
    done = call("query", "tables/", "SELECT 1", "--master", "local", "--timeout", "1")
    assert "--timeout cannot be combined with --master" in done.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_query_that_is_ended_leaves_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    sql = "SELECT count(*) FROM exchanges, range(1000000000) AS a, range(1000000000) AS b"
    command = [*COMMAND, "query", str(ERRORS), sql]
    with subprocess.Popen(command, env=ENVIRONMENT | {"TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE) as running:
        until(lambda: any(tmp_path.iterdir()), lambda: "no folder for what does not fit into memory")
        time.sleep(1)  # it is at work on the question
        running.send_signal(number)
        running.communicate(timeout=30)
    assert [*tmp_path.iterdir()] == []
    assert running.returncode == 128 + number
