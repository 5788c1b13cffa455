"""How a correction moves the bytes after it: a later mistake is named at its byte in the original message."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple


class Shift(NamedTuple):
    """The bytes from `start` on are `by` bytes further on than before a correction."""

    start: int
    by: int

    @classmethod
    def between(cls, wrong: bytes, corrected: bytes) -> Shift:
        """Return how far the bytes of a message moved."""
        shorter = min(len(wrong), len(corrected))
        start = bisect_left(range(shorter), True, key=lambda at: wrong[: at + 1] != corrected[: at + 1])
        return cls(start, len(corrected) - len(wrong))

    def before(self, at: int) -> int:
        """Return where a byte was before the correction."""
        return at if at <= self.start else max(self.start, at - self.by)
