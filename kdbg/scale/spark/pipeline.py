"""The pipeline: a plan and an output folder go in, tables come out.

    count ─ read ═ shuffle and sort ═ pair (─ decode) (─ judge) ─ commit

Spark runs the tasks, again where one is lost, and moves the packets from those that read to those that pair; these make
the rows as well, but for what others must decode. Tasks write their files themselves: rows into the tables' folders,
such exchanges into the run's hidden folder. A task's report names its files, and only reported files become part of
anything, so that what an attempt wrote before it died is never read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from ...errors import CaptureError, SparkError
from ...exchanges.filters.filter_set import Filters
from ...protocol.definitions import MessageDefinition
from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count
from ...protocol.findings.facts import CaptureTrouble
from ...views.tables.columns import CAUSES
from ...views.tables.message_columns import WantedRows
from .archive.files import file_rows, missed, numbered, read_files, recut
from .archive.plan import SPLIT, CutPoint, Plan, nanoseconds
from .commit import Output
from .delta import TableFile
from .follow.progress import Batch, Progress, resume
from .follow.unfinished import Follower, waited
from .parquet import Tables
from .session import Tracker, failure
from .stages import tasks
from .stages.pairing import Making
from .stages.reading import ROOM

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PER_PARTITION = 128 << 20
"""Bytes of captures that one task of the shuffle's far side takes, about."""
PER_TASK = 32 << 20
"""Bytes of exchanges that one task decodes, about."""
MOST_WAITING = 1 << 30
"""Bytes of packets that may wait for the next run; beyond that the connections that were silent longest are over."""
RUN = "capture int, key binary, split int, `order` int, packets binary, payload binary, spill string, place bigint, "
RUN += "length bigint"
REPORT = "report binary"
"""The stages' schemas in Spark's words: those of stages/tasks.py in Arrow's."""


@dataclass(frozen=True)
class PipelineOptions:
    """How a pipeline runs: `partitions` of the shuffle (None: by size), `split` bytes, what is kept, which rows.

    `definitions` are known in all tasks beside kdbg's own grammars; who calls has them known in its process too.
    """

    split: int = SPLIT
    partitions: int | None = None
    filters: Filters = field(default_factory=Filters)
    wanted: WantedRows = field(default_factory=WantedRows)
    append: bool = False
    diagnose: bool = False
    """Whether each capture is judged as a whole, too, and the causes are kept."""
    definitions: tuple[MessageDefinition, ...] = ()
    said: dict[str, Any] = field(default_factory=dict)
    """What the table of runs keeps of how the pipeline was called."""


@dataclass
class PipelineOutcome:
    """What came of a run: `counts` of packets, frames, exchanges…, findings by kind, rows by table."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)
    """What is wrong with captures themselves: (file, what)."""
    files: list[TableFile] = field(default_factory=list)
    waiting: int = 0
    """Connections that are open."""
    diagnosed: dict[str, bool] | None = None
    """The captures that were judged, None where that was not asked for: whether each has several files."""
    causes: Counter[str] = field(default_factory=Counter)
    """What diagnosis found, by severity."""

    def take(self, report: dict[str, Any]) -> None:
        """Add a task's report."""
        self.files += [TableFile(*file) for file in report["files"]]
        self.rows.update(report["rows"])
        self.counts.update(report.get("counts", {}))
        self.findings.update(report.get("problems", {}))


