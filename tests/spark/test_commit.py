"""A run's files become part of all tables at once, and whatever comes to nothing leaves nothing."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from threading import Barrier
from typing import Any

import polars
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import kdbg
from kdbg.errors import CaptureRefused, InputError, SparkError
from kdbg.scale.spark.commit import OWN, WAITING, Output
from kdbg.scale.spark.delta import RUN_COLUMNS, SCHEMAS, DeltaFolder
from kdbg.scale.spark.follow.followed import Followed
from kdbg.scale.spark.follow.progress import PointState
from kdbg.scale.spark.parquet import MOST_OPEN, ROWS, Tables
from kdbg.views.tables.arrow import TABLES as COLUMNS
from kdbg.views.tables.columns import ABOUT, TABLES
from kdbg.views.tables.message_columns import WantedRows
from kdbg.views.tables.rows import Rows
from tests.cli.calls import ENVIRONMENT, MAIN, SHIPPED, call

from .decoded import ask
from .writers import BOTH, commit, follow, groups, row, stored, write

DEAD = f"20260101T000000-{platform.node()}-{2**22 + 1}"
"""A run of a process that cannot be: Linux counts them up to 2 ** 22."""
DAY = 86_400_000_000


def test_a_run_replaces_the_tables_and_append_adds_to_them(tmp_path: Path) -> None:
    commit(tmp_path, "a")
    commit(tmp_path, "b", "c")
    assert groups(tmp_path) == ["b", "c"]
    output = commit(tmp_path, "d", append=True)
    assert groups(tmp_path) == stored(tmp_path) == ["b", "c", "d"]
    assert output.known() == {"b": 1, "c": 1, "d": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*SCHEMAS, "runs"])


def test_files_of_attempts_that_came_to_nothing_are_no_part_of_it(tmp_path: Path) -> None:
    output = Output(str(tmp_path))
    output.begin()
    write(output, "lost")
    output.commit(write(output, "a"), {"files": {}}, append=False)
    assert groups(tmp_path) == stored(tmp_path) == ["a"]


def test_before_the_commit_there_is_nothing_to_read(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "tables"))
    output.begin()
    write(output, "a")
    with pytest.raises(InputError, match="no tables; create them with kdbg pipeline"):
        DeltaFolder(output.out).files(["groups"])
    assert output.entries() == []
    output.abandon()
    assert [path for path in (tmp_path / "tables").rglob("*") if path.is_file()] == []


def test_temporary_files_of_killed_runs_are_deleted_and_those_of_others_are_not(tmp_path: Path) -> None:
    alive = f"20260101T000000-{platform.node()}-{os.getppid()}"
    elsewhere = "20260101T000000-another-machine-77"
    for run in (DEAD, alive, elsewhere):
        (tmp_path / f".kdbg-{run}").mkdir()
    commit(tmp_path, "b", append=True)
    assert {path.name for path in tmp_path.glob(".kdbg-*")} == {f".kdbg-{alive}", f".kdbg-{elsewhere}"}


@pytest.mark.parametrize("name", ["a b", "a%b", "a#b?c", "ü[x]{y}*", "date=1"])
def test_the_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    for row_name, append in (("a", False), ("b", True)):
        commit(tmp_path / name, row_name, append=append)
    assert groups(tmp_path / name) == ["a", "b"]
    assert call("query", tmp_path / name, "SELECT count(*) FROM groups", "-f", "csv").out == "count_star()\n2\n"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_path_that_deltalake_takes_for_another_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be in a folder with %XX in its path"):
        Output(str(tmp_path / "a%20b"))


def test_other_files_in_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    commit(tmp_path, "a")
    commit(tmp_path, "b")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_every_column_has_its_comment(tmp_path: Path) -> None:
    commit(tmp_path, "a")
    for table in (*SCHEMAS, "runs"):
        fields = DeltaTable(tmp_path / table).schema().fields
        comments = {field.name: field.metadata.get("comment") for field in fields}
        assert all(comments.values())
        wanted = RUN_COLUMNS if table == "runs" else SCHEMAS[table]
        assert [*comments] == wanted.names
        assert {name: comments[name] for name in ABOUT.get(table, ())} == ABOUT.get(table, {})


def test_a_table_gains_the_columns_that_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SCHEMAS["groups"]
    with monkeypatch.context() as earlier:
        earlier.setitem(SCHEMAS, "groups", whole.remove(whole.get_field_index("new_member")))
        commit(tmp_path, "a")
    assert "new_member" not in DeltaTable(tmp_path / "groups").to_pyarrow_table().column_names
    commit(tmp_path, "b", append=True)
    [found] = [one for one in DeltaTable(tmp_path / "groups").schema().fields if one.name == "new_member"]
    assert found.metadata["comment"] == ABOUT["groups"]["new_member"]
    assert groups(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("days", [1, MOST_OPEN + 5])
def test_many_rows_of_many_days(tmp_path: Path, days: int) -> None:
    output = Output(str(tmp_path))
    tables = Tables(output.folder)
    for n in range(ROWS + 10):
        tables.add("groups", n % days * DAY, row("groups", str(n)))
    tables.add("groups", None, row("groups", "no time"))
    report = tables.close()
    assert report["rows"]["groups"] == ROWS + 11
    assert len(report["files"]) == days
    output.commit(report["files"], {"files": {}}, append=False)
    assert ask(tmp_path, "SELECT count(*), count(DISTINCT date) FROM {groups}") == [(ROWS + 11, days)]
    actions = polars.DataFrame(DeltaTable(tmp_path / "groups").get_add_actions(flatten=True))
    assert actions["num_records"].sum() == ROWS + 11
    sizes = {str(path.relative_to(tmp_path / "groups")): path.stat().st_size for path in tmp_path.glob("groups/*/*")}
    assert {path: sizes[path] for path in actions["path"]} == dict(
        zip(actions["path"], actions["size_bytes"], strict=True)
    )


def test_numbers_that_count_are_kept_as_differences_and_words_once(tmp_path: Path) -> None:
    tables = Tables(f"{tmp_path}/.kdbg-run")
    exchanges = Rows(tables.add, WantedRows(), {})
    for exchange in kdbg.read(SHIPPED[0]):
        exchanges.exchange("capture", exchange)
    name = next(name for name, *_ in tables.close()["files"] if name.startswith("exchanges/"))
    file = pq.ParquetFile(tmp_path / name)
    group = file.metadata.row_group(0)
    encodings = {column["path_in_schema"]: column["encodings"] for column in group.to_dict()["columns"]}
    counting = {column for column, used in encodings.items() if "DELTA_BINARY_PACKED" in used}
    repeated = {column for column, used in encodings.items() if "RLE_DICTIONARY" in used}
    assert counting >= {"correlation_id", "request_time", "response_time", "request_packet"}
    assert repeated >= {"capture", "connection_id", "client", "api", "topics.list.element", "errors.list.element"}
    assert file.schema_arrow == COLUMNS["exchanges"]


class TestSeveralRunsAtOnce:
    def test_of_two_that_add_the_same_captures_one_wins(self, tmp_path: Path) -> None:
        commit(tmp_path, "before")
        one, other = Output(str(tmp_path)), Output(str(tmp_path))
        for output in (one, other):
            output.begin()
        one.commit(write(one, "more"), {"files": {"more": 1}}, append=True)
        files = write(other, "more")
        with pytest.raises(SparkError, match="another run added more"):
            other.commit(files, {"files": {"more": 1}}, append=True)
        other.abandon()
        assert groups(tmp_path) == stored(tmp_path) == ["before", "more"]
        assert not list(tmp_path.rglob(f"{other.run}*")), "the files of a run that failed are deleted"

    def test_readers_take_a_run_that_was_killed_before_its_tables_had_it(self, tmp_path: Path) -> None:
        commit(tmp_path, "a")
        there, whole = ["a"], ["a"]
        for names, append in ((["b", "c"], False), (["d"], True)):
            output = Unfinished(str(tmp_path))
            output.begin()
            output.commit(write(output, *names), {"files": dict.fromkeys(names, 1)}, append=append)
            there, whole = whole, [*whole, *names] if append else names
            assert (stored(tmp_path), groups(tmp_path)) == (there, whole), "the one before it is settled by then"
        assert commit(tmp_path, "e", append=True).known() == dict.fromkeys("bcde", 1)
        assert groups(tmp_path) == stored(tmp_path) == ["b", "c", "d", "e"]

    def test_a_run_that_replaces_takes_nothing_of_one_that_came_after_it(self, tmp_path: Path) -> None:
        """The tables get runs in the order of the table of runs, whoever commits them."""
        commit(tmp_path, "a")
        slow = Unfinished(str(tmp_path))
        slow.begin()
        slow.commit(write(slow, "b"), {"files": {"b": 1}}, append=False)
        commit(tmp_path, "c", append=True)
        Output(str(tmp_path)).settle()
        assert groups(tmp_path) == stored(tmp_path) == ["b", "c"]

    def test_a_reader_that_was_slow_opens_the_tables_again(self, tmp_path: Path) -> None:
        batches = ["b", "c"]

        class Slow(DeltaFolder):
            def runs(self, columns: list[str]) -> list[dict[str, Any]]:
                while batches:
                    follow(str(tmp_path), batches.pop(0), 0)
                return super().runs(columns)

        follow(str(tmp_path), "a", 0)
        found = [file.name for file in Slow(str(tmp_path)).files(["groups"]).files["groups"]]
        assert sorted(found) == sorted(
            file.name for file in DeltaFolder(str(tmp_path)).files(["groups"]).files["groups"]
        )
        assert len(found) == 3
        assert groups(tmp_path) == ["a-0", "b-0", "c-0"]

    def test_tables_are_made_by_one_of_several(self, tmp_path: Path) -> None:
        for number in range(5):
            out, begin = str(tmp_path / str(number)), Barrier(4)

            def make(out: str = out, begin: Barrier = begin) -> int:
                begin.wait()
                return int(DeltaFolder(out).opened("groups").version())

            with ThreadPoolExecutor(4) as pool:
                assert {made.result() for made in [pool.submit(make) for _ in range(4)]} == {0}

    def test_a_batch_is_committed_once(self, tmp_path: Path) -> None:
        one, other = Followed(str(tmp_path)), Followed(str(tmp_path))
        entry = {"commit": 1, "files": {}}
        for output in (one, other):
            output.recover()
            output.begin()
        one.commit(write(one, "a"), entry)
        files = write(other, "a")
        with pytest.raises(SparkError, match="another run follows into"):
            other.commit(files, entry)
        assert other.recover()["commit"] == 1
        assert groups(tmp_path) == ["a"]

    @pytest.mark.parametrize("written", [True, False])
    def test_a_commit_whose_response_is_lost_counts_if_it_is_in_the_log(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
    ) -> None:
        commit(tmp_path, "a")
        output = Output(str(tmp_path))
        whole, lost = output.write, [True]

        def write_once(*arguments: Any, **named: Any) -> None:
            fails = lost and lost.pop()
            if written or not fails:
                whole(*arguments, **named)
            if fails:
                raise OSError("connection reset")

        monkeypatch.setattr(output, "write", write_once)
        output.begin()
        files = write(output, "b")
        if written:
            output.commit(files, {"files": {"b": 1}}, append=True)
        else:
            with pytest.raises(CaptureRefused, match="connection reset"):
                output.commit(files, {"files": {"b": 1}}, append=True)
        output.abandon()
        assert groups(tmp_path) == stored(tmp_path) == (["a", "b"] if written else ["a"])
        assert len(list(tmp_path.glob("groups/date=*/*"))) == 1 + written


class Unfinished(Output):
    """One that is killed once its run is committed to the table of runs."""

    def settle(self, runs: Any = None) -> None:
        if runs is not None:
            super().settle(runs)


def test_packets_wait_as_long_as_a_run_refers_to_them(tmp_path: Path) -> None:
    def waits(point: str) -> Output:
        """A run after which packets of a point wait."""
        output = Output(str(tmp_path))
        before = output.progress()
        output.begin()
        folder = Path(output.waiting)
        folder.mkdir(parents=True)
        (folder / "x.arrow").touch()
        state = PointState(before.at + 1, point, "x.pcap", True, waiting=[f"{folder}/x.arrow"])
        output.commit(write(output, point), {"files": {}, "points": {point: asdict(state)}}, append=True, before=before)
        return output

    def folders() -> set[str]:
        return {str(path) for path in (tmp_path / OWN).iterdir()}

    killed = tmp_path / OWN / f"{WAITING}20260101T000000000000-{platform.node()}-999999999"
    killed.mkdir(parents=True)
    one, other = waits("a"), waits("b")
    assert folders() == {one.waiting, other.waiting}, "of a run that was killed nothing waits"
    begun = Output(str(tmp_path))
    Path(begun.waiting).mkdir()
    third = waits("a")
    assert folders() == {third.waiting, other.waiting, begun.waiting}, "that of a run that is at work is kept"
    begun.abandon()
    commit(tmp_path, "c")
    assert folders() == set(), "one that replaces the tables leaves nothing"


def test_runs_that_begin_in_the_same_second_have_names_of_their_own(tmp_path: Path) -> None:
    assert len({Output(str(tmp_path)).run for _ in range(20)}) == 20, "a run's files are told by its name"


FULL = """
import contextlib, os, sys
from pathlib import Path
from kdbg.errors import KdbgError
from kdbg.scale.spark.commit import Output
from tests.spark.writers import commit, groups, stored, write
out, filler, append = Path(sys.argv[1]) / "out", Path(sys.argv[1]) / "filler", sys.argv[2] == "append"
commit(out, "a")
now, found = ["a"], set()
for step, room in enumerate([0, 4, 12, 40, 200, 1000, 1024, 1040, 1100, 1400]):
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(filler, max(filler.stat().st_size - room * 1024, 0))
    output, name, done = Output(str(out)), f"b{step}", False
    try:
        output.begin()
        output.commit(write(output, name), {"files": {name: 1}}, append=append)
        done = True
    except (KdbgError, OSError) as error:
        assert "\\n" not in str(error), error
    finally:
        filler.unlink()
        output.abandon()
    now = now if not done else [*now, name] if append else [name]
    assert groups(out) == stored(out) == sorted(now), (room, done, groups(out), stored(out), now)
    found.add(done)
