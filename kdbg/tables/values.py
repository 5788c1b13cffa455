"""Single values as the tables have them: captured text, points in time, the ends of a connection."""

from __future__ import annotations

from typing import Any
from uuid import UUID

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Microseconds from 1970 to the years 1 and 9999: what readers of Parquet can show."""
NEVER = 2**63 - 1
"""Nanoseconds that stand for a time of no use."""


def moment(nanoseconds: int) -> int | None:
    """A packet's time in microseconds; None for what 64 bits of nanoseconds do not hold (pcapng has room for it)."""
    return micros(nanoseconds) if abs(nanoseconds) < NEVER else None


def micros(nanoseconds: int) -> int:
    """The nearest microsecond."""
    return (nanoseconds + 500) // 1000


def timestamp(milliseconds: Any) -> int | None:
    """A record's time stamp in microseconds; None where there is none (-1)."""
    time = milliseconds * 1000 if isinstance(milliseconds, int) else -1
    return time if milliseconds != -1 and FIRST <= time <= LAST else None


def text(value: Any) -> str | None:
    """Captured text; bytes in it that are no UTF-8 appear as \\xNN."""
    if not isinstance(value, str) or value.isascii():
        return value if isinstance(value, str) else None
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def topic_name(topic: Any, topics: dict[UUID, str]) -> str | None:
    """A topic by its name, or by its id where nobody told the name."""
    return text(topics.get(topic) or str(topic)) if isinstance(topic, UUID) else text(topic)


def integer(value: Any) -> int | None:
    """A number, of what a message has where one is expected."""
    return value if type(value) is int else None
