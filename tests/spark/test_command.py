"""`kdbg pipeline` as a user calls it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import polars
import pytest

from kdbg.scale.spark.commit import Output
from kdbg.ui.cli.failing import LEVELS
from tests.cli.calls import CAPTURES, COMMAND, ENVIRONMENT, Outcome, call, spawn
from tests.traffic import Talk, pcap

from .archives import concatenated, write
from .decoded import ask, decoded, tabled

pytestmark = pytest.mark.usefixtures("here")  # where Spark cannot start, these skip or fail as all others do
ERRORS = CAPTURES / "errors.pcap"
HERE = ("--master", "local[2]")


def pipeline(*arguments: object, status: int = 0, **environment: str) -> Outcome:
    """Run it in this process, in one of its own where it is given environment variables."""
    done = (spawn if environment else call)("pipeline", *arguments, *HERE, **environment)
    assert (done.status, done.out) == (status, ""), done.err
    return done


def test_it_closes_with_the_counts_of_decode_and_nothing_of_spark_is_heard(tmp_path: Path) -> None:
    first = CAPTURES / "first-contact.pcap"
    done = pipeline(first, "--out", tmp_path / "tables", TMPDIR=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["tables"], "nothing is left in the folder of temporary files"
    assert done.err == f"{call('decode', first).closing} · tables in {tmp_path}/tables\n"
    assert polars.read_delta(str(tmp_path / "tables/exchanges")).height == 31
    again = pipeline(ERRORS, first, "--out", tmp_path / "tables", "--append", status=1)
    assert [[*entry["files"]] for _, entry in Output(str(tmp_path / "tables")).entries()] == [
        [str(first)],
        [str(ERRORS)],
    ]
    assert tabled(tmp_path / "tables") == decoded([ERRORS, first])
    assert "trailing-bytes 14" in again.closing


def test_append_continues_files_that_grow_and_closes_connections_on_request(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "tables"
    folder.mkdir()
    packets = concatenated(2)
    for number, end in enumerate((len(packets) // 2, len(packets))):
        write(folder / f"kafka-2026112{number + 1}.pcap", packets[number * (len(packets) // 2) : end])
    last = folder / "kafka-20261122.pcap"
    data = last.read_bytes()
    last.write_bytes(data[: len(data) // 3])
    (folder / "begun.pcap").touch()
    first = pipeline(folder, "--out", out, "--append", status=1)
    assert "skipped " in first.err
    assert re.search(r" · \d+ connections? open · tables in ", first.closing)
    last.write_bytes(data)
    again = pipeline(folder, "--out", out, "--append", "--forget", "0", status=1)
    assert " open · " not in again.closing
    assert pipeline(folder, "--out", out, "--append").closing.endswith(
        "the tables already contain these files\n".strip()
    )
    whole = write(tmp_path / "whole.pcap", packets)
    assert tabled(out) == decoded([whole], "kafka-*.pcap")


def test_filters_are_those_of_decode(tmp_path: Path) -> None:
    chosen = ("--api", "produce", "--errors", "--since", "1970-01-02", "--port", 9092)
    wanted = {line["correlation_id"] for line in call("decode", ERRORS, "--format", "json", *chosen).lines}
    keys = [word for name in ("secret", "access") for word in ("--conf", f"spark.hadoop.fs.s3a.{name}.key=hunter2")]
    done = pipeline(ERRORS, "--out", tmp_path / "tables", *chosen, *keys)
    assert wanted == {row[6] for row in tabled(tmp_path / "tables")} != set()
    assert f" {len(wanted)} kept · " in done.closing
    [(_, entry)] = Output(str(tmp_path / "tables")).entries()
    assert "hunter2" not in json.dumps(entry)
    assert entry["options"]["since"] == 86_400


def test_the_exit_status_is_that_of_fail_on(tmp_path: Path) -> None:
    first = CAPTURES / "first-contact.pcap"
    pipeline(ERRORS, "--out", tmp_path / "tables", "--fail-on", "never", "--diagnose")
    pipeline(first, "--out", tmp_path / "others", "--fail-on", "finding", status=1)
    for folder, statuses in (("tables", (1, 1, 0)), ("others", (0, 1, 0))):
        for level, status in zip(LEVELS, statuses, strict=True):
            count = "SELECT COUNT(*) FROM exchanges"
            assert call("query", tmp_path / folder, count, "--fail-on", level).status == status
            assert call("report", tmp_path / folder, "-o", "-", "--fail-on", level).status == status
    assert [call("diagnose", tmp_path / "tables", "--fail-on", level).status for level in LEVELS] == [1, 1, 0]


def test_hostile_names_stay_data(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>\x1b[31m"
    talk = Talk(client_id="\x1b]0;owned\x07").ask("Metadata", 1, topics=[{"name": name}])
    capture = tmp_path / "\x1b[31m.pcap"
    capture.write_bytes(pcap(talk))
    done = pipeline(capture, "--out", tmp_path / "tables")
    assert "\x1b" not in done.err
    assert ask(tmp_path / "tables", "SELECT topics, client_id FROM {exchanges}") == [([name], "\x1b]0;owned\x07")]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere.pcap"], "nowhere.pcap: no such file"),
        ([str(CAPTURES / "README.md")], "README.md: not a pcap or pcapng file"),
        ([str(ERRORS), "--api", "metadat"], "unknown API 'metadat'; did you mean Metadata or"),
        ([str(ERRORS), "--split", "5"], "invalid size '5'"),
        ([str(ERRORS), "--conf", "x"], "invalid property 'x'"),
        (["s3://no such bucket/x"], "s3://no such bucket/x: "),
    ],
)
def test_wrong_use_is_refused_in_a_line(tmp_path: Path, arguments: list[str], problem: str) -> None:
    done = pipeline(*arguments, "--out", tmp_path / "tables", status=2)
    assert problem in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "tables").exists()


def test_what_is_not_installed_is_named(tmp_path: Path) -> None:
    done = pipeline(ERRORS, "--out", tmp_path, status=2, PATH="/nowhere", JAVA_HOME="")
    assert "Spark needs Java" in done.err
    assert done.err.count("\n") == 1


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """The command, once its run's folder is there."""
    out = Path(str(arguments[arguments.index("--out") + 1]))
    before = set(out.iterdir()) if out.exists() else set()
    running = subprocess.Popen(
        [*COMMAND, "pipeline", *map(str, arguments), *HERE], stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    try:
        while running.poll() is None and not (out.exists() and set(out.iterdir()) - before):
            time.sleep(0.05)
        yield running
    finally:
        running.kill()
        running.communicate()


def test_a_run_that_is_killed_leaves_the_tables_as_they_were(tmp_path: Path) -> None:
    out = tmp_path / "tables"
    pipeline(ERRORS, "--out", out, status=1)
    state, rows = Output(str(out)).entries(), tabled(out)
    others = [CAPTURES / "aiokafka.pcap", CAPTURES / "kafka-python.pcap"]
    with started(*others, "--out", out) as running:
        running.send_signal(signal.SIGKILL)
        assert running.wait(60) == -signal.SIGKILL
    assert Output(str(out)).entries() == state
    assert tabled(out) == rows
    left = [path.name for path in out.iterdir() if path.name.startswith(".")]
    assert len(left) == 1
    pipeline(*others, "--out", out)
    assert tabled(out) == decoded(others)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.nightly  # starts a session each time; test_kills.py kills what commits, by day too
def test_a_run_that_is_killed_at_any_moment_leaves_the_old_or_the_new_tables(tmp_path: Path) -> None:
    out, dice, times = tmp_path / "tables", Random(27), 8
    others = [CAPTURES / "aiokafka.pcap", CAPTURES / "kafka-python.pcap"]
    old, new = decoded([ERRORS]), decoded(others)
    for _ in range(times):
        pipeline(ERRORS, "--out", out, status=1)
        with started(*others, "--out", out) as running:
            time.sleep(dice.uniform(0, 6))
            running.kill()
            running.wait(60)
        rows = call("query", out, "SELECT count(*) AS n FROM exchanges", "--format", "csv").out
        assert int(rows.split()[1]) == len(tabled(out))
        assert tabled(out) in (old, new)


@pytest.mark.nightly
def test_ctrl_c_ends_it_and_cleans_up(tmp_path: Path) -> None:
    with started(ERRORS, "--out", tmp_path / "tables") as running:
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
        assert running.returncode == 130
        assert said.decode() == "kdbg: interrupted; the tables are unchanged\n"
    assert not [path for path in (tmp_path / "tables").rglob("*") if path.is_file()]
