"""What an index costs a complete reading, and what questions take with it: `kdbg decode` of 0.8 GB, small messages."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from kdbg.views.index import cache

from .archives import repeated
from .measure import COMPILED_ONCE, costs
from .results import Column, Table

SIZE = 800_000_000
QUESTIONS = {
    "--errors": ("--errors",),
    "--api metadata": ("--api", "metadata"),
    "--slower-than 5 --limit 1000": ("--slower-than", "5", "--limit", "1000"),
    "--topic, none matches": ("--topic", "no-such-topic"),
    "FILE#1000000": ("--exchange", "1000000"),
}
"""Questions with few exchanges as the result, as `decode --format summary` takes them."""


def report(small: Path, rounds: int) -> list[Table]:
    """The table of questions."""
    table = Table("index", "decode --format summary", (
        Column("wall", "s"), Column("CPU", "s"), Column("times a reading without", "×", -1), Column("peak", "MB"),
    ))  # fmt: skip
    with tempfile.TemporaryDirectory(dir=small.parent) as folder:
        path = repeated(small, Path(folder) / "large.pcap", SIZE)
        os.environ["XDG_CACHE_HOME"] = COMPILED_ONCE["XDG_CACHE_HOME"] = folder
        os.environ.pop("KDBG_NO_INDEX", None)
        COMPILED_ONCE.pop("KDBG_NO_INDEX", None)
        decode = [sys.executable, "-m", "kdbg", "decode", str(path), "--format", "summary"]
        anew = ["sh", "-c", 'rm -rf "$XDG_CACHE_HOME/kdbg" && exec "$@"', "sh", *decode]
        plain, written = costs([[*decode, "--no-index"], anew], rounds)
        questions = costs([[*decode, *options] for options in QUESTIONS.values()], rounds)
        (index,) = cache.kept()
        named = {"without an index": plain, f"writing it ({index.size / 1e6:.0f} MB)": written}
        for name, cost in {**named, **dict(zip(QUESTIONS, questions, strict=True))}.items():
            table.add(name, cost.wall, cost.seconds, cost.wall / plain.wall, cost.memory)
    return [table]
