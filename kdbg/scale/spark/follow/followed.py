"""Tables of captures that are still being written: a batch now and then, each packet in exactly one of them.

Spark's Structured Streaming says what has come (tail.py), and remembers that in its checkpoint. A batch's packets go
through the pipeline's stages, after those that waited (unfinished.py), and its tables are committed together with what
waits now. A batch that Spark repeats, because it was killed before it knew, is skipped if it was committed;
otherwise it is made anew of the same packets.

    OUT/.kdbg-following/checkpoint    Spark's: how far the files were read
    OUT/.kdbg-following/waiting-…     packets of connections that were not over after a batch
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ....capture.names import named_files
from ....errors import SparkError
from ..archive.store import HIDDEN, find, refusals
from ..commit import Output, Row
from ..delta import FOLLOW, TableFile
from ..pipeline import RUN, Pipeline, PipelineOptions, PipelineOutcome
from ..session import failure
from ..stages import tasks
from .tail import NAME, Stretch, TailSource, plan_of
from .unfinished import Follower, waited

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUN_NAME = "follow"
OWN = f"{HIDDEN}following"
PER_BATCH = 256 << 20
"""Bytes of captures that a batch takes, about."""
MOST_WAITING = 1 << 30
"""Bytes of packets that may wait; beyond that the connections that were silent longest are over."""
POLL = 1
"""Seconds."""
ALL = (1 << 63) - 1
"""A horizon that every connection lies behind."""


@dataclass
class State:
    """What the table of runs keeps of a run that follows: the `batch` that was committed last, and what waits after it.

    `waiting` are files, `newest` is the latest time in each capture and `least` that before which connections are over
    in any case, in nanoseconds; `topics` are the names of topic ids.
    """

    batch: int = -1
    waiting: list[str] = field(default_factory=list)
    newest: dict[str, int] = field(default_factory=dict)
    least: int = 0
    topics: dict[str, str] = field(default_factory=dict)


class Followed(Output):
    """The folder of tables that grow batch by batch."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self.own: str = f"{self.out}/{OWN}"
        self._own = f"{self.root}/{OWN}"

    def begin(self) -> None:
        """Make the batch's folder for temporary files."""
        self._rename()
        self.name = RUN_NAME
        super().begin()

    def recover(self) -> dict[str, Any]:
        """Return what the run noted with its last batch; {} where there is none."""
        entries = self.entries()
        entry = dict(entries).get(RUN_NAME, {})
        if not entry and entries:
            raise SparkError(f"{self.out} contains tables of other runs", "use a new folder with --follow")
        commits = [info.base_name for info in self.infos(f"{OWN}/checkpoint/commits")]
        if not entry and any(name.isdecimal() for name in commits):  # the folder is there before the first of them
            raise SparkError(f"{self.own} belongs to tables that no longer exist", "remove it to start again")
        with refusals(self.out):
            self.system.create_dir(self._own)
        return entry

    def grow(self, files: list[TableFile], entry: dict[str, Any]) -> None:
        """Commit a batch, and what waits after it: its row takes the place of that of the batch before."""

        def rows(before: list[Row]) -> tuple[list[Row], bool]:
            last = next((json.loads(row["entry"])["commit"] for row in before if row["run"] == RUN_NAME), 0)
            if last != entry["commit"] - 1:
                raise SparkError(f"another run follows into {self.out}", "stop it, or use another --out")
            others = [row | {"actions": None} for row in before if row["run"] != RUN_NAME]  # all tables have them
            return [*others, self.row(FOLLOW, entry, files, RUN_NAME)], True

        self.commit_rows(rows)
        with refusals(self.out):
            waiting = {name.rpartition("/")[0].rpartition("/")[2] for name in entry["follow"]["waiting"]}
            for name in self._names(self._own):
                if name.startswith("waiting-") and name not in waiting:
                    self.system.delete_dir(f"{self._own}/{name}")


