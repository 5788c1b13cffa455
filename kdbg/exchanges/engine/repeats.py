"""Messages of a connection that are alike in time and correlation id, counted: what distinguishes their exchanges."""

from __future__ import annotations

from typing import Final

MOST: Final = 10_000
"""Correlation ids that are remembered."""


class Repeats:
    """Counts the messages of one direction that begin at the same time, with the same correlation id."""

    __slots__ = ("_counts", "_last")

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._counts: dict[int, int] | None = None  # of most connections none, as no two messages begin at once

    def count(self, time: int, correlation_id: int) -> int:
        """Take the next message; return how many like it came just before."""
        last, self._last = self._last, (time, correlation_id)
        if last is None or time != last[0]:
            self._counts = None
            return 0
        if self._counts is None or len(self._counts) > MOST:
            self._counts = {last[1]: 1}
        found = self._counts.get(correlation_id, 0)
        self._counts[correlation_id] = found + 1
        return found
