"""Quantiles of many numbers in little memory: how often each was, to its first seven binary digits.

Numbers below 128 are kept as they are, others in steps of a 64th of the power of two below them: half a step is at most
0.8 % of the number. The keys are whole numbers, so that sketches of parts add up to that of the whole exactly, on any
machine and in any order; a logarithm would cost more and promise less.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...exchanges.messages.capture_points import Split
from ...protocol.findings import Kind

BITS = 6
"""Binary digits after the first one."""
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


MOST_CONNECTIONS = 1 << 16
"""Connections that are told apart in one tally; more are not counted."""
NEVER = 1 << 63
PARTS = ("waiting", "throttle", "network", "held", "broker", "reading")
"""What time is spent on, as `Split` calls it, in the order in which it passes."""


class Tally:
    """Numbers of some exchanges, which two tallies have in sum.

    `errors` and `steps` count error codes, those that are normal steps of a protocol apart; `findings` kinds of them.
    `first` and `last` are nanoseconds since 1970. `late` holds the nanoseconds that answers took beyond the time for
    which their requests asked them to be held back. `connections` are distinct ones, by number.
    `spent` holds nanoseconds by what they were spent on, as `PARTS` names it, of exchanges of which that is known.
    """

    __slots__ = (
        "connections", "errors", "exchanges", "findings", "first", "last", "late", "records", "request_bytes",
        "response_bytes", "spent", "steps",
    )  # fmt: skip
    errors: dict[int, int]
    steps: dict[int, int]
    findings: dict[str, int]
    connections: set[int]
    spent: dict[str, Sketch]

    def __init__(self) -> None:
        self.exchanges = self.request_bytes = self.response_bytes = self.records = 0
        self.errors, self.steps, self.findings, self.connections = {}, {}, {}, set()
        self.first, self.last = NEVER, 0
        self.late: Sketch = Sketch()
        self.spent = {}

    def merge(self, other: Tally) -> None:
        """Take all exchanges of another tally."""
        self.exchanges += other.exchanges
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.records += other.records
        for mine, others in (
            (self.errors, other.errors), (self.steps, other.steps), (self.findings, other.findings),
        ):  # fmt: skip
            add(mine, others)  # type: ignore[arg-type]
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.late.merge(other.late)
        for name, sketch in other.spent.items():
            self.spent.setdefault(name, Sketch()).merge(sketch)
        if len(self.connections) < MOST_CONNECTIONS:
            self.connections |= other.connections

    def spend(self, split: Split) -> None:
        """Take where the time of an exchange went."""
        for name in PARTS:
            part = getattr(split, name)
            if part is not None:
                sketch = self.spent.get(name)
                if sketch is None:
                    sketch = self.spent[name] = Sketch()
                sketch.add(part)

    @property
    def unanswered(self) -> int:
        """How many requests were seen without a response."""
        return self.findings.get(Kind.NO_RESPONSE, 0)


def add(counts: dict[int | str, int], others: Mapping[int | str, int]) -> None:
    """Add counts to others of the same names."""
    for name, count in others.items():
        counts[name] = counts.get(name, 0) + count