class Following(Pipeline):
    """A run that goes on. `outcome` is what came of all its batches, those of earlier calls included.

    `patience` is in seconds: a connection that is silent so long, by the clock of its capture, is over.
    """

    output: Followed

    def __init__(self, spark: SparkSession, output: Followed, options: PipelineOptions, patience: float) -> None:
        super().__init__(spark, output, options)
        self.patience: int = round(patience * 1e9)
        self.entry: dict[str, Any] = output.recover()
        self.following: State = State(**self.entry.get("follow", {}))
        counts, findings, rows = (Counter(self.entry.get(name, {})) for name in ("counts", "findings", "rows"))
        self.outcome: PipelineOutcome = PipelineOutcome(counts, findings, rows)
        self.roots: list[str] = self.entry.get("roots", [])
        self._last = time.monotonic()
        self._trouble: Exception | None = None

    def follow(self, captures: list[str], *, rolled: bool, interval: float, until_idle: float | None) -> None:
        """Make a batch of what has come, every `interval` seconds; for ever, or until nothing came for `until_idle`.

        Then all connections are over. Whatever ends it otherwise, it goes on from there when it is called again.
        """
        found = [(path, each.name) for path in captures for each in find(path)]
        self.roots = sorted({*self.roots, *(file.root for file in named_files(found, rolled=rolled))} - {""})
        self.spark.dataSource.register(TailSource)
        stream = self.spark.readStream.format(NAME)
        stream = stream.options(captures=json.dumps(captures), rolled=rolled, most=PER_BATCH)
        writer = stream.load().writeStream.foreachBatch(self._batch).trigger(processingTime=f"{interval} seconds")
        query = writer.option("checkpointLocation", f"{self.output.own}/checkpoint").start()
        try:
            while not query.awaitTermination(POLL) and not self._cancelled.is_set():
                if not query.status["message"].startswith("Waiting") or query.status["isTriggerActive"]:
                    continue
                if until_idle is not None and time.monotonic() - self._last > max(until_idle, 2 * interval):
                    break
        except Exception as error:
            if not self._cancelled.is_set():
                raise (self._trouble or failure(error)) from error
        finally:
            query.stop()
        if self.following.waiting and not self._cancelled.is_set():
            self._grow([], self.following.batch, over=True)

    def cancel(self) -> None:
        """End `follow`: a batch that is being made is given up, to be made again when it goes on."""
        self._cancelled.set()

    def _batch(self, found: DataFrame, number: int) -> None:
        """Process the stretches that have come; Spark calls this."""
        try:
            if number > self.following.batch:
                self._grow([Stretch(*row) for row in found.collect()], number)
        except Exception as error:
            self._trouble = error if self._trouble is None else self._trouble
            raise
        finally:
            self._last = time.monotonic()

    def _grow(self, found: list[Stretch], number: int, *, over: bool = False) -> None:
        """Add a batch to the tables; `over` ends all connections as well."""
        before, output = self.following, self.output
        plan = plan_of(found, before.newest)
        output.begin()
        horizons = [max(before.newest.get(name, 0) - self.patience, before.least) for name in plan.captures]
        horizons = [ALL] * len(horizons) if over else horizons
        waiting = f"{output.own}/waiting-{number}"
        making, partitions = self._making(plan), self._partitions(plan)
        read = tasks.task(partial(waited, plan.captures, partitions))
        more = self._tasks(before.waiting).mapInArrow(read, RUN)
        pairer = partial(Follower, making, waiting, horizons)
        paired = self._paired(plan, pairer, more if before.waiting else None, partitions)
        topics = {UUID(topic): name for topic, name in before.topics.items()}
        made = self._made(plan, making, paired, topics)
        newest = dict(before.newest)
        for report in paired:
            for name, latest in report["newest"].items():
                newest[name] = max(latest, newest.get(name, latest))
        least = size = 0  # at most `MOST_WAITING` bytes wait
        held = (each for report in paired for each in report["waiting"]["held"])
        for last_time, waiting_bytes in sorted(map(tuple, held), reverse=True):
            size += waiting_bytes
            if size > MOST_WAITING:
                least = int(last_time) + 1
                break
        files = [name for report in paired for name in report["waiting"]["files"]]
        after = State(number, files, newest, least, {str(topic): name for topic, name in topics.items()})
        outcome = self.outcome
        outcome.counts.update(made.counts)
        outcome.findings.update(made.findings)
        outcome.rows.update(made.rows)
        outcome.problems += made.problems
        self.entry = {
            "started": self.entry.get("started", self.output.started.isoformat()),
            "commit": self.entry.get("commit", 0) + 1,
            "options": self.options.said,
            "captures": sorted(after.newest),
            "roots": self.roots,
            "files": {},
            "counts": dict(outcome.counts),
            "findings": dict(outcome.findings),
            "rows": dict(outcome.rows),
            "follow": asdict(after),
        }
        self.output.grow(made.files, self.entry)
        self.following = after
