"""What an exchange of small messages costs in each command that reads captures, beside a summary in the same run.

Beside it too: a connection with one exchange, in kdbg and in tshark, and the start of a command.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from kdbg import read

from . import archives, disturbed
from .measure import costs
from .results import Column, Table
from .robustness import MANY
from .starts import LITTLE
from .views import ELEVEN, KAFKA, fields, kdbg, tshark

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
    """The table of commands, and that of connections and starts."""
    table = Table("commands", "an exchange of small messages", (
        Column("CPU", "µs"), Column("times a summary", "×", -1),
    ))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        some = disturbed.clean(small, Path(folder) / "some.pcap")
        exchanges = sum(1 for _ in read(some))
        every = [*costs([command(name, some, folder) for name in COMMANDS], rounds)]
        starts = [*costs([command(name, LITTLE, folder) for name in COMMANDS], rounds)]
        many = archives.many(small, Path(folder) / "many.pcap", MANY, 1)
        ours, theirs, no_traffic = costs(
            [kdbg(many, "summary"), tshark(many, (*KAFKA, *fields(ELEVEN))), tshark(LITTLE, (*KAFKA, *fields(ELEVEN)))],
            rounds,
        )
    each = [(cost.seconds - start.seconds) / exchanges * 1e6 for cost, start in zip(every, starts, strict=True)]
    for name, micros in zip(COMMANDS, each, strict=True):
        table.add(f"`kdbg {name}`", micros, micros / each[0])
    others = Table("connections and starts", "beside it", (Column("CPU", "µs"), Column("times a summary", "×", -1)))
    for name, seconds in {
        f"`kdbg decode`: one of {MANY:,} connections with one exchange each": (ours.seconds - starts[0].seconds) / MANY,
        "`tshark -T fields`, 11 fields: the same": (theirs.seconds - no_traffic.seconds) / MANY,
        "start of `kdbg decode`, for 31 exchanges": starts[0].seconds,
    }.items():
        others.add(name, seconds * 1e6, seconds * 1e6 / each[0])
    return [table, others]


def command(name: str, path: Path, folder: str) -> list[str]:
    """The command line of a command for a capture."""
    first, *options = name.split()
    after = (each.format(out=f"{folder}/out") for each in COMMANDS[name])
    return [sys.executable, "-m", "kdbg", first, *options, str(path), *after]
