"""Spark's own servers, run as an operator would: a master, workers, a Connect server; and a Python without kdbg."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.cli.calls import ENVIRONMENT

HERE = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
"""Loopback alone; executors run the Python that runs the tests."""


def home() -> Path:
    """Where pyspark keeps what starts a server."""
    import pyspark

    return Path(pyspark.__file__).parent


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The URL of a standalone cluster of two workers with a core and a gigabyte each."""
    port, log = free_port(), folder / "master.log"
    start, url = home() / "bin/spark-class", f"spark://127.0.0.1:{port}"
    deploy, local = "org.apache.spark.deploy", ("--host", "127.0.0.1", "--webui-port", 0)
    with ExitStack() as running:
        running.enter_context(serving(log, port, start, f"{deploy}.master.Master", *local, "--port", port))
        for number in (1, 2):
            mine, room = free_port(), ("--cores", 1, "--memory", "1g", "--work-dir", folder / f"worker-{number}")
            worker = (start, f"{deploy}.worker.Worker", *local, "--port", mine, *room, url)
            running.enter_context(serving(folder / f"worker-{number}.log", mine, *worker))
        wait_for(lambda: log.read_text().count("Registering worker") == 2, log)
        yield url


@contextmanager
def connect_server(folder: Path, python: Path) -> Iterator[str]:
    """The URL of a Spark Connect server whose workers run this Python."""
    port = free_port()
    settings = {"spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": "127.0.0.1"}
    confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")
    command = (home() / "bin/spark-submit", "--master", "local[2]", *confs, *server)
    with serving(folder / "connect.log", port, *command, PYSPARK_PYTHON=str(python)):
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def serving(log: Path, port: int, *command: object, **environment: str) -> Iterator[None]:
    """A process, once it listens on a port; it is ended with all that it started."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=file,
            stderr=file,
            env=ENVIRONMENT | HERE | environment,
            cwd=log.parent,
            start_new_session=True,
        )
        try:
            wait_for(lambda: process.poll() is not None or listens(port), log)
            assert process.poll() is None, log.read_text()
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def python_without_kdbg(folder: Path) -> Path:
    """A Python that has all packages of this one but kdbg."""
    import pyspark

    packages = folder / "packages"
    packages.mkdir()
    for path in Path(pyspark.__file__).parents[1].iterdir():
        if "kdbg" not in path.name and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    script = folder / "python"
    known = f"PYTHONPATH=$PYTHONPATH:{shlex.quote(str(packages))}"
    script.write_text(f'#!/bin/sh\n{known} exec {shlex.quote(sys.executable)} -S "$@"\n')
    script.chmod(0o755)
    return script


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(happened: Callable[[], bool], log: Path | None = None, limit: float = 200) -> None:
    end = time.monotonic() + limit
    while not happened():
        assert time.monotonic() < end, log and log.read_text()
        time.sleep(0.05)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
