"""`kdbg pipeline` on a real cluster, a standalone master and two workers, by itself and by spark-submit."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.cli.calls import COMMAND, ENVIRONMENT, MAIN

from .archives import concatenated, rolled
from .decoded import Row, ask, tabled

pytestmark = pytest.mark.usefixtures("spark")  # where Spark cannot start, these skip or fail as all others do
HERE = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
EXECUTOR = b"CoarseGrainedExecutorBackend"
PIECES = 12
"""Files of the capture, and so tasks that read it."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def home() -> Path:
    """Where pyspark keeps what starts a cluster."""
    import pyspark

    return Path(pyspark.__file__).parent


@contextmanager
def serving(log: Path, port: int, *command: object) -> Iterator[None]:
    """A process, once it listens on a port; it is ended with all that it started."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            list(map(str, command)), stdout=file, stderr=file, env=ENVIRONMENT | HERE, start_new_session=True
        )
        try:
            wait_for(lambda: process.poll() is not None or listens(port), log)
            assert process.poll() is None, log.read_text()
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def wait_for(happened: Callable[[], bool], log: Path, limit: float = 60) -> None:
    end = time.monotonic() + limit
    while not happened():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a cluster of two workers with a core and a gigabyte each."""
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    start, url = home() / "bin/spark-class", f"spark://127.0.0.1:{port}"
    deploy, local = "org.apache.spark.deploy", ("--host", "127.0.0.1", "--webui-port", 0)
    with ExitStack() as cluster:
        log = folder / "master.log"
        cluster.enter_context(serving(log, port, start, f"{deploy}.master.Master", *local, "--port", port))
        for number in (1, 2):
            mine, room = free_port(), ("--cores", 1, "--memory", "1g", "--work-dir", folder / f"worker-{number}")
            worker = (start, f"{deploy}.worker.Worker", *local, "--port", mine, *room, url)
            cluster.enter_context(serving(folder / f"worker-{number}.log", mine, *worker))
        wait_for(lambda: log.read_text().count("Registering worker") == 2, log)
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


def contents(out: Path) -> dict[str, list[Row]]:
    """Every row of every table."""
    found = {}
    for path in sorted(each for each in out.iterdir() if each.is_dir()):
        found[path.name] = sorted(ask(out, f"SELECT * FROM {{{path.name}}}"), key=repr)
    assert len(tabled(out)) == len(found["exchanges"]) > 1000
    return found


def started(captures: Path, out: Path, *options: object, command: list[str] = COMMAND) -> subprocess.Popen[bytes]:
    arguments = [*command, "pipeline", str(captures), "--out", str(out), *map(str, options)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT | HERE)


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


def test_a_cluster_makes_the_tables_that_one_machine_makes(
    master: str, captures: Path, wanted: dict[str, list[Row]], tmp_path: Path
) -> None:
    finish(started(captures, tmp_path / "tables", "--master", master))
    assert contents(tmp_path / "tables") == wanted


def test_an_executor_that_is_killed_takes_nothing_along_and_nothing_is_doubled(
    master: str, captures: Path, wanted: dict[str, list[Row]], tmp_path: Path
) -> None:
    out, others = tmp_path / "tables", executors()
    running = started(captures, out, "--master", master)

    def reading() -> bool:
        return running.poll() is not None or any(out.glob(".kdbg-*/luggage/*")) or any(out.glob(".kdbg-*/pieces/*"))

    wait_for(reading, captures.parent / "none")
    mine = executors() - others
    assert running.poll() is None, running.communicate()[1].decode()
    assert len(mine) == 2
    os.kill(min(mine), signal.SIGKILL)
    finish(running)
    assert contents(out) == wanted


def test_spark_submit_runs_it_with_kdbg_as_a_zip(
    master: str, captures: Path, wanted: dict[str, list[Row]], tmp_path: Path
) -> None:
    packed = tmp_path / "kdbg.zip"
    with zipfile.ZipFile(packed, "w") as file:
        for path in (MAIN / "kdbg").rglob("*.py"):
            file.write(path, path.relative_to(MAIN))
    submit = [str(home() / "bin/spark-submit"), "--master", master, "--py-files", str(packed)]
    finish(started(captures, tmp_path / "tables", command=[*submit, str(MAIN / "kdbg/__main__.py")]))
    assert contents(tmp_path / "tables") == wanted
