"""Times of day as a summary has them: the date once, and each line's time of day, in UTC or in local time."""

from __future__ import annotations

from datetime import UTC, datetime

from .values import Memo


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

    def _second(self, second: int) -> str:
        moment = self.at(second)
        day = f"{moment:%Y-%m-%d}"
        self._day = self._day or day
        return f"{moment:%H:%M:%S}" if day == self._day else f"{moment:%m-%d %H:%M:%S}"
