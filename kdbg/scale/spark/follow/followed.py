"""Tables of captures that are still being written: what has come is added to them, batch by batch.

A batch is what a run with `--append` adds (pipeline.py): how far files were read, and what waits, is committed with its
rows. Its row in the table of runs takes the place of that of the batch before, so that there are not thousands.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....capture.pcap import Layout
from ....errors import CaptureError, SparkError
from ..archive.plan import Plan, first_packet, plan
from ..archive.store import open_file
from ..commit import Output, Row
from ..delta import FOLLOW, TableFile
from ..pipeline import Pipeline, PipelineOptions, PipelineOutcome
from .progress import Progress, resume

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN_NAME = "follow"
PER_BATCH = 256 << 20
"""Bytes of captures that a batch takes, about."""
JOINED = ("files", "points", "topics")
"""What a row says of all batches together; of the same file or point, the last batch."""
COUNTED = ("counts", "findings", "rows")


class Followed(Output):
    """The folder of tables that grow batch by batch."""

    def begin(self) -> None:
        """Make the batch's folder for temporary files."""
        self._rename()
        self.name = RUN_NAME
        super().begin()

    def recover(self) -> dict[str, Any]:
        """Return what the run noted with its last batch; {} where there is none."""
        entry = dict(self.entries()).get(RUN_NAME, {})
        if "follow" in entry:
            raise SparkError(f"an earlier version of kdbg followed into {self.out}", "use a new folder with --follow")
        return entry

    def commit(
        self, files: Iterable[TableFile], entry: Row, *, append: bool = True, before: Progress | None = None
    ) -> None:
        """Commit a batch; its row takes the place of that of the batch before."""
        former = before or Progress()

        def rows(there: list[Row]) -> tuple[list[Row], bool]:
            last: Row = next((json.loads(row["entry"]) for row in there if row["run"] == RUN_NAME), {})
            if last.get("commit", 0) != entry["commit"] - 1:
                raise SparkError(f"another run follows into {self.out}", "stop it, or use another --out")
            former.check(Progress.of(json.loads(row["entry"]) for row in there), entry, self.out)
            whole = {**entry, **{name: {**last.get(name, {}), **entry.get(name, {})} for name in JOINED}}
            read = dict(zip(last.get("files", ()), last.get("read", ()), strict=False))
            whole["read"] = [*(read | dict(zip(entry["files"], entry.get("read", ()), strict=False))).values()]
            others = [row | {"actions": None} for row in there if row["run"] != RUN_NAME]  # all tables have them
            return [*others, self.row(FOLLOW, whole, files, RUN_NAME)], True

        self.commit_rows(rows)
        self.sweep(former)


class Following(Pipeline):
    """A run that goes on. `outcome` is what came of all its batches, those of earlier calls included.

    `patience` is in seconds: a connection that is silent so long, by the clock of its capture, is over.
    """

    output: Followed

    def __init__(self, spark: SparkSession, output: Followed, options: PipelineOptions, patience: float) -> None:
        super().__init__(spark, output, replace(options, append=True))
        self.patience: int = round(patience * 1e9)
        self.entry: dict[str, Any] = output.recover()
        counts, findings, rows = (Counter(self.entry.get(name, {})) for name in COUNTED)
        self.outcome: PipelineOutcome = PipelineOutcome(counts, findings, rows)
        self._skipped: set[str] = set()
        self._is_behind = False

    def follow(
        self, captures: list[str], *, rolled: bool, interval: float, until_idle: float | None,
        skipped: Callable[[list[tuple[str, str]]], None],
    ) -> None:  # fmt: skip
        """Add what has come every `interval` seconds; for ever, or until nothing came for `until_idle`.

        Then all connections are over. Whatever ends it otherwise, it goes on from there when it is called again.
        `skipped` is called with files that cannot be read and why, once each.
        """
        last = time.monotonic()
        while not self._cancelled.is_set():
            begun = time.monotonic()
            if self.step(captures, rolled, self.patience, skipped):
                last = time.monotonic()
            elif until_idle is not None and time.monotonic() - last > max(until_idle, interval):
                break
            if not self._is_behind:
                self._cancelled.wait(max(interval + begun - time.monotonic(), 0))
        if not self._cancelled.is_set():
            self.step(captures, rolled, 0, skipped)

    def step(
        self, captures: list[str], rolled: bool, patience: int, skipped: Callable[[list[tuple[str, str]]], None]
    ) -> bool:
        """Add a batch; return whether there was anything to add."""
        progress = self.output.progress()
        try:
            how: dict[str, Any] = {"rolled": rolled, "known": progress.holds, "allow_duplicates": True}
            found = plan(captures, self.options.split, **how)
        except CaptureError as error:  # a file was deleted while the folder was listed
            found = Plan([], [], [], [(error.source, error.problem)])
        if new := [one for one in found.refused if one[0] not in self._skipped]:
            skipped(new)
            self._skipped |= {name for name, _ in new}
        batch = resume(found, progress, captures, patience=patience, rolled=rolled, follows=True, room=PER_BATCH)
        self._is_behind = batch.is_full
        if batch.is_empty:
            return False
        try:
            return bool(self.grow(batch).counts)
        except (SparkError, CaptureError):
            if self._cancelled.is_set():
                return False
            if not any(changes(batch.plan)):
                raise
            return True  # a ring of files came round to one that was being read: what is there now is read instead

    def _commit(self, plan: Plan, outcome: PipelineOutcome, read: dict[str, Any], before: Progress) -> None:
        """Commit a batch, with the sums of all batches."""
        if "overwritten" in changes(plan):
            raise SparkError("a file was overwritten while it was read", "run the same command again")
        self._go_on()
        sums = {name: Counter(getattr(self.outcome, name)) for name in COUNTED}
        for name, found in sums.items():
            found.update(getattr(outcome, name))
        captures = {*self.entry.get("captures", ()), *plan.captures}
        entry = {
            "started": self.entry.get("started", self.output.started.isoformat()),
            "commit": self.entry.get("commit", 0) + 1,
            "options": self.options.said, "captures": sorted(captures),
            "roots": sorted({*self.entry.get("roots", ()), *plan.roots}), **read, **sums,
        }  # fmt: skip
        self.output.commit(outcome.files, entry, before=before)
        self.entry = entry
        for name, found in sums.items():
            setattr(self.outcome, name, found)
        self.outcome.problems += outcome.problems


def changes(plan: Plan) -> set[str]:
    """Return whether files of the plan were deleted or overwritten since it was made."""
    found = set[str]()
    for file in (plan.files[number] for number in {split.file for split in plan.splits}):
        try:
            with open_file(file.place) as opened:
                layout, begun = first_packet(opened)
        except CaptureError:
            found.add("deleted")
        else:
            planned = (file.layout, file.time) if isinstance(file.layout, Layout) else (None, None)
            found |= {"overwritten"} if (layout, begun) != planned else set()
    return found