print(sorted(found))
"""
"""Runs on a file system of 8 MiB that is full but for some KiB."""


@pytest.mark.parametrize("how", ["append", "replace"])
def test_a_full_disk_leaves_the_tables_as_they_were(tmp_path: Path, how: str) -> None:
    script = 'mount -t tmpfs -o size=8m none "$0" && exec "$@"'
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        pytest.skip("a file system of its own needs user namespaces")
    done = subprocess.run(
        [*alone, "sh", "-c", script, str(tmp_path), sys.executable, "-c", FULL, str(tmp_path), how],
        check=False, cwd=MAIN, env=ENVIRONMENT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "[False, True]\n", done.stderr


class TestMaintenance:
    def test_small_files_are_merged_and_former_ones_deleted(self, tmp_path: Path) -> None:
        names = [f"{n:02}" for n in range(12)]
        for name in names:
            commit(tmp_path, name, append=True)
        before = [*tmp_path.glob("groups/date=*/*.parquet")]
        assert len(before) == len(names)
        assert "groups: 12 files merged into 1" in call("tables", "compact", tmp_path).out.splitlines()
        assert groups(tmp_path) == stored(tmp_path) == names
        assert Output(str(tmp_path)).known() == dict.fromkeys(names, 1)
        (tmp_path / "groups/date=1970-01-01/killed-0.parquet").write_bytes(b"")
        assert "groups: 0 files deleted" in call("tables", "vacuum", tmp_path).out, "they are younger than 7 days"
        dry = call("tables", "vacuum", tmp_path, "--retention", 0, "--dry-run").out.splitlines()
        assert "groups: 13 files to delete" in dry
        assert "groups/date=1970-01-01/killed-0.parquet" in dry
        assert all(map(Path.exists, before))
        assert "groups: 13 files deleted" in call("tables", "vacuum", tmp_path, "--retention", 0).out
        assert not any(map(Path.exists, before))
        assert len(list(tmp_path.glob("groups/date=*/*.parquet"))) == 1
        assert groups(tmp_path) == stored(tmp_path) == names
        commit(tmp_path, "new")
        assert groups(tmp_path) == stored(tmp_path) == ["new"]

    def test_versions_name_their_run(self, tmp_path: Path) -> None:
        runs = [commit(tmp_path, name, append=name > "a").run for name in ("a", "b")]
        call("tables", "compact", tmp_path)
        lines = call("tables", "history", tmp_path).out.splitlines()
        found = [line.split() for line in lines if line.startswith("groups ")]
        assert [line[1] for line in found] == ["3", "2", "1", "0"]
        assert [" ".join(line[4:]) for line in found[:3]] == [
            "optimize – –", f"append 1 {runs[1]}", f"overwrite 1 {runs[0]}"
        ]  # fmt: skip
        assert len(call("tables", "history", tmp_path, "--limit", 3).out.splitlines()) == 4

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (("compact",), ": no tables; create them with kdbg pipeline"),
            (("history", "--dry-run"), "--retention and --dry-run require vacuum"),
            (("vacuum", "--limit", 3), "--limit requires history"),
            (("migrate",), ": no tables of an earlier version"),
            (("merge",), "'merge'"),
        ],
    )
    def test_wrong_use_is_refused_in_a_line(self, tmp_path: Path, arguments: tuple[object, ...], problem: str) -> None:
        action, *rest = arguments
        done = call("tables", action, tmp_path, *rest)
        assert (done.status, done.out) == (2, "")
        assert problem in done.err
        assert done.err.count("\n") == 1
        assert not list(tmp_path.iterdir())

    def test_tables_that_kdbg_cannot_read_are_refused_in_a_line(self, tmp_path: Path) -> None:
        commit(tmp_path, "a")
        first = tmp_path / "groups/_delta_log/00000000000000000000.json"
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
                    "writerFeatures": ["deletionVectors"]}  # fmt: skip
        lines = [json.loads(line) for line in first.read_text().splitlines()]
        lines = [{"protocol": protocol} if "protocol" in line else line for line in lines]
        first.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = call("query", tmp_path, "SELECT * FROM groups")
        assert (done.status, done.out) == (2, "")
        assert done.err == f"kdbg: {tmp_path}/groups: kdbg cannot read Delta tables with deletionVectors\n"

    @pytest.mark.parametrize("missing", [("deltalake",), ("deltalake", "duckdb", "pyarrow", "pytz")])
    @pytest.mark.parametrize(
        "arguments",
        ["query {} --ask errors", "tables compact {}", "tables history {}", "diagnose {}", "report {} -o -"],
    )
    def test_without_an_extra_a_line_says_what_to_install(
        self, tmp_path: Path, missing: tuple[str, ...], arguments: str
    ) -> None:
        commit(tmp_path, "a")
        code = f"import sys; from importlib import util; missing = {missing}; found = util.find_spec\n"
        code += "sys.modules.update(dict.fromkeys(missing))\n"
        code += "util.find_spec = lambda name, *more: None if name in missing else found(name, *more)\n"
        code += "from kdbg.ui.cli import main; main()"
        command = [sys.executable, "-c", code, *arguments.format(tmp_path).split()]
        done = subprocess.run(command, check=False, env=ENVIRONMENT, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(r"kdbg: .* needs .*; pip install 'kdbg-kafka\[(query|report)\]' .*\n", done.stderr)


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """Tables of an earlier version: of a run, of one that follows, and files of runs that were killed."""
    out, entries = tmp_path / "former", []
    for run in ("one", "follow", "killed"):
        tables = Tables(f"{out}/.kdbg-{run}")
        for table in BOTH:
            tables.add(table, 0, row(table, run))
        files = tables.close()["files"]
        if run != "killed":
            entries.append({"run": run, "started": "2026-01-01", "files": {f"{run}.pcap": 7}, "commit": 3})
    pending = Tables(f"{out}/.kdbg-follow")
    pending.add("groups", 0, row("groups", "pending"))
    (out / ".kdbg-following").mkdir()
    said = {"commit": 4, "files": [name for name, *_ in pending.close()["files"]]}
    (out / ".kdbg-following/pending.json").write_text(json.dumps(said))
    (out / "causes").mkdir()
    (out / "causes/one-0.jsonl").write_text('{"file":"one.pcap","cause":"x","severity":"error"}\n')
    (out / "_kdbg.json").write_text(json.dumps({"kdbg": "0.1", "runs": entries, "tables": TABLES}))
    assert files
    return out


class TestMigration:
    def test_tables_of_earlier_versions_are_converted(self, former: Path) -> None:
        for arguments in (
            ("query", former, "SELECT * FROM groups"),
            ("tables", "history", former),
            ("diagnose", former),
        ):
            refused = call(*arguments)
            assert refused.status == 2
            assert refused.err == (
                f"kdbg: {former}: tables of an earlier version; convert them with kdbg tables migrate\n"
            )
        with pytest.raises(InputError, match="kdbg tables migrate"):
            Output(str(former)).begin()
        done = call("tables", "migrate", former)
        assert (done.status, done.out, done.err) == (0, "converted the tables of 2 runs\n", "")
        assert groups(former) == stored(former) == ["follow", "one"]
        assert not (former / "_kdbg.json").exists()
        assert not list(former.glob("causes/*.jsonl"))
        assert ask(former, "SELECT run, capture, place, cause FROM {causes}") == [("one", "one.pcap", 0, "x")]
        output = commit(former, "new", append=True)
        assert output.known() == {"one.pcap": 7, "follow.pcap": 7, "new": 1}
        assert dict(output.entries())["follow"]["commit"] == 3
        assert groups(former) == stored(former) == ["follow", "new", "one"]
        assert call("tables", "migrate", former).status == 2

    def test_one_that_was_killed_after_its_commit_is_completed(self, former: Path) -> None:
        state = (former / "_kdbg.json").read_bytes()
        call("tables", "migrate", former)
        (former / "_kdbg.json").write_bytes(state)
        assert call("tables", "migrate", former).out == "converted the tables of 2 runs\n"
        assert not (former / "_kdbg.json").exists()
        assert groups(former) == stored(former) == ["follow", "one"]

    def test_a_damaged_cause_is_refused_in_a_line(self, former: Path) -> None:
        (former / "causes/one-0.jsonl").write_text("[]\n")
        done = call("tables", "migrate", former)
        assert (done.status, done.out) == (2, "")
        assert done.err == f"kdbg: {former}/causes/one-0.jsonl: a line is not a cause\n"
        assert (former / "_kdbg.json").exists()
        assert not (former / "runs").exists()

    @pytest.mark.parametrize("state", ["no JSON", "[]", '{"runs": []}', '{"runs": [{}]}'])
    def test_a_damaged_list_of_runs_is_refused_in_a_line(self, former: Path, state: str) -> None:
        (former / "_kdbg.json").write_text(state)
        done = call("tables", "migrate", former)
        assert (done.status, done.out) == (2, "")
        assert done.err == f"kdbg: {former}/_kdbg.json: not the list of runs of a pipeline\n"
        assert not (former / "runs").exists()
