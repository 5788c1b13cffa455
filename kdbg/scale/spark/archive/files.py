"""What was read, file by file: the reports on splits put together, as rows of `files` and of `problems`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....protocol.findings import Finding, unpack
from ....views.tables.cells import TableRow
from ....views.tables.rows import NO_ENDS, NO_EXCHANGE, problem_columns
from ....views.tables.values import moment
from .plan import Plan

COUNTED = ("packets", "tcp_packets", "other_packets", "passed_over", "packet_bytes")


class Read:
    """What all splits of a file say together; a file that lies outside the time asked for says nothing."""

    counts: dict[str, int]

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTED, 0)
        self.first: int | None = None
        self.last: int | None = None
        self.problems: list[Finding] = []

    @property
    def problem(self) -> str | None:
        """What is wrong with the file, in words."""
        return "; ".join(finding.text for finding in self.problems) or None

    def take(self, report: dict[str, Any]) -> None:
        for name in COUNTED:
            self.counts[name] += report[name]
        self.first = self.first if self.first is not None else report["first_time"]
        self.last = report["last_time"] if report["last_time"] is not None else self.last
        self.problems += map(unpack, report["problems"])


def read_files(plan: Plan, reports: Iterable[dict[str, Any]]) -> dict[int, Read]:
    """Return what was read of each file, by its number in the plan."""
    found: dict[int, Read] = {}
    for report in sorted(reports, key=lambda report: int(report["split"])):
        found.setdefault(report["file"], Read()).take(report)
    return found


def file_rows(plan: Plan, read: dict[int, Read]) -> Iterator[tuple[int | None, TableRow]]:
    """Yield (time, row of `files`) for every file in the plan."""
    splits = {split.file: split for split in reversed(plan.splits)}
    before: dict[int, int | None] = {}
    for number, split in sorted(splits.items()):
        file, found = plan.files[number], read.get(number, Read())
        first, last = (None if time is None else moment(time) for time in (found.first, found.last))
        end = before.get(split.capture)
        before[split.capture] = last
        yield first, (
            plan.captures[split.capture], file.name, file.size, *found.counts.values(), split.shift + 1, first, last,
            None if first is None or end is None else first - end, found.problem,
        )  # fmt: skip


def file_problems(plan: Plan, read: dict[int, Read]) -> Iterator[tuple[int | None, TableRow, str]]:
    """Yield (time, row of `problems`, kind) for whatever is wrong with files."""
    captures = {split.file: plan.captures[split.capture] for split in plan.splits}
    for number, found in sorted(read.items()):
        time = None if found.first is None else moment(found.first)
        for problem in found.problems:
            row = captures[number], *NO_ENDS, *NO_EXCHANGE, *problem_columns(problem, plan.files[number].name)
            yield time, row, problem.kind
