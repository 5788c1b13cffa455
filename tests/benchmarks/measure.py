"""CPU time of processes and functions, as medians over rounds in which the contestants take turns.

Machines are noisy and differ, so only ratios within one run mean anything.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ONCE = Path(__file__).with_name("once.py")
ENOUGH = 120.0
"""CPU seconds after which contestants are not asked for another round: who takes minutes is known after one."""
COMPILED_ONCE = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of commands: with that variable every start would compile kdbg."""


class Cost(NamedTuple):
    """Median CPU seconds (user and system), the most memory in MB, and median wall seconds of one command."""

    seconds: float
    memory: float
    wall: float


def costs(commands: Sequence[Sequence[str]], rounds: int) -> list[Cost]:
    """The cost of each command; they take turns, so that a slow minute hits all of them. Output is thrown away."""
    seen: list[list[Cost]] = []
    while len(seen) < rounds and sum(cost.seconds for costs in seen for cost in costs) < ENOUGH:
        seen.append([Cost(**_once("whole", command)) for command in commands])
    return [_together(column) for column in zip(*seen, strict=True)]


def cost(command: Sequence[str], rounds: int) -> Cost:
    """That of a command without a contestant."""
    return costs([command], rounds)[0]


def side_by_side(command: Sequence[str], count: int, rounds: int) -> float:
    """Median wall seconds of so many runs of one command at once, until the last is through.

    Beside the wall time of one run this tells what a second core of the machine is worth for such work.
    """
    return statistics.median(_side_by_side(command, count) for _ in range(rounds))


def _side_by_side(command: Sequence[str], count: int) -> float:
    start = time.monotonic()
    runs = [subprocess.Popen(command, env=COMPILED_ONCE, stdout=subprocess.DEVNULL) for _ in range(count)]
    for run in runs:
        run.wait()
    return time.monotonic() - start


def first_lines(commands: Sequence[Sequence[str]], rounds: int) -> list[float]:
    """Median wall seconds until each command's first line is in a pipe."""
    seen = [[_once("first", command)["wall"] for command in commands] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*seen, strict=True)]


def _together(seen: Sequence[Cost]) -> Cost:
    seconds, memory, wall = zip(*seen, strict=True)
    return Cost(statistics.median(seconds), max(memory), statistics.median(wall))


def _once(what: str, command: Sequence[str]) -> dict[str, float]:
    measured = [sys.executable, "-I", "-S", str(ONCE), what, *command]
    done = subprocess.run(measured, env=COMPILED_ONCE, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


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