class Pipeline:
    """One run. `progress` and `cancel` are for other threads."""

    output: Output

    def __init__(self, spark: SparkSession, output: Output, options: PipelineOptions) -> None:
        self.spark: Any = spark
        self.output, self.options = output, options
        self.stage: str = "plan"
        """What is being done: count, read, decode, judge."""
        self._cancelled = Event()
        self._tracker = Tracker(spark)

    def run(self, plan: Plan) -> PipelineOutcome:
        """Read the captures of the plan, and put the tables in place."""
        return self.grow(resume(plan, Progress(), (), patience=0))

    def grow(self, batch: Batch) -> PipelineOutcome:
        """Read a batch, and put it into the tables, together with what waits for the next run."""
        self.output.begin()
        try:
            before = batch.progress
            batch.counted(*self._walked(batch.plan, batch.uncounted))
            if batch.is_empty:
                return PipelineOutcome()
            making = self._making(wanted := self._wanted(batch.plan))
            pairer = partial(Follower, making, self.output.waiting, batch.points, batch.horizons)
            work = tasks.task(partial(waited, batch.waiting, batch.points))
            more = self._tasks(len(batch.waiting)).mapInArrow(work, RUN) if batch.waiting else None
            paired = self._paired(wanted, partial(tasks.pair, making.folder, pairer), more)
            topics = {UUID(topic): name for topic, name in before.topics.items()}
            outcome = self._made(wanted, making, paired, topics, batch)
            learned = {str(topic): name for topic, name in topics.items() if str(topic) not in before.topics}
            held = sorted((tuple(one) for report in paired for one in report["waiting"]["held"]), reverse=True)
            outcome.waiting = len(held)
            least = size = 0
            for last_time, waiting_bytes in held:
                size += waiting_bytes
                if size > MOST_WAITING:
                    least = int(last_time) + 1
                    break
            waiting = {name: points for report in paired for name, points in report["waiting"]["files"].items()}
            batch.after(wanted, (split for report in paired for split in report["splits"]), waiting, least)
            self._commit(batch.plan, outcome, {**batch.entry(), "topics": learned}, before)
        except (CaptureError, SparkError):  # if another run was faster, that is why
            if self.options.append:
                before.check(self.output.progress(), batch.touched, self.output.out)
            raise
        finally:
            self.output.abandon()
        return outcome

    def _commit(self, plan: Plan, outcome: PipelineOutcome, read: dict[str, Any], before: Progress) -> None:
        """Commit a run, of which `read` says what it read beyond what was read `before`."""
        if self.options.diagnose:
            self._judge(plan, outcome)
        self._go_on()
        skipped = [{"file": name, "problem": problem} for name, problem in plan.refused]
        entry = {
            "options": self.options.said,
            "captures": plan.captures,
            **read,
            "skipped_files": skipped,
            "passed_over": skipped,  # the old name
            "counts": dict(outcome.counts),
            "findings": dict(outcome.findings),
            "rows": dict(outcome.rows),
            **({CAUSES: outcome.diagnosed} if outcome.diagnosed is not None else {}),
        }
        self.output.commit(outcome.files, entry, append=self.options.append, before=before)

    def cancel(self) -> None:
        """End the run: unless it is as good as over, `run` raises in its thread. To be called until it has."""
        self._cancelled.set()
        self.spark.interruptTag(self.output.run)

    def progress(self) -> tuple[str, float]:
        """Return the stage, and the part of it that is done (0 to 1)."""
        return self.stage, self._tracker.part()

    def _wanted(self, plan: Plan) -> Plan:
        filters = self.options.filters
        return plan.between(nanoseconds(filters.since), nanoseconds(filters.until))

    def _walked(self, plan: Plan, uncounted: Callable[[Plan], list[int]]) -> tuple[Plan, dict[int, CutPoint]]:
        """Return the plan with all cuts proved and all packets numbered, and where walks through its splits ended.

        These are the splits that must be counted, by their places in the plan.
        """
        walks = self._walks(plan, uncounted(plan))
        wrong = missed(plan, walks)
        for file in wrong:
            plan = recut(plan, file, self.options.split)
        walks = self._walks(plan, uncounted(plan)) if wrong else walks
        return numbered(plan, walks), walks

    def _walks(self, plan: Plan, places: list[int]) -> dict[int, CutPoint]:
        """Walk through the splits at these places of the plan."""
        found = self._reports("count", len(places), partial(tasks.count, plan, places)) if places else []
        return {place: CutPoint(*walk) for place, *walk in found}

    def _judge(self, plan: Plan, outcome: PipelineOutcome) -> None:
        """Have each capture judged as a whole, whatever the filters leave of it in the tables."""
        judge = partial(tasks.judge, plan, self.output.folder, sorted(self.options.filters.tls_keys or ()))
        outcome.diagnosed = {
            name: len({split.file for split in plan.splits if split.capture == number}) > 1
            for number, name in enumerate(plan.captures)
        }
        for report in self._reports("judge", len(plan.captures), judge):
            outcome.files += [TableFile(*file) for file in report["files"]]
            outcome.causes.update(report["causes"])

    def _making(self, plan: Plan) -> Making:
        """Return how tasks make rows; those that pair make them of no more than twice their fair share."""
        share = max(PER_TASK, 2 * plan.size // self._partitions(plan))
        return Making(plan.captures, self.output.folder, self.options.filters, self.options.wanted, share)

    def _paired(self, plan: Plan, pair: tasks.Stage, more: DataFrame | None = None) -> list[dict[str, Any]]:
        """Read the plan's packets, shuffle them and pair what they say; `more` are runs that are known already."""
        folder = self.output.folder
        read = tasks.task(partial(tasks.read, plan, folder, self.options.filters.port or frozenset()))
        runs = self._tasks(len(plan.splits)).mapInArrow(read, RUN)
        runs = runs if more is None else runs.union(more)
        runs = runs.repartition(self._partitions(plan), "capture", "key")
        sorted_runs = runs.sortWithinPartitions("capture", "key", "split", "order")
        paired = self._collect("read", sorted_runs.mapInArrow(tasks.task(pair, self.options.definitions), REPORT))
        self.output.drop(ROOM)
        return paired

    def _made(
        self, plan: Plan, making: Making, paired: list[dict[str, Any]], topics: dict[UUID, str],
        batch: Batch | None = None,
    ) -> PipelineOutcome:  # fmt: skip
        """Decode what was paired and is in no table yet; `topics` are the names of topic ids, and learn more."""
        outcome = PipelineOutcome()
        for report in paired:
            outcome.take(report)
            topics.update({UUID(topic): name for topic, name in report["topics"].items()})
        self._files(plan, paired, outcome, batch)
        shares: list[list[str]] = []  # of about the same size, one for each task
        room = 0
        for name, size in sorted((piece for report in paired for piece in report["pieces"]), key=lambda one: -one[1]):
            if room <= 0:
                shares.append([])
                room = PER_TASK
            shares[-1].append(name)
            room -= size
        if shares:
            for report in self._reports("decode", len(shares), partial(tasks.decode, making, shares, topics)):
                outcome.take(report)
        return outcome

    def _files(self, plan: Plan, paired: list[dict[str, Any]], outcome: PipelineOutcome, batch: Batch | None) -> None:
        """Write what was read of each file, and count it."""
        read = read_files(plan, (split for report in paired for split in report["splits"]))
        tables = Tables(self.output.folder)
        newest = () if batch is None else (None if state is None else state.newest for state in batch.states)
        for number, problem in batch.notes.items() if batch is not None else ():
            if number in read:
                read[number].problems.append(Finding(Kind.DAMAGED_CAPTURE, facts=CaptureTrouble(problem)))
        for table, time, row, kind in file_rows(plan, read, newest):
            tables.add(table, time, row)
            if kind:
                outcome.findings[kind] += 1
        outcome.take(tables.close())
        outcome.problems = [
            (plan.files[number].name, finding.text) for number, each in read.items() for finding in each.problems
        ]
        counts = outcome.counts
        carried_packets = counts.pop("packets", 0)
        for found in read.values():
            counts.update(found.counts)
        if counts["packets"] != counts["other_packets"] + counts["skipped_packets"] + carried_packets:
            raise SparkError(f"read {count(counts['packets'], 'packet')}, but {carried_packets:,} arrived")
        counts["passed_over"] = counts["skipped_packets"]  # the old name
        counts["outside_connections"] = carried_packets - counts["connection_packets"]

    def _partitions(self, plan: Plan) -> int:
        """Return the partitions of the shuffle."""
        if self.options.partitions:
            return self.options.partitions
        try:
            cores = int(self.spark.sparkContext.defaultParallelism)
        except Exception:
            cores = 4
        return max(4 * cores, plan.size // PER_PARTITION)

    def _tasks(self, count: int) -> DataFrame:
        """Return a DataFrame of numbers from 0, each in a task of its own."""
        numbers: DataFrame = self.spark.range(0, count, 1, max(count, 1))
        return numbers

    def _collect(self, stage: str, frame: DataFrame) -> list[Any]:
        """Return the tasks' reports."""
        self._go_on()
        self.stage = stage
        self.spark.addTag(self.output.run)
        try:
            return [orjson.loads(row.report) for row in frame.collect()]
        except Exception as error:
            raise failure(error) from error
        finally:
            self.spark.removeTag(self.output.run)

    def _reports(self, stage: str, count: int, work: Callable[[int], Any]) -> list[Any]:
        """Return the reports of so many tasks, each on one number."""
        task = tasks.task(partial(tasks.each, work), self.options.definitions)
        return self._collect(stage, self._tasks(count).mapInArrow(task, REPORT))

    def _go_on(self) -> None:
        if self._cancelled.is_set():
            raise SparkError("the run was cancelled")
