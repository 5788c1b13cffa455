"""A room's mutants against its tests: a clean run notes which test runs which line, then it goes mutant by mutant."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from .child import Chosen, Traced, preload, run
from .mutants import Mutant, mutants
from .rooms import TOP, Room

LONGEST_CLEAN_RUN = 1200
STARTING = 10
"""Seconds that a run has beside three times what its tests take."""


class Clean(NamedTuple):
    """A clean run of a room's tests."""

    took: dict[str, float]
    """Seconds of each test."""
    lines: dict[str, dict[int, list[str]]]
    """File, line, and the tests that run it; "" are imports."""

    def concerned(self, file: str, mutant: Mutant) -> dict[str, float]:
        """Return the tests that run a mutant's lines, with their seconds."""
        lines = self.lines[file]
        found = {name for line in range(mutant.start, mutant.line + 1) for name in lines.get(line, [])}
        return self.took if "" in found else {name: self.took[name] for name in found}


class Result(NamedTuple):
    """What became of a mutant: the test that failed, or "time" or "import"; "" if all passed; None if none ran it."""

    mutant: Mutant
    by: str | None

    @property
    def killed(self) -> bool:
        """Whether the tests noticed."""
        return bool(self.by)


def clean(room: Room, modules: list[str]) -> Clean:
    """Run a room's tests as they are; they must pass."""
    status, report = run(room.tests, Traced(modules), LONGEST_CLEAN_RUN)
    if status != 0:
        raise SystemExit(f"{room.name}: the tests fail without a mutant: {report.get('failed') or status}")
    preload(report["imported"])
    status, again = run(room.tests, Chosen(), LONGEST_CLEAN_RUN)  # as mutants are run; tracing slows tests unevenly
    if status != 0:
        raise SystemExit(f"{room.name}: the tests fail in a second run: {again.get('failed') or status}")
    lines = {file: {int(line): names for line, names in found.items()} for file, found in report["lines"].items()}
    return Clean(again["took"], lines)


def measured(
    module: str, ran: Clean, sample: int, seed: int, named: set[str] | None = None
) -> tuple[int, Iterator[Result]]:
    """Return how many mutants a module has, and what became of a random sample of them, or of those named."""
    found = mutants((TOP / module).read_text(encoding="utf-8"))
    dice = random.Random(f"{seed} {module}")
    chosen = found if len(found) <= sample else sorted(dice.sample(found, sample))
    if named is not None:
        chosen = [mutant for mutant in found if mutant.name in named]
    return len(found), (tried(module, mutant, ran) for mutant in chosen)


def tried(module: str, mutant: Mutant, ran: Clean) -> Result:
    """Run the tests that a mutant concerns."""
    tests = ran.concerned(module, mutant)
    if not tests:
        return Result(mutant, None)
    files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    status, report = run(files, Chosen(tests), STARTING + 3 * sum(tests.values()), (module, mutant))
    if status == 0:
        return Result(mutant, "")
    return Result(mutant, "time" if status is None else report.get("failed") or "import")
