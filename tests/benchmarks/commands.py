"""What an exchange of small messages costs in each command that reads captures, beside a summary in the same run."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import kdbg

from . import disturbed
from .measure import costs
from .results import Column, Table
from .starts import LITTLE

COMMANDS = {
    "decode --format summary": (),
    "decode --format json": (),
    "decode --format json --latency": (),
    "records": (),
    "lint": (),
    "diagnose": (),
    "stats": (),
    "query --ask errors": (),
    "report": ("--output", "{out}.html"),
    "redact": ("{out}.pcap",),
}
"""Commands, and what follows the name of the capture; `{out}` is what they may write."""


def report(small: Path, rounds: int) -> list[Table]:
    """The table of commands."""
    table = Table("commands", "an exchange of small messages", (
        Column("CPU", "µs"), Column("times a summary", "×", -1),
    ))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        some = disturbed.clean(small, Path(folder) / "some.pcap")
        exchanges = sum(1 for _ in kdbg.read(some))
        every = [*costs([command(name, some, folder) for name in COMMANDS], rounds)]
        starts = [*costs([command(name, LITTLE, folder) for name in COMMANDS], rounds)]
    each = [(cost.seconds - start.seconds) / exchanges * 1e6 for cost, start in zip(every, starts, strict=True)]
    for name, micros in zip(COMMANDS, each, strict=True):
        table.add(f"`kdbg {name}`", micros, micros / each[0])
    return [table]


def command(name: str, path: Path, folder: str) -> list[str]:
    """The command line of a command for a capture."""
    first, *options = name.split()
    after = (each.format(out=f"{folder}/out") for each in COMMANDS[name])
    return [sys.executable, "-m", "kdbg", first, *options, str(path), *after]
