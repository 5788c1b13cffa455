"""The numbers of some exchanges."""

from __future__ import annotations

from collections.abc import Mapping

from ...exchanges.messages.latency import Split
from ...protocol.findings import Kind
from .sketch import Sketch

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
