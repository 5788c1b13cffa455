"""`kdbg pipeline` on a real cluster, a standalone master and two workers: by itself, by spark-submit, by Connect."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kdbg.views.tables.columns import RUNS
from tests.cli.calls import COMMAND, ENVIRONMENT, MAIN

from .archives import concatenated, rolled
from .decoded import Row, ask, tabled
from .servers import HERE, cluster, connect_server, home, python_without_kdbg, wait_for

pytestmark = pytest.mark.usefixtures("spark")  # where Spark cannot start, these skip or fail as all others do
EXECUTOR = b"CoarseGrainedExecutorBackend"
PIECES = 12
"""Files of the capture, and so tasks that read it."""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rolled(tmp_path_factory.mktemp("captures") / "rolled", concatenated(120), PIECES, Random(5))


@pytest.fixture(scope="module")
def wanted(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """The tables as this machine makes them without a cluster."""
    out = tmp_path_factory.mktemp("local") / "tables"
    finish(started(captures, out, "--master", "local[2]"))
    return contents(out)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in which kdbg is not installed."""
    found = python_without_kdbg(tmp_path_factory.mktemp("python"))
    missing = subprocess.run([found, "-c", "import pyarrow, orjson, kdbg"], capture_output=True, cwd=found.parent)
    assert b"No module named 'kdbg'" in missing.stderr
    return found


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kdbg as a zip, with what `git archive` puts into it."""
    path = tmp_path_factory.mktemp("packed") / "kdbg.zip"
    with zipfile.ZipFile(path, "w") as file:
        for module in (MAIN / "kdbg").rglob("*.py"):
            file.write(module, module.relative_to(MAIN))
    return path


def contents(out: Path) -> dict[str, list[Row]]:
    """Every row of every table; that of the runs is another each time."""
    found = {}
    for path in sorted(each for each in out.iterdir() if each.is_dir() and each.name != RUNS):
        found[path.name] = sorted(ask(out, f"SELECT * EXCLUDE (run) FROM {{{path.name}}}"), key=repr)
    assert len(tabled(out)) == len(found["exchanges"]) > 1000
    return found


def started(
    captures: Path, out: Path, *options: object, command: list[str] = COMMAND, **environment: str
) -> subprocess.Popen[bytes]:
    arguments = [*command, "pipeline", str(captures), "--out", str(out), *map(str, options)]
    known = ENVIRONMENT | HERE | environment
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=known)


def finish(running: subprocess.Popen[bytes]) -> None:
    with running:
        said = b"".join(running.communicate(timeout=200))  # spark-submit puts what is said on stderr into stdout
    assert running.returncode == 1, said.decode()  # the captures hold what cannot be decoded
    assert b"tables in" in said


def executors() -> set[int]:
    """The Java processes in which Spark runs tasks on this machine."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if EXECUTOR in path.read_bytes():
                found.add(int(path.parent.name))
        except OSError:  # it ended meanwhile
            continue
    return found


def reasons(events: Path) -> set[str]:
    """How tasks ended, as Spark's log of events has it."""
    (log,) = (path for path in events.rglob("*") if path.is_file() and path.stat().st_size)
    lines = map(json.loads, log.read_text().splitlines())
    return {line["Task End Reason"]["Reason"] for line in lines if line["Event"] == "SparkListenerTaskEnd"}


@pytest.mark.nightly
def test_a_cluster_makes_the_tables_that_one_machine_makes(
    master: str, captures: Path, wanted: dict[str, list[Row]], tmp_path: Path
) -> None:
    finish(started(captures, tmp_path / "tables", "--master", master))
    assert contents(tmp_path / "tables") == wanted


@pytest.mark.nightly  # a cluster takes a minute; by day, runs on one machine are killed
def test_an_executor_that_is_killed_takes_nothing_along_and_nothing_is_doubled(
    master: str, captures: Path, wanted: dict[str, list[Row]], tmp_path: Path
) -> None:
    out, others, events = tmp_path / "tables", executors(), tmp_path / "events"
    events.mkdir()
    told = {"enabled": "true", "dir": events, "compress": "false", "rolling.enabled": "false"}
    confs = [word for name, value in told.items() for word in ("--conf", f"spark.eventLog.{name}={value}")]
    running = started(captures, out, "--master", master, *confs)

    def reading() -> bool:
        return running.poll() is not None or any(out.glob("connections/*/*.parquet"))

    wait_for(reading)
    mine = executors() - others
    assert running.poll() is None, running.communicate()[1].decode()
    assert len(mine) == 2
    os.kill(min(mine), signal.SIGKILL)
    finish(running)
    assert contents(out) == wanted
    assert reasons(events) & {"ExecutorLostFailure", "FetchFailed", "Resubmitted"}, reasons(events)


@pytest.mark.nightly
def test_spark_submit_runs_it_with_kdbg_as_a_zip(
    master: str, captures: Path, wanted: dict[str, list[Row]], packed: Path, python: Path, tmp_path: Path
) -> None:
    submit = [str(home() / "bin/spark-submit"), "--master", master, "--py-files", str(packed)]
    command = [*submit, str(MAIN / "kdbg/__main__.py")]
    finish(started(captures, tmp_path / "tables", command=command, PYSPARK_PYTHON=str(python)))
    assert contents(tmp_path / "tables") == wanted


@pytest.mark.nightly
def test_spark_connect_runs_it_with_kdbg_as_a_zip(
    captures: Path, wanted: dict[str, list[Row]], packed: Path, python: Path, tmp_path: Path
) -> None:
    with connect_server(tmp_path, python) as url:
        finish(started(captures, tmp_path / "tables", "--master", url, "--py-files", packed))
    assert contents(tmp_path / "tables") == wanted
