"""The numbers of some exchanges."""

from __future__ import annotations

from collections.abc import Mapping

from .sketch import Sketch

MOST_CONNECTIONS = 1 << 16
"""Connections that are told apart in one tally; more are not counted."""
NEVER = 1 << 63


class Tally:
    """Numbers of some exchanges, which two tallies have in sum.

    `errors` and `steps` count error codes, those that are normal steps of a protocol apart; `findings` kinds of them.
    `first` and `last` are nanoseconds since 1970. `late` holds the nanoseconds that answers took beyond the time for
    which their requests asked them to be held back. `connections` are distinct ones, by number.
    """

    __slots__ = (
        "connections", "errors", "exchanges", "findings", "first", "last", "late", "records", "request_bytes",
        "response_bytes", "steps",
    )  # fmt: skip
    errors: dict[int, int]
    steps: dict[int, int]
    findings: dict[str, int]
    connections: set[int]

    def __init__(self) -> None:
        self.exchanges = self.request_bytes = self.response_bytes = self.records = 0
        self.errors, self.steps, self.findings, self.connections = {}, {}, {}, set()
        self.first, self.last = NEVER, 0
        self.late: Sketch = Sketch()

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
        if len(self.connections) < MOST_CONNECTIONS:
            self.connections |= other.connections

    @property
    def unanswered(self) -> int:
        """How many requests were seen without a response."""
        return self.findings.get("unanswered", 0)


def add(counts: dict[int | str, int], others: Mapping[int | str, int]) -> None:
    """Add counts to others of the same names."""
    for name, count in others.items():
        counts[name] = counts.get(name, 0) + count
