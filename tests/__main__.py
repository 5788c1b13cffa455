"""Run all tests: `python -m tests [main|brokers|spark …] [pytest's options and paths]`.

Tests marked `nightly` run with `--all`.

Each room of tests gets a pytest of its own. The main room takes all processors. Brokers often wait, so Spark's room
runs beside theirs, and its output is printed once it has ended. Where the Python that runs this lacks what the tests
need, they run in `.venv`, which is made and kept up to date. The last line is "N passed, N failed", with ", N skipped"
where some were; the exit status is 0 if none failed and some passed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from pathlib import Path
from re import match
from typing import NamedTuple
from xml.etree import ElementTree

TOP = Path(__file__).resolve().parents[1]
VENV = TOP / ".venv"
STAMP = VENV / "tests-prepared"
"""The pyproject.toml that `.venv` was prepared by."""
ROOMS = {
    "main": ("--numprocesses=auto", "--dist=worksteal", "--ignore=tests/brokers", "--ignore=tests/spark"),
    "brokers": (),
    "spark": (),
}
"""The rooms in their order, with pytest's options for each: with worksteal a file stays on one worker, where it can,
and what its tests share is made once."""
ROUNDS = (("main",), ("brokers", "spark"))
"""Rooms that run at the same time."""
COMPILED_ONCE = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Without bytecode, each worker compiles all tests anew, and each command that a test runs compiles all of kdbg."""
NOTHING_COLLECTED = 5
"""pytest's exit status where no test is chosen."""
CTRL_C = 130


class Counts(NamedTuple):
    """What became of the tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


class Run(NamedTuple):
    """A room's pytest while it runs."""

    room: str
    process: subprocess.Popen[bytes]
    report: Path
    """In JUnit's form; there once pytest has ended."""
    output: Path | None
    """What it prints; None: the terminal."""


def main(arguments: list[str]) -> int:
    """Run the rooms that are asked for; return the exit status."""
    rooms = list(takewhile(ROOMS.__contains__, arguments))
    paths = [word for word in arguments[len(rooms) :] if is_path(word)]
    options = [word for word in arguments[len(rooms) :] if word not in paths]
    python = prepared()
    wanted = [room for room in rooms or ROOMS if not paths or any(room_of(path) == room for path in paths)]
    places = {room: [*options, *(path for path in paths if room_of(path) == room)] for room in wanted}
    counts, interrupted = Counts(), False
    with tempfile.TemporaryDirectory() as folder:
        for together in ROUNDS:
            now = [room for room in together if room in wanted and not interrupted]
            for run in [start(python, room, places[room], Path(folder), later=room != now[0]) for room in now]:
                ended, stopped = wait(run.process)
                interrupted |= stopped
                if run.output is not None:
                    print(f"== {run.room}\n{run.output.read_text(errors='replace')}", end="", flush=True)
                found = counted(run.report) if run.report.exists() else Counts()
                if ended not in (0, NOTHING_COLLECTED) and not found.failed and not interrupted:
                    found = found._replace(failed=1)  # pytest itself failed
                counts = Counts(*map(sum, zip(counts, found, strict=True)))
    print(counts, flush=True)
    return CTRL_C if interrupted else int(bool(counts.failed) or not counts.passed)


def is_path(word: str) -> bool:
    """Whether an argument is a file or folder of tests, or a test in a file; "-k wire" names no folder."""
    place = word.partition("::")[0]
    return not word.startswith("-") and ("/" in place or place.endswith(".py")) and (TOP / place).exists()


def room_of(path: str) -> str:
    """Return the room that a path belongs to."""
    place = (TOP / path.partition("::")[0]).resolve()
    return next((room for room in ROOMS if place.is_relative_to(TOP / "tests" / room)), "main")


def start(python: str, room: str, arguments: list[str], folder: Path, *, later: bool) -> Run:
    """Start a room's pytest. `later`: its output goes into a file of the folder."""
    own_place = [] if room == "main" or any(is_path(word) for word in arguments) else [f"tests/{room}"]
    report, output = folder / f"{room}.xml", folder / f"{room}.txt" if later else None
    command = [python, "-m", "pytest", "--quiet", *ROOMS[room], *own_place, *arguments, f"--junitxml={report}"]
    if output is None:
        print(f"== {room}", flush=True)
        return Run(room, subprocess.Popen(command, cwd=TOP, env=COMPILED_ONCE), report, output)
    with output.open("wb") as file:
        return Run(room, subprocess.Popen(command, cwd=TOP, env=COMPILED_ONCE, stdout=file), report, output)


def wait(process: subprocess.Popen[bytes]) -> tuple[int, bool]:
    """Wait until a program ends; return its exit status, and whether Ctrl-C was pressed meanwhile."""
    interrupted = False
    while True:
        try:
            return process.wait(), interrupted
        except KeyboardInterrupt:  # the program got it too, and says what it has to say
            interrupted = True


def counted(report: Path) -> Counts:
    """Return what a report in JUnit's form says."""
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        totals = {name: count + int(suite.get(name, 0)) for name, count in totals.items()}
    failed = totals["failures"] + totals["errors"]
    return Counts(totals["tests"] - failed - totals["skipped"], failed, totals["skipped"])


def prepared() -> str:
    """Return a Python that has what the tests need: this one, or that of `.venv`."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["test"]]
    wanted += [one for name, extra in extras.items() if name != "all" for one in extra]
    if Path(sys.prefix) != VENV and installed(wanted):
        return sys.executable
    python = str(VENV / "bin" / "python")
    needs = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    if not STAMP.exists() or STAMP.read_text(encoding="utf-8") != needs:
        print(f"installing in {VENV.name} what the tests need", flush=True)
        if not Path(python).exists():
            subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--upgrade", "pip>=25.1"], cwd=TOP, check=True)  # the first that knows --group
        needed = ["--no-compile", "--editable", ".[all]", "--group", "test"]  # most of it is never imported
        subprocess.run([*pip, *needed], cwd=TOP, check=True)
        STAMP.write_text(needs, encoding="utf-8")
    return python


def installed(requirements: Iterable[str]) -> bool:
    """Whether these distributions are there, in whatever version."""
    for requirement in requirements:
        name = match(r"[\w.-]+", requirement)
        assert name is not None
        try:
            version(name[0])
        except PackageNotFoundError:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
