"""How far the tasks are that Spark works on: asked of a driver in this process, told by a Connect server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler


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
        stages = self._told if self._remote else list(self._asked())
        tasks = sum(tasks for _, tasks in stages)
        return sum(done for done, _ in stages) / tasks if tasks else 0.0

    def _asked(self) -> Iterator[tuple[int, int]]:
        tracker = self._spark.sparkContext.statusTracker()
        for number in tracker.getActiveStageIds():
            if (stage := tracker.getStageInfo(number)) is not None:
                yield stage.numCompletedTasks, stage.numTasks

    def _hear(self, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        self._told = [(stage.num_completed_tasks, stage.num_tasks) for stage in stages or () if not stage.done]
