"""The pipeline: a plan and an output folder go in, tables come out.

    count ─ read ═ shuffle and sort ═ pair (─ decode) (─ judge) ─ commit

Spark runs the tasks, again where one is lost, and moves the packets from those that read to those that pair; these make
the rows as well, but for what others must decode. Tasks write their files themselves: rows into the tables' folders,
such exchanges into the run's hidden folder. A task's report names its files, and only reported files become part of
anything, so that what an attempt wrote before it died is never read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...errors import CaptureError, SparkError
from ...exchanges.filters.filter_set import Filters
from ...protocol.definitions import MessageDefinition
from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count
from ...protocol.findings.facts import CaptureTrouble
from ...views.tables.columns import CAUSES
from ...views.tables.message_columns import WantedRows
from .archive.duplicates import Contents
from .archive.files import contents_of, file_rows, missed, numbered, read_files, recut
from .archive.plan import OPENING, SPLIT, CutPoint, Plan, bundled, nanoseconds
from .commit import Output
from .delta import TableFile
from .follow.progress import Batch, Progress, resume
from .follow.unfinished import Follower, waited
from .jobs import REPORT, TASKS, Jobs
from .parquet import Tables
from .stages import tasks
from .stages.pairing import Making, Pairer
from .stages.reading import Part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PER_PARTITION = 128 << 20
"""Bytes of captures that one task of the shuffle's far side takes, about."""
PER_TASK = 32 << 20
"""Bytes of exchanges that one task decodes, about."""
PER_SPREAD = 4 << 20
"""Bytes of a capture that are worth a task of the shuffle's far side, about."""
MOST_WAITING = 1 << 30
"""Bytes of packets that may wait for the next run; beyond that the connections that were silent longest are over."""
RUN = "partition int, capture int, name string, key binary, split int, `order` int, packets binary, payload binary"
"""The schema of runs in Spark's words: that of stages/tasks.py in Arrow's."""


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
    contents: dict[str, Contents] = field(default_factory=dict)
    """What the files hold, by their places: so they are recognised."""
    waiting: int = 0
    """Connections that are open."""
    diagnosed: dict[str, str] | None = None
    """The captures that were judged, None where that was not asked for, each with its file, "" for several."""
    causes: Counter[str] = field(default_factory=Counter)
    """What diagnosis found, by severity."""

    def take(self, report: dict[str, Any]) -> None:
        """Add a task's report."""
        self.files += [TableFile(*file) for file in report["files"]]
        self.rows.update(report["rows"])
        self.counts.update(report.get("counts", {}))
        self.findings.update(report.get("problems", {}))


