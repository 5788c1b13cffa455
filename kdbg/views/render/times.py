"""Times and durations as views write them, and the clock of a view: the date once, then times of day."""

from __future__ import annotations

from datetime import UTC, datetime

from ...protocol.findings.amounts import count, rounded
from .values import SECONDS, Memo

SECOND = 1_000_000_000
"""Nanoseconds of a second."""
BEYOND = 253_402_300_800 * SECOND
"""Nanoseconds from 1970 to the end of the year 9999, the last that a calendar here has."""
clocks = Memo(lambda millisecond: f"{SECONDS[millisecond // 1000][11:]}.{millisecond % 1000:03d}")
"""Milliseconds since 1970 -> the time of day, in UTC."""


def iso(time: int) -> str:
    """Return a time in nanoseconds since 1970 in ISO 8601, in UTC, to the nanosecond."""
    return f"{SECONDS[time // SECOND].replace(' ', 'T')}.{time % SECOND:09d}Z"


def has_date(time: int) -> bool:
    """Return whether a time in nanoseconds since 1970 has a date: not before that, nor beyond the year 9999."""
    return 0 <= time < BEYOND


def moment(time: int) -> str:
    """Return a time in nanoseconds since 1970 as date and time of day in UTC, to the microsecond."""
    return f"{SECONDS[time // SECOND]}.{time // 1000 % 1_000_000:06d}"


def latency(nanoseconds: int | None) -> str:
    """Return a duration in nanoseconds as text in s, ms or µs; a dash for None."""
    if nanoseconds is None:
        return "–"
    size = abs(nanoseconds)
    unit, scale = ("s", 1e9) if size >= 999_500_000 else ("ms", 1e6) if size >= 999_500 else ("µs", 1e3)
    return f"{rounded(nanoseconds / scale)} {unit}"


class Clock:
    """Writes times of a day; the day is that of the first time that is asked for."""

    times: Memo[str]

    def __init__(self, *, local: bool = False) -> None:
        self.local = local
        self._day = ""
        self._seconds: Memo[str] = Memo(self._second)
        self.times = Memo(lambda millisecond: f"{self._seconds[millisecond // 1000]}.{millisecond % 1000:03d}")
        """Milliseconds since 1970 -> the time of day; behind month and day where these are others than the first."""

    def at(self, second: int) -> datetime:
        """Return seconds since 1970 as date and time."""
        moment = datetime.fromtimestamp(second, UTC)
        return moment.astimezone() if self.local else moment

    def zone(self, second: int | None) -> str:
        """Return the name of the zone, at this time."""
        return self.at(second or 0).strftime("%Z")

    def day(self, second: int) -> str:
        """Return the date."""
        return f"{self.at(second):%Y-%m-%d}"

    def begin(self, second: int) -> None:
        """Take the day of this time for the first."""
        self._day = self._day or self.day(second)

    def of_day(self, time: int) -> str:
        """Return a time in nanoseconds since 1970 as the time of the day."""
        return self.times[time // 1_000_000] if time > 0 else "unknown time"

    def seen(self, since: int, until: int, number: int) -> str:
        """Return when something was seen, and how often: "12:00:00.000 to 12:00:01.500 · 3 times"."""
        first, last = self.of_day(since), self.of_day(until)
        when = first if first == last else f"{first} to {last}"
        return f"{when} · {count(number, 'time')}"

    def _second(self, second: int) -> str:
        moment = self.at(second)
        day = f"{moment:%Y-%m-%d}"
        self._day = self._day or day
        return f"{moment:%H:%M:%S}" if day == self._day else f"{moment:%m-%d %H:%M:%S}"
