"""`python -m tests.fuzz [--minutes N] [--jobs N] [--target NAME]… [--folder DIR] [--seed N]`: look for bad inputs.

Every target gets the same share of the time, in processes of its own. The corpus stays in the folder, and another run
goes on from it. Exit status 1 where something was found: the inputs stand in DIR/found, as small as could be.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
ROUND = 120
"""Seconds of a target at a time, at most: all are tried early."""


def main() -> int:
    """Fuzz as asked; return the exit status."""
    from .targets import TARGETS

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Look for inputs that break kdbg.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default 2)")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="again for more; all if none is named")
    parser.add_argument("--folder", type=Path, default=TOP / ".fuzz", help="corpus and findings (default .fuzz)")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    names = asked.target or list(TARGETS)
    share = asked.minutes * 60 * asked.jobs / len(names)
    rounds = max(1, round(share / ROUND))
    asked.folder.mkdir(parents=True, exist_ok=True)
    inputs = dict.fromkeys(names, 0)
    for number in range(rounds):
        explored(names, asked.folder, max(1, round(share / rounds)), asked.seed + number, asked.jobs, inputs)
    for name, count in inputs.items():
        print(f"{name:12} {count:>10,} inputs")
    settle = [sys.executable, "-m", "tests.fuzz.settle", str(asked.folder)]
    found = subprocess.run(settle, cwd=TOP, stdout=subprocess.PIPE, text=True, check=False).stdout
    print(found, end="")
    print(f"{sum(inputs.values()):,} inputs, {len(found.splitlines())} in trouble")
    return int(bool(found))


def explored(names: Sequence[str], folder: Path, seconds: int, seed: int, jobs: int, inputs: dict[str, int]) -> None:
    """Explore each target for so many seconds, `jobs` of them at a time; add up the inputs."""
    left, running = list(names), dict[str, subprocess.Popen[bytes]]()
    while left or running:
        while left and len(running) < jobs:
            name = left.pop(0)
            command = [sys.executable, "-m", "tests.fuzz.explore", name, str(folder), str(seconds), str(seed)]
            with (folder / f"{name}.log").open("wb") as log:
                running[name] = subprocess.Popen(command, cwd=TOP, stdout=log, stderr=log)
        time.sleep(0.2)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            if running.pop(name).returncode:
                print(f"{name}: ended early, see {folder / name}.log", flush=True)
            tally = folder / f"{name}.json"
            inputs[name] += json.loads(tally.read_text())["inputs"] if tally.exists() else 0
            tally.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