class Pipeline(Jobs):
    """One run."""

    output: Output

    def __init__(self, spark: SparkSession, output: Output, options: PipelineOptions) -> None:
        super().__init__(spark, output.run, options.definitions)
        self.output, self.options = output, options

    def run(self, plan: Plan) -> PipelineOutcome:
        """Read the captures of the plan, and put the tables in place."""
        return self.grow(resume(plan, Progress(), (), patience=0))

    def grow(self, batch: Batch) -> PipelineOutcome:
        """Read a batch, and put it into the tables, together with what waits for the next run."""
        self.output.begin()
        try:
            before = batch.progress
            batch.counted(*self._counted(batch.plan, batch.uncounted))
            if batch.is_empty:
                return PipelineOutcome()
            filters = self.options.filters
            wanted = batch.plan.between(nanoseconds(filters.since), nanoseconds(filters.until))
            making, partitions = self._making(wanted), self._partitions(wanted)
            pairer = partial(Follower, making, self.output.waiting, batch.points, batch.horizons)
            work = tasks.task(partial(waited, batch.points, wanted.captures, partitions))
            more = self._tasks(batch.waiting).mapInArrow(work, RUN) if batch.waiting else None
            paired = self._paired(wanted, pairer, more, partitions if batch.waiting else 0)
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
            "roots": plan.roots,
            **read,
            "contents": [outcome.contents[place] for place in read["files"] if place in outcome.contents],
            "skipped_files": skipped,
            "passed_over": skipped,  # the old name
            "counts": dict(outcome.counts),
            "findings": dict(outcome.findings),
            "rows": dict(outcome.rows),
            **({CAUSES: outcome.diagnosed} if outcome.diagnosed is not None else {}),
        }
        self.output.commit(outcome.files, entry, append=self.options.append, before=before)

    def _counted(self, plan: Plan, uncounted: Callable[[Plan], list[int]]) -> tuple[Plan, dict[int, CutPoint]]:
        """Return the plan with all cuts proved and all packets numbered, and where walks through its splits ended.

        These are the splits that must be counted, by their places in the plan.
        """
        walks = self._walks(plan, uncounted(plan))
        if wrong := missed(plan, walks):
            firsts = {split.file: split for split in reversed(plan.splits)}
            parts = [[(plan.files[number], firsts[number])] for number in wrong]
            found = self._reports("count", parts, partial(tasks.recut, self.options.split))
            plan = recut(plan, dict(one for report in found for one in report))
            walks = self._walks(plan, uncounted(plan))
        return numbered(plan, walks), walks

    def _walks(self, plan: Plan, places: list[int]) -> dict[int, CutPoint]:
        """Walk through the splits at these places of the plan."""
        found = self._reports("count", self._parts(plan, places), tasks.count)
        return dict(walk for report in found for walk in report)

    def _parts(self, plan: Plan, numbers: Iterable[int], spread: int = 0) -> list[list[Part]]:
        """Return these splits of the plan as tasks get them; connections of a capture are in `spread` partitions."""
        partitions, sizes = self._partitions(plan), Counter[int]()
        for split in plan.splits:
            sizes[split.capture] += split.size
        spreads = {capture: spread or min(partitions, size // PER_SPREAD + 1) for capture, size in sizes.items()}
        splits = ((number, plan.splits[number]) for number in numbers)
        parts = [
            Part(number, plan.captures[split.capture], plan.files[split.file], split, spreads[split.capture])
            for number, split in splits
        ]
        return self._bundled(parts, lambda part: part.size, self.options.split)

    def _judge(self, plan: Plan, outcome: PipelineOutcome) -> None:
        """Have each capture judged as a whole, whatever the filters leave of it in the tables."""
        judge = partial(tasks.judge, self.output.folder, sorted(self.options.filters.tls_keys or ()))
        captures = [*plan.of_captures()]
        outcome.diagnosed = {name: "" if len(files) > 1 else files[0][0].name for name, files in captures}
        sizes = {name: sum(split.size + OPENING for _, split in files) for name, files in captures}
        for report in self._reports("judge", self._bundled(captures, lambda one: sizes[one[0]], SPLIT), judge):
            outcome.files += [TableFile(*file) for file in report["files"]]
            outcome.causes.update(report["causes"])

    def _making(self, plan: Plan) -> Making:
        """Return how tasks make rows; those that pair make them of no more than twice their fair share."""
        share = max(PER_TASK, 2 * plan.size // self._partitions(plan))
        output, options = self.output, self.options
        return Making(output.folder, options.filters, options.wanted, share, output.name)

    def _paired(
        self, plan: Plan, pairer: Callable[[], Pairer], more: DataFrame | None = None, spread: int = 0
    ) -> list[dict[str, Any]]:
        """Read the plan's packets, shuffle them and pair what they say; `more` are runs that are known already.

        Connections of a capture are in `spread` partitions, by default in few if the capture is small.
        """
        partitions = self._partitions(plan)
        read = tasks.task(partial(tasks.read, partitions, self.options.filters.port or frozenset()))
        runs = self._tasks(self._parts(plan, range(len(plan.splits)), spread)).mapInArrow(read, RUN)
        runs = runs if more is None else runs.union(more)
        sorted_runs = runs.repartitionById(partitions, "partition").sortWithinPartitions(
            "capture", "key", "split", "order"
        )
        pair = tasks.task(partial(tasks.pair, pairer), self.options.definitions)
        return self._collect("read", sorted_runs.mapInArrow(pair, REPORT))

    def _made(
        self, plan: Plan, making: Making, paired: list[dict[str, Any]], topics: dict[UUID, str], batch: Batch
    ) -> PipelineOutcome:
        """Decode what was paired and is in no table yet; `topics` are the names of topic ids, and learn more."""
        outcome = PipelineOutcome()
        for report in paired:
            outcome.take(report)
            topics.update({UUID(topic): name for topic, name in report["topics"].items()})
        self._files(plan, paired, outcome, batch)
        pieces = sorted((piece for report in paired for piece in report["pieces"]), key=lambda one: -one[1])
        shares = [
            [(name, {number: plan.captures[number] for number in captures}) for name, _, captures in share]
            for share in bundled(pieces, lambda one: one[1], PER_TASK)
        ]
        for report in self._reports("decode", shares, partial(tasks.decode, making, topics)):
            outcome.take(report)
        return outcome

    def _files(self, plan: Plan, paired: list[dict[str, Any]], outcome: PipelineOutcome, batch: Batch) -> None:
        """Write what was read of each file, and count it."""
        read = read_files(plan, (split for report in paired for split in report["splits"]))
        outcome.contents = contents_of(plan, read)
        newest = (None if state is None else state.newest for state in batch.states)
        for number in batch.notes.keys() & read.keys():
            trouble = CaptureTrouble(batch.notes[number])
            read[number].problems.append(Finding(Kind.DAMAGED_CAPTURE, facts=trouble))
        tables = Tables(self.output.folder, self.output.name)
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
        return self.options.partitions or max(TASKS * self._cores(), plan.size // PER_PARTITION)
