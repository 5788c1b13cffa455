"""A run's files become tables all at once, and whatever comes to nothing leaves nothing."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import kdbg
from kdbg.errors import CaptureRefused, SparkError
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.follow.followed import Followed
from kdbg.scale.spark.parquet import MOST_OPEN, ROWS, Tables
from kdbg.views.tables.arrow import TABLES as SCHEMAS
from kdbg.views.tables.columns import TABLES
from kdbg.views.tables.message_columns import WantedRows
from kdbg.views.tables.rows import Rows
from tests.cli.calls import MAIN, SHIPPED

from .decoded import ask

DEAD = f"20260101T000000-{platform.node()}-{2**22 + 1}"
"""A run of a process that cannot be: Linux counts them up to 2 ** 22."""
DAY = 86_400_000_000


def group(name: str) -> tuple[object, ...]:
    """A row of `groups`."""
    return tuple(name if column == "group_id" else None for column in TABLES["groups"])


def write(output: Output, *names: str) -> list[str]:
    """Rows into the run's folder; the files."""
    tables = Tables(output.folder)
    for name in names:
        tables.add("groups", 0, group(name))
    files: list[str] = tables.close()["files"]
    return files


def groups(out: Path) -> list[str]:
    return sorted(row[0] for row in ask(out, "SELECT group_id FROM {groups}"))


def commit(out: Path, *names: str, append: bool = False) -> Output:
    output = Output(str(out))
    output.begin()
    output.commit(write(output, *names), {"files": dict.fromkeys(names, 1)}, append=append)
    return output


def test_a_run_replaces_the_tables_and_append_adds_to_them(tmp_path: Path) -> None:
    commit(tmp_path, "a")
    commit(tmp_path, "b", "c")
    assert groups(tmp_path) == ["b", "c"]
    output = commit(tmp_path, "d", append=True)
    assert groups(tmp_path) == ["b", "c", "d"]
    assert output.known() == {"b": 1, "c": 1, "d": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["_kdbg.json", "groups"]


def test_files_of_attempts_that_came_to_nothing_are_no_part_of_it(tmp_path: Path) -> None:
    output = Output(str(tmp_path))
    output.begin()
    write(output, "lost")
    output.commit(write(output, "a"), {"files": {}}, append=False)
    assert groups(tmp_path) == ["a"]


def test_before_the_commit_there_is_nothing_to_read(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "tables"))
    output.begin()
    write(output, "a")
    assert [path for path in tmp_path.rglob("*") if path.is_file() and "/." not in str(path)] == []
    assert output.state() == {}
    output.abandon()
    assert list((tmp_path / "tables").iterdir()) == []


def test_what_killed_runs_left_is_cleared_away_and_what_is_alive_is_not(tmp_path: Path) -> None:
    commit(tmp_path, "a")
    alive = f"20260101T000000-{platform.node()}-{os.getppid()}"
    elsewhere = "20260101T000000-another-machine-77"
    [day] = (tmp_path / "groups").iterdir()
    [file] = day.iterdir()
    for run in (DEAD, alive, elsewhere):
        (tmp_path / f".kdbg-{run}").mkdir()
        (day / f"{run}-0123.parquet").write_bytes(file.read_bytes())
    commit(tmp_path, "b", append=True)
    assert {path.name for path in tmp_path.glob(".kdbg-*")} == {f".kdbg-{alive}", f".kdbg-{elsewhere}"}
    assert [path.name for path in day.glob(f"{DEAD}*")] == []
    assert len(list(day.iterdir())) == 4


def test_other_files_in_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    commit(tmp_path, "a")
    commit(tmp_path, "b")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_state_names_every_column(tmp_path: Path) -> None:
    commit(tmp_path, "a")
    state = json.loads((tmp_path / "_kdbg.json").read_text())
    assert state["tables"] == TABLES
    assert set(ask(tmp_path, "SELECT column_name FROM (DESCRIBE SELECT * FROM {groups})")) == {
        (name,) for name in (*TABLES["groups"], "date")
    }


@pytest.mark.parametrize("days", [1, MOST_OPEN + 5])
def test_many_rows_of_many_days(tmp_path: Path, days: int) -> None:
    tables = Tables(f"{tmp_path}/.kdbg-run")
    for n in range(ROWS + 10):
        tables.add("groups", n % days * DAY, group(str(n)))
    tables.add("groups", None, group("no time"))
    report = tables.close()
    assert report["rows"]["groups"] == ROWS + 11
    assert len(report["files"]) == days
    assert ask(tmp_path / ".kdbg-run", "SELECT count(*), count(DISTINCT date) FROM {groups}") == [(ROWS + 11, days)]


