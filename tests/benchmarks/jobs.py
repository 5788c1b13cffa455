"""`--jobs N` of decode, report, query and export: wall time beside one process, and whether the output is the same.

Two cores of one machine are seldom worth two: they share memory, caches, and often the machine with others. So each
command also runs twice at once, which shares nothing: *the machine's* is how much more two such runs do in a time.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .measure import costs, side_by_side
from .results import Column, Table
from .views import kdbg

JOBS = 2
VIEWS = ("summary", "json", "tree", "hex")
SQL = "SELECT api, COUNT(*), AVG(latency_us) FROM exchanges GROUP BY api ORDER BY api"


def report(paths: Mapping[str, Path], rounds: int) -> list[Table]:
    """The table; none where this kdbg has no such option."""
    table = Table("jobs", f"`--jobs {JOBS}`, wall time", (
        Column("one process", "s"), Column(f"{JOBS} jobs", "s"), Column("times sooner", "×", 1),
        Column("the machine's", "×"), Column("CPU / one process'", "×", -1), Column("same output", "text"),
    ))  # fmt: skip
    told = subprocess.run([sys.executable, "-m", "kdbg", "decode", "--help"], capture_output=True, check=True).stdout
    for kind, path in paths.items() if b"--jobs" in told else ():
        page = [sys.executable, "-m", "kdbg", "report", str(path), "--output", "-", "--jobs", "1"]
        query = [sys.executable, "-m", "kdbg", "query", str(path), SQL, "--jobs", "1"]
        export = [sys.executable, "-m", "kdbg", "export", str(path), "--errors", "/dev/stdout", "--jobs", "1"]
        others = ("report", page), ("query", query), ("export", export)
        for view, alone in [*((view, kdbg(path, view)) for view in VIEWS), *others]:
            shared = [*alone, "--jobs", str(JOBS)]
            one, many = costs([alone, shared], rounds)
            machines = JOBS * one.wall / side_by_side(alone, JOBS, rounds)
            same = "yes" if printed(alone) == printed(shared) else "NO"
            table.add(
                f"{kind}, {view}", one.wall, many.wall, one.wall / many.wall, machines, many.seconds / one.seconds, same
            )
    return [table]


def printed(command: list[str]) -> bytes:
    """The hash of what a command prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        return hashlib.file_digest(process.stdout, "sha256").digest()
