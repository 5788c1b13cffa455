"""A session of Spark, started and followed, and its errors in one line, where Java and Python say pages."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...budget import MEMORY, VARIABLE
from ...errors import SparkError
from ...extras import install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler


OURS = "kdbg.errors."
CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .*")
"""Spark's own message, wherever in a report of Java's it stands."""
STATE = re.compile(r"\.? SQLSTATE: \w+")
S3A = "add --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION, with the version of Spark's Hadoop"
ERROR_LINE = re.compile(r"[\w.]+(?:Error|Exception|Interrupt)\b.*")


def failure(error: Exception) -> SparkError:
    """Return kdbg's own error in a task if there is one, else Spark's, else the first line that names an error.

    py4j's errors, Spark's and gRPC's have nothing in common but their text.
    """
    lines = [text for line in str(error).splitlines() if (text := line.strip(": "))]
    ours = [line for line in lines if line.startswith(OURS)]
    if ours:
        return SparkError(ours[-1].partition(": ")[2])
    condition = CONDITION.search(str(error))
    if condition is not None:
        return SparkError(STATE.sub("", condition.group()).rstrip(";"))
    if "S3AFileSystem not found" in str(error):
        return SparkError("Spark cannot read S3", f"{S3A}, or omit --master")
    named = next((line for line in lines if ERROR_LINE.match(line)), lines[0] if lines else type(error).__name__)
    return SparkError(named)


class Tracker:
    """Follows the stages of a session."""

    def __init__(self, spark: SparkSession) -> None:
        from pyspark.sql.utils import is_remote

        self._spark = spark
        self._told: list[tuple[int, int]] = []
        self._remote = is_remote()
        if self._remote:
            spark.registerProgressHandler(cast("ProgressHandler", self._hear))  # any callable, its documentation says

    def part(self) -> float:
        """Return the part of the tasks that are done, of all stages in work; 0 where there is none."""
        stages = self._told
        if not self._remote:
            tracker = self._spark.sparkContext.statusTracker()
            known = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number))]
            stages = [(stage.numCompletedTasks, stage.numTasks) for stage in known]
        tasks = sum(tasks for _, tasks in stages)
        return sum(done for done, _ in stages) / tasks if tasks else 0.0

    def _hear(self, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        self._told = [(stage.num_completed_tasks, stage.num_tasks) for stage in stages or () if not stage.done]


NEEDED = ("pyspark", "pyarrow", "pandas")
REMOTELY = ("grpc", "grpc_status")
"""What a client of Spark Connect needs besides."""
CONFIGURATION = {
    "spark.app.name": "kdbg",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.warehouse.dir": tempfile.gettempdir(),  # there already: no folder is made where kdbg is called
    "spark.sql.adaptive.enabled": "false",  # the number of partitions is ours to choose
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16777216",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.python.worker.faulthandler.enabled": "true",
}
"""What is set unless --conf says otherwise."""
SUBMITTED = frozenset({"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"})
"""Who sets one of these has chosen the master: spark-submit, or a client of Spark Connect."""
LOCAL = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC -Djava.net.preferIPv4Stack=true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""What is set besides where everything runs on this machine: a quick start counts for more than peak speed."""


def check(modules: Sequence[str] = NEEDED) -> None:
    """Raise `SparkError` where what the pipeline needs is not installed."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise SparkError(f"{' and '.join(missing)} not installed", install("spark"))


def start(
    master: str | None = None,
    configuration: Mapping[str, str] | None = None,
    *,
    py_files: str | None = None,
    verbose: bool = False,
) -> SparkSession:
    """Return the session on `master`, a new one or the one that there is. `sc://` goes to a Spark Connect server.

    None is the master that spark-submit or SPARK_REMOTE says, else this machine with all its cores.

    `py_files` is a zip with kdbg in it, for executors that have none. Unless `verbose`, what Java has to say goes into
    a file, which is named where the start fails.
    """
    check()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master is None and SUBMITTED.isdisjoint(os.environ):
        master = "local[*]"
    builder, settings = SparkSession.builder, dict(configuration or {})
    if (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://"):
        check(REMOTELY)
        builder = builder.remote(master) if master else builder
    else:
        home = os.environ.get("JAVA_HOME")
        if not (home and (Path(home) / "bin" / "java").exists()) and shutil.which("java") is None:
            remedy = "install a JDK of version 17 or later, or set JAVA_HOME"
            raise SparkError("Spark needs Java, which is not installed", remedy)
        builder = builder.master(master) if master else builder
        settings = {f"spark.executorEnv.{VARIABLE}": f"{MEMORY.limit}B"} | settings  # of each task that reads
        settings = CONFIGURATION | (LOCAL if master and master.startswith("local") else {}) | settings
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _undisturbed():
        with _quiet(verbose) as log:
            try:
                spark = builder.getOrCreate()
                if py_files:
                    spark.addArtifacts(py_files, pyfile=True)
            except Exception as error:  # py4j's, gRPC's and Spark's own have nothing in common
                said = (str(error).strip() or type(error).__name__).splitlines()[0]
                where = f"; see {log}" if log else ""
                raise SparkError(f"no Spark session on {without_token(master or '')}: {said}{where}") from error
        if log:
            Path(log).unlink()
    return spark


def without_token(master: str) -> str:
    """Return how a master is called, without the parameters of Spark Connect, such as a token."""
    return master.partition("/;")[0] or "the default master"


def stop(spark: SparkSession) -> None:
    """End the session, without its messages about that."""
    with _quiet(False) as log:
        spark.stop()
    Path(log).unlink()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the context: during a start it would leave a Java process behind."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _quiet(verbose: bool) -> Iterator[str]:
    """Send the stderr of processes that are started in the context to a file."""
    if verbose:
        yield ""
        return
    log = tempfile.NamedTemporaryFile(prefix="kdbg-spark-", suffix=".log", delete=False)  # noqa: SIM115
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield log.name
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        log.close()
