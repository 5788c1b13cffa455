"""Single values as the tables have them: captured text, points in time, the ends of a connection."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ...protocol.wire.readings.topics import Topics

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Microseconds from 1970 to the years 1 and 9999: what readers of Parquet can show."""
NEVER = 2**63 - 1
"""Nanoseconds that stand for a time of no use."""


def moment(nanoseconds: int) -> int | None:
    """Return a packet's time, given in nanoseconds, in microseconds; None if 64 bits of nanoseconds cannot hold it.

    Only pcapng has room for such a time.
    """
    return micros(nanoseconds) if abs(nanoseconds) < NEVER else None


def micros(nanoseconds: int) -> int:
    """Return nanoseconds as microseconds, rounded to the nearest."""
    return (nanoseconds + 500) // 1000


def timestamp(milliseconds: Any) -> int | None:
    """Return a record's timestamp, given in milliseconds, in microseconds; None for -1 and beyond years 1 to 9999."""
    if not isinstance(milliseconds, int) or milliseconds == -1:
        return None
    time = milliseconds * 1000
    return time if FIRST <= time <= LAST else None


def text(value: Any) -> str | None:
    """Return captured text, with bytes that are not UTF-8 as \\xNN; None for what is no text."""
    if not isinstance(value, str) or value.isascii():
        return value if isinstance(value, str) else None
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def topic_name(topic: Any, topics: Topics) -> str | None:
    """Return a topic's name, or its id as text where the name is not known."""
    return text(topics.get(topic) or str(topic)) if isinstance(topic, UUID) else text(topic)


def integer(value: Any) -> int | None:
    """Return the value if it is an integer, else None."""
    return value if type(value) is int else None
