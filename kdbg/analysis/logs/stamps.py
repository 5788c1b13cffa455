"""When a line of a log was written: the last time that stands in front of what it says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ...exchanges.messages.lines import UNTIMED

FARTHEST = 400
"""Letters in front of what a line says in which a time is looked for."""
MOMENT = re.compile(
    r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z\b|UTC\b|[+-]\d\d:?\d\d(?!\d))?"
)
SECONDS = re.compile(r"%\d\|(\d{9,11})\.(\d{3})\|")
"""As librdkafka writes to stderr."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000


def stamp(text: str) -> tuple[int, bool]:
    """Return when a line was written by the text in front of what it says, and whether that names its zone.

    The time is in nanoseconds since 1970, as if UTC where no zone is named; `UNTIMED` where there is none.
    """
    near = text[-FARTHEST:]
    last = None
    for last in MOMENT.finditer(near):  # noqa: B007 - the last is wanted
        pass
    if last is not None:
        second = _second(*(int(part) for part in last.groups()[:6]))
        if second is not None:
            fraction = int((last[7] or "0").ljust(9, "0"))
            return (second - _offset(last[8])) * SECOND + fraction, last[8] is not None
    found = SECONDS.search(near)
    if found is not None:
        return int(found[1]) * SECOND + int(found[2]) * 1_000_000, True
    return UNTIMED, False


@lru_cache(maxsize=4096)
def _second(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    """Return seconds since 1970; None for what is no time, or earlier."""
    try:
        found = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int((found - EPOCH) / timedelta(seconds=1)) if found >= EPOCH + timedelta(days=1) else None


def _offset(zone: str | None) -> int:
    """Return the seconds by which a zone is ahead of UTC."""
    if zone is None or zone in ("Z", "UTC"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
