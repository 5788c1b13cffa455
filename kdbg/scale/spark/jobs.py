"""Jobs on Spark: parts of the work go in, each to a task of its own, and the tasks' reports come out.

A task gets its part alone, as a row of a DataFrame: what all of them need is in the function that they run.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...errors import SparkError
from ...protocol.definitions import MessageDefinition
from .archive.plan import OPENING, Looked, bundled
from .archive.store import StoredFile
from .session import Tracker, failure
from .stages import tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REPORT = "report binary"
"""The schema of reports in Spark's words: that of stages/tasks.py in Arrow's."""
SETTINGS = {
    "spark.sql.leafNodeDefaultParallelism": "1000000000",
    "spark.sql.execution.arrow.localRelationThreshold": "2000000000",
}
"""What gives each row of a DataFrame that the driver makes a task of its own."""
TASKS = 4
"""Tasks for each core that a stage is cut into, where its parts are so many."""
FEW = 1000
"""Files that the driver looks at by itself."""


class Jobs:
    """The jobs of one run, whose `tag` cancels them. `progress` and `cancel` are for other threads."""

    def __init__(self, spark: SparkSession, tag: str, definitions: Sequence[MessageDefinition] = ()) -> None:
        self.spark: Any = spark
        self.stage: str = "plan"
        """What is being done: plan, count, read, decode, judge."""
        self._tag, self._definitions = tag, definitions
        self._cancelled = Event()
        self._tracker = Tracker(spark)

    def cancel(self) -> None:
        """End the run: unless it is as good as over, a job raises in its thread. To be called until it has."""
        self._cancelled.set()
        self.spark.interruptTag(self._tag)

    def progress(self) -> tuple[str, float]:
        """Return the stage, and the part of it that is done (0 to 1)."""
        return self.stage, self._tracker.part()

    def look(self, found: Sequence[StoredFile], size: int) -> list[Looked]:
        """Look at files in tasks, to cut them into splits of `size` bytes."""
        bundles = self._bundled(found, lambda file: OPENING, size)
        return [one for report in self._reports("plan", bundles, partial(tasks.look_at, size)) for one in report]

    def _cores(self) -> int:
        try:
            return int(self.spark.sparkContext.defaultParallelism)
        except Exception:  # a session of Spark Connect has no context
            return 4

    def _bundled(self, items: Sequence[Any], size: Callable[[Any], int], most: int) -> list[list[Any]]:
        """Return the items in bundles for tasks: of up to `most` bytes, and of fewer where cores would have nothing."""
        share = sum(map(size, items)) // (TASKS * self._cores())
        return bundled(items, size, max(min(most, share), OPENING))

    def _tasks(self, parts: Iterable[Any]) -> DataFrame:
        """Return a DataFrame of parts, each in a task of its own."""
        rows = pa.table({"part": pa.array(map(pickle.dumps, parts), pa.binary())})
        with self._settings():
            frame: DataFrame = self.spark.createDataFrame(rows)
        return frame

    @contextmanager
    def _settings(self) -> Iterator[None]:
        """Have the session give rows tasks of their own until the end of the context."""
        before = {name: self.spark.conf.get(name, None) for name in SETTINGS}
        for name, value in SETTINGS.items():
            self.spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, old in before.items():
                if old is None:
                    self.spark.conf.unset(name)
                else:
                    self.spark.conf.set(name, old)

    def _collect(self, stage: str, frame: DataFrame) -> list[Any]:
        """Return the tasks' reports."""
        self._go_on()
        self.stage = stage
        self.spark.addTag(self._tag)
        try:
            with self._settings():
                return [pickle.loads(row.report) for row in frame.collect()]
        except Exception as error:
            raise failure(error) from error
        finally:
            self.spark.removeTag(self._tag)

    def _reports(self, stage: str, parts: Sequence[Any], work: Callable[[Any], Any]) -> list[Any]:
        """Return the reports of tasks on these parts."""
        if not parts:
            return []
        task = tasks.task(partial(tasks.each, work), self._definitions)
        return self._collect(stage, self._tasks(parts).mapInArrow(task, REPORT))

    def _go_on(self) -> None:
        if self._cancelled.is_set():
            raise SparkError("the run was cancelled")
