"""kdbg's dissector for Wireshark beside the one that Wireshark has: tshark's CPU and memory with either."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from kdbg.views.wireshark import script

from .measure import costs
from .results import Column, Table

WAYS = {"list of packets": (), "`-V`": ("-V",)}
FILTERED = {"kafka": "kafka.correlation_id == 100", "kdbg": "kdbg.correlation_id == 100"}
"""A display filter, which makes tshark look at the fields and print little."""


def report(paths: Mapping[str, Path], rounds: int) -> list[Table]:
    """The table of costs, and what loading the file costs."""
    spent = Table("wireshark", "capture, tshark", (
        Column("kdbg", "s"), Column("peak", "MB"), Column("built-in", "s"), Column("its peak", "MB"),
        Column("kdbg / built-in", "×", -1),
    ))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kdbg.lua"
        file.write_text(script(), encoding="utf-8")
        for kind, path in paths.items():
            ways = {name: (options, options) for name, options in WAYS.items()}
            ways["`-Y`, one correlation id"] = (("-Y", FILTERED["kdbg"]), ("-Y", FILTERED["kafka"]))
            ways["first packet"] = (("-c", "1"), ("-c", "1"))
            for name, (ours, theirs) in ways.items():
                read = ("tshark", "-r", str(path))
                new, old = costs([[*read, "-X", f"lua_script:{file}", *ours], [*read, *theirs]], rounds)
                spent.add(
                    f"{kind}, {name}", new.seconds, new.memory, old.seconds, old.memory, new.seconds / old.seconds
                )
    return [spent]
