"""How serious something is, as a mark and a style; when it was seen, and how often: the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...protocol.findings.kinds import Severity

MARKS: Final = {Severity.ERROR: ("✗", "bad"), Severity.WARNING: ("!", "note"), Severity.NOTE: ("·", "dim")}
"""The mark and the style of each severity."""


def moment(times: Mapping[int, str], time: int) -> str:
    """Return a time of the day, of nanoseconds since the epoch; `times` are those of a `Clock`."""
    return times[time // 1_000_000] if time > 0 else "unknown time"


def seen(times: Mapping[int, str], since: int, until: int, count: int) -> str:
    """Return when something was seen, and how often: "12:00:00.000 to 12:00:01.500 · 3 times"."""
    first, last = moment(times, since), moment(times, until)
    when = first if first == last else f"{first} to {last}"
    return f"{when} · {count:,} {'time' if count == 1 else 'times'}"
