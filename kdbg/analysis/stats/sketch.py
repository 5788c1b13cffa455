"""Quantiles of many numbers in little memory: how often each was, to its first seven binary digits.

Numbers below 128 are kept as they are, others in steps of a 64th of the power of two below them: half a step is at most
0.8 % of the number. The keys are whole numbers, so that sketches of parts add up to that of the whole exactly, on any
machine and in any order; a logarithm would cost more and promise less.
"""

from __future__ import annotations

BITS = 6
"""Binary digits behind the first one."""
EXACT = 2 << BITS
WITHIN = 0.008
"""The largest relative error of a quantile."""


class Sketch:
    """How often whole numbers came that are not negative; `most` is the largest, `total` their sum."""

    __slots__ = ("counts", "most", "total")
    counts: dict[int, int]
    most: int
    total: int

    def __init__(self) -> None:
        self.counts = {}
        self.most = self.total = 0

    def add(self, number: int) -> None:
        """Take one more number."""
        key = number
        self.total += number
        if number >= EXACT:
            shift = number.bit_length() - BITS - 1
            key = (shift << BITS) + (number >> shift)
        counts = self.counts
        counts[key] = counts.get(key, 0) + 1
        if number > self.most:
            self.most = number

    def merge(self, other: Sketch) -> None:
        """Take all numbers of another sketch."""
        counts = self.counts
        for key, count in other.counts.items():
            counts[key] = counts.get(key, 0) + count
        self.most = max(self.most, other.most)
        self.total += other.total

    def quantile(self, part: float) -> int | None:
        """Return the smallest number that so large a part of all are no larger than; None where there are none.

        It is exact below 128, else within `WITHIN` of the true one.
        """
        left = part * sum(self.counts.values())
        for key in sorted(self.counts):
            left -= self.counts[key]
            if left <= 0:
                return min(_middle(key), self.most)
        return None


def _middle(key: int) -> int:
    """Return the number in the middle of those that have a key."""
    if key < EXACT:
        return key
    shift = (key >> BITS) - 1
    return ((key - (shift << BITS)) << shift) + (1 << shift >> 1)
