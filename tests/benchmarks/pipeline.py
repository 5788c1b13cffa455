"""`kdbg pipeline` on two cores beside `kdbg decode --format json` on one: wall time, by stage, by size, by connections.

Cold is the command; warm is the same run in a session that has done such work before. Times of stages are Spark's own,
from its log of events. A worker's memory is the most that any Python process of Spark's ever held.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import NamedTuple

from kdbg.scale.spark import session
from kdbg.scale.spark.archive.plan import plan
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.pipeline import Pipeline, PipelineOptions

from . import archives
from .results import Column, Table

GB = 10**9
SIZES = (GB // 4, GB, 4 * GB)
PACKETS, CONNECTIONS = 3_000_000, 40_000
MASTER = "local[2]"
STAGES = ("count", "read", "pair", "decode")
"""Spark's stages, in the order in which a run submits them."""
WORKER = b"pyspark.daemon"
POLL = 0.05
LOGGED = 1
"""Seconds until what happened stands in the log of events."""


class Run(NamedTuple):
    """Seconds from planning to the tables, those of each of Spark's stages, packets, and a worker's memory in MB."""

    seconds: float
    stages: dict[str, float]
    packets: int
    memory: float


def report(captures: Mapping[str, Path], folder: Path) -> list[Table]:
    """The tables for both captures at every size, and for one busy connection and many small ones."""
    times = Table("pipeline", "archive", (
        Column("size", "GB"), Column("packets", "count"), Column("decode json", "s"), Column("pipeline, cold", "s"),
        Column("warm", "s"), Column("warm / decode", "×", -1), Column("warm, a GB", "s"),
    ))  # fmt: skip
    stages = Table("pipeline by stage", "warm, by stage", (
        *(Column(stage, "s") for stage in STAGES), Column("all the rest", "s"), Column("a packet", "µs"),
        Column("a worker's memory", "MB"),
    ))  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="pipeline-", dir=folder) as room, Session(Path(room)) as spark:
        for capture in (*captures.values(), *captures.values()):  # so that all that follows finds the session warm
            spark.run(capture)
        for kind, capture in captures.items():
            for wanted in SIZES:
                archive = archives.repeated(capture, Path(room) / "archive.pcap", wanted)
                size, name = archive.stat().st_size / GB, f"{kind}, {wanted / GB:g} GB"
                alone, cold = decoded(archive), piped(archive, Path(room) / "cold")
                warm = spark.run(archive)
                ratio, of_one = warm.seconds / alone, warm.seconds / size
                times.add(name, size, warm.packets, alone, cold, warm.seconds, ratio, of_one)
                _by_stage(stages, name, warm)
        busy = archives.hot(captures["small"], Path(room) / "archive.pcap", PACKETS)
        _by_stage(stages, f"{PACKETS / 1e6:.0f} M packets, 97 % on one connection", spark.run(busy))
        small = archives.many(captures["small"], Path(room) / "archive.pcap", CONNECTIONS)
        _by_stage(stages, f"{CONNECTIONS:,} connections", spark.run(small))
    return [times, stages]


def _by_stage(table: Table, name: str, run: Run) -> None:
    rest = run.seconds - sum(run.stages.values())
    table.add(name, *(run.stages[stage] for stage in STAGES), rest, run.seconds / run.packets * 1e6, run.memory)


def decoded(archive: Path) -> float:
    """Seconds that one process takes."""
    return _timed(sys.executable, "-m", "kdbg", "decode", archive, "--format", "json")


def piped(archive: Path, out: Path) -> float:
    """Seconds that the command takes, the start of Java and Spark included."""
    return _timed(sys.executable, "-m", "kdbg", "pipeline", archive, "--out", out, "--master", MASTER)


def _timed(*command: object) -> float:
    start = time.perf_counter()
    done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    taken = time.perf_counter() - start
    if done.returncode not in (0, 1):  # 1: something in the capture is odd
        sys.exit(done.stderr.decode())
    return taken


class Session:
    """A Spark session in which one run follows the other."""

    def __init__(self, room: Path) -> None:
        self._out, self._events = room / "tables", room / "events"
        self._events.mkdir()
        told = {"enabled": "true", "dir": str(self._events), "compress": "false", "rolling.enabled": "false"}
        self._spark = session.start(MASTER, {f"spark.eventLog.{name}": value for name, value in told.items()})
        self._known = 0

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        session.stop(self._spark)

    def run(self, archive: Path) -> Run:
        """The archive's tables made anew."""
        shutil.rmtree(self._out, ignore_errors=True)
        with watching() as memory:
            start = time.perf_counter()
            outcome = Pipeline(self._spark, Output(str(self._out)), PipelineOptions()).run(plan([str(archive)]))
            taken = time.perf_counter() - start
        return Run(taken, self._stages(), outcome.counts["packets"], memory["most"])

    def _stages(self) -> dict[str, float]:
        """The seconds of the stages that were done since this was last asked.

        A file in one piece is not counted, and where nothing was handed on there is no `decode`.
        """
        time.sleep(LOGGED)
        (log,) = self._events.iterdir()
        done = [event["Stage Info"] for event in map(json.loads, log.read_text().splitlines())
                if event["Event"] == "SparkListenerStageCompleted"]  # fmt: skip
        stages = sorted(done[self._known :], key=lambda stage: stage["Stage ID"])
        self._known = len(done)
        shuffled = next(place for place, stage in enumerate(stages) if stage["Parent IDs"])  # that is `pair`
        first = STAGES.index("pair") - shuffled
        seconds = dict.fromkeys(STAGES, 0.0)
        for name, stage in zip(STAGES[first:], stages, strict=False):
            seconds[name] = (stage["Completion Time"] - stage["Submission Time"]) / 1000
        return seconds


@contextmanager
def watching() -> Iterator[dict[str, float]]:
    """What happens meanwhile: the `most` MB that a Python worker of Spark's holds at any time."""
    over, found = Event(), {"most": 0.0}

    def watch() -> None:
        while not over.wait(POLL):
            found["most"] = max(found["most"], *map(_resident, _workers()), 0.0)

    with ThreadPoolExecutor(1) as thread:
        watched = thread.submit(watch)
        try:
            yield found
        finally:
            over.set()
            watched.result()


def _workers() -> Iterator[Path]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and WORKER in _read(folder / "cmdline"):
            yield folder


def _resident(process: Path) -> float:
    lines = _read(process / "status").decode().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process ended meanwhile
        return b""
