"""CPU time of processes and functions, as medians over rounds in which the contestants take turns.

Machines are noisy and differ, so only ratios within one run mean anything.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """Median CPU seconds (user and system) and peak memory in MB of one command."""

    seconds: float
    memory: float


def cost(command: Sequence[str]) -> Cost:
    """Run a command to its end, output thrown away."""
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def costs(commands: Sequence[Sequence[str]], rounds: int) -> list[Cost]:
    """The median cost of each command; they take turns, so that a slow minute hits all of them."""
    seen = [[cost(command) for command in commands] for _ in range(rounds)]
    columns = list(zip(*seen, strict=True))
    return [Cost(statistics.median(c.seconds for c in column), max(c.memory for c in column)) for column in columns]


def microseconds(work: Callable[[], object], *, enough: float = 0.3) -> float:
    """CPU microseconds of one call: the best of several runs, each long enough to be told."""
    work()
    calls = 1
    while (taken := _timed(work, calls)) < enough / 5:
        calls = max(calls * 2, int(calls * enough / 5 / max(taken, 1e-9)))
    return min(_timed(work, calls) for _ in range(5)) / calls * 1e6


def _timed(work: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        work()
    return time.process_time() - start


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    align = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, align, *rows))