def test_numbers_that_count_are_kept_as_differences_and_words_once(tmp_path: Path) -> None:
    tables = Tables(f"{tmp_path}/.kdbg-run")
    exchanges = Rows(tables.add, WantedRows(), {})
    for exchange in kdbg.read(SHIPPED[0]):
        exchanges.exchange("capture", exchange)
    name = next(name for name in tables.close()["files"] if name.startswith("exchanges/"))
    file = pq.ParquetFile(tmp_path / ".kdbg-run" / name)
    group = file.metadata.row_group(0)
    encodings = {column["path_in_schema"]: column["encodings"] for column in group.to_dict()["columns"]}
    counting = {column for column, used in encodings.items() if "DELTA_BINARY_PACKED" in used}
    repeated = {column for column, used in encodings.items() if "RLE_DICTIONARY" in used}
    assert counting >= {"correlation_id", "request_time", "response_time", "request_packet"}
    assert repeated >= {"capture", "connection_id", "client", "api", "topics.list.element", "errors.list.element"}
    assert file.schema_arrow == SCHEMAS["exchanges"]


class TestTwoRunsAtOnce:
    def test_the_second_one_is_refused_and_a_killed_one_blocks_nobody(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        code = "import sys; from kdbg.scale.spark.commit import Output\n"
        code += "with Output(sys.argv[1]).alone(): print(1, flush=True); input()"
        with subprocess.Popen(
            [sys.executable, "-c", code, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as first:
            assert first.stdout is not None
            first.stdout.readline()
            with pytest.raises(SparkError, match="another run writes to"), Output(str(out)).alone():
                pass
            first.kill()
        with Output(str(out)).alone():
            pass
        assert not out.exists(), "nothing was written"

    def test_of_two_that_add_the_same_captures_one_wins(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        commit(out, "before")
        one, other = Output(str(out)), Output(str(out))
        other.run += "1"
        other.folder += "1"
        other._hidden += "1"
        for output in (one, other):
            output.begin()
        one.commit(write(one, "more"), {"files": {"more": 1}}, append=True)
        with pytest.raises(SparkError, match="another run added more"):
            other.commit(write(other, "more"), {"files": {"more": 1}}, append=True)
        assert groups(out) == ["before", "more"]


def test_following_begins_anew_where_nothing_was_committed(tmp_path: Path) -> None:
    """Spark makes its folders before the first batch; a run that was killed then left them empty."""
    out = tmp_path / "out"
    commits = out / ".kdbg-following" / "checkpoint" / "commits"
    commits.mkdir(parents=True)
    assert Followed(str(out)).recover() == {}
    (commits / "0").write_text("v1\n{}")
    with pytest.raises(SparkError, match="tables that no longer exist"):
        Followed(str(out)).recover()


def test_runs_that_begin_in_the_same_second_have_names_of_their_own(tmp_path: Path) -> None:
    assert len({Output(str(tmp_path)).run for _ in range(20)}) == 20, "a run's files are told by its name"


class Failing:
    """A file system that fails, or is killed, when it moves something for the `last` time."""

    def __init__(self, system: Any, last: int, *, killed: bool = False) -> None:
        self._system, self._left, self._killed = system, last, killed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def move(self, one: str, other: str) -> None:
        self._left -= 1
        if self._left == 0:
            if self._killed:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(28, "No space left on device")
        self._system.move(one, other)


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("last", [1, 2, 3, 4])
def test_a_full_disk_while_tables_are_replaced_leaves_them_as_they_were(
    tmp_path: Path, last: int, append: bool
) -> None:
    commit(tmp_path, "a")
    output = Output(str(tmp_path))
    output.begin()
    files = write(output, "b")
    output.system = Failing(output.system, last)
    if append and last > 2:
        return  # there are a file and the state to be moved
    with pytest.raises(CaptureRefused, match="No space left"):
        output.commit(files, {"files": {"b": 1}}, append=append)
    output.abandon()
    assert output.known() == {"a": 1}
    assert [*output.files_of("groups", output.runs())] != []
    assert commit(tmp_path, "c", append=True).known() == {"a": 1, "c": 1}
    assert groups(tmp_path) == ["a", "c"]


@pytest.mark.parametrize("last", [2, 3, 4])
def test_a_run_that_is_killed_while_it_replaces_tables_loses_none(tmp_path: Path, last: int) -> None:
    commit(tmp_path, "a")
    code = (
        "import sys; from pathlib import Path; from tests.spark.test_commit import Failing, Output, write\n"
        "output = Output(sys.argv[1]); output.begin(); files = write(output, 'b')\n"
        "output.system = Failing(output.system, int(sys.argv[2]), killed=True)\n"
        "output.commit(files, {'files': {'b': 1}}, append=False)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(last)], check=False, cwd=MAIN)
    assert done.returncode == -signal.SIGKILL
    assert commit(tmp_path, "c", append=True).known() == {"a": 1, "c": 1}
    assert groups(tmp_path) == ["a", "c"]
