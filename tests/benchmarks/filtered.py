"""What filters cost: each view of a capture without one, and with some that let everything through."""

from __future__ import annotations

from pathlib import Path

from .measure import costs
from .results import Column, Table
from .views import kdbg

ALL = {
    "`--api '!vote'`": ("--api", "!vote"),
    "`--where 'api != \"Vote\"'`": ("--where", 'api != "Vote"'),
    "`--where 'correlation_id >= 0'`": ("--where", "correlation_id >= 0"),
    "`--where 'latency_ms >= 0 || latency_ms == null'`": ("--where", "latency_ms >= 0 || latency_ms == null"),
    "`--where 'client_id != \"x\" && size > 0'`": ("--where", 'client_id != "x" && size > 0'),
    "`--where 'request.size > 0'`": ("--where", "request.size > 0"),
    "`--where 'topics.all(t, t != \"x\")'`": ("--where", 'topics.all(t, t != "x")'),
    "`--where 'request.client_id != \"x\"'`": ("--where", 'request.client_id != "x"'),
}  # fmt: skip
"""What lets every exchange through, those first that are decided on the header."""
VIEWS = ("summary", "json")


def report(path: Path, rounds: int) -> list[Table]:
    """The table of filters, by view."""
    spent = Table("filters", "view, filter", (Column("CPU", "s"), Column("times no filter", "×", -1)))
    for view in VIEWS:
        plain, *others = costs([kdbg(path, view), *([*kdbg(path, view), *options] for options in ALL.values())], rounds)
        spent.add(f"{view}, none", plain.seconds, 1.0)
        for name, cost in zip(ALL, others, strict=True):
            spent.add(f"{view}, {name}", cost.seconds, cost.seconds / plain.seconds)
    return [spent]
