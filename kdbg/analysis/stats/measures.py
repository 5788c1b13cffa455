"""What is counted and measured, declared once: columns of tables, names in JSON and CSV, what rows are sorted by.

Quantiles of many numbers take little memory: how often each was, to its first seven binary digits. Numbers below 128
are kept as they are, others in steps of a 64th of the power of two below them: half a step is at most 0.8 % of the
number. The keys are whole numbers, so that sketches of parts add up to that of the whole exactly, on any machine and in
any order; a logarithm would cost more and promise less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...protocol.findings import Kind
from ...protocol.grammars.errors import error_name

BITS = 6
"""Binary digits after the first one."""
EXACT = 2 << BITS
WITHIN = 0.008
"""The largest relative error of a quantile."""


class Sketch:
    """How often whole numbers came that are not negative; `most` is the largest, `total` their sum."""

    __slots__ = ("counts", "most", "total")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.most: int = 0
        self.total: int = 0

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
                shift = (key >> BITS) - 1 if key >= EXACT else 0  # the number in the middle of those with this key
                return min(((key - (shift << BITS)) << shift) + (1 << shift >> 1), self.most)
        return None


MOST_CONNECTIONS = 1 << 16
"""Connections that are distinguished in one tally; more are not counted."""
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

    def __init__(self) -> None:
        self.exchanges = self.request_bytes = self.response_bytes = self.records = 0
        self.errors: dict[int, int] = {}
        self.steps: dict[int, int] = {}
        self.findings: dict[str, int] = {}
        self.connections: set[int] = set()
        self.first, self.last = NEVER, 0
        self.late: Sketch = Sketch()
        self.spent: dict[str, Sketch] = {}

    def merge(self, other: Tally) -> None:
        """Take all exchanges of another tally."""
        self.exchanges += other.exchanges
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.records += other.records
        counts: Any
        for counts, others in ((self.errors, other.errors), (self.steps, other.steps), (self.findings, other.findings)):
            for name, count in others.items():
                counts[name] = counts.get(name, 0) + count
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.late.merge(other.late)
        for name, sketch in other.spent.items():
            self.spent.setdefault(name, Sketch()).merge(sketch)
        if len(self.connections) < MOST_CONNECTIONS:
            self.connections |= other.connections
            while len(self.connections) > MOST_CONNECTIONS:
                self.connections.pop()

    @property
    def unanswered(self) -> int:
        """How many requests were seen without a response."""
        return self.findings.get(Kind.NO_RESPONSE, 0)


class Unit(Enum):
    """What a measure is counted in; a view writes it accordingly."""

    COUNT = "count"
    BYTES = "bytes"
    MILLISECONDS = "ms"
    MOMENT = "nanoseconds since 1970"
    NAMES = "names with their counts"


@dataclass(frozen=True)
class Measure:
    """One of them: `name` in JSON, CSV and `--sort`, `title` over a column. `of` gives None where there is nothing."""

    name: str
    title: str
    unit: Unit
    of: Callable[[Tally], Any]
    help: str


def _quantile(part: float, spent: str = "") -> Callable[[Tally], float | None]:
    """Return what gives a quantile of latencies, or of the time that was spent on something, in milliseconds."""

    def quantile(tally: Tally) -> float | None:
        sketch = tally.spent.get(spent) if spent else tally.late
        found = None if sketch is None else sketch.quantile(part)
        return None if found is None else found / 1e6

    return quantile


def named(codes: Mapping[int, int]) -> dict[str, int]:
    """Return counts of error codes by name, the most frequent first."""
    return {error_name(code): count for code, count in sorted(codes.items(), key=lambda item: (-item[1], item[0]))}


def _sum(name: str) -> Callable[[Tally], float | None]:
    return lambda tally: tally.spent[name].total / 1e6 if name in tally.spent else None


MEASURES: dict[str, Measure] = {
    one.name: one
    for one in (
        Measure("exchanges", "exch", Unit.COUNT, lambda tally: tally.exchanges, "exchanges"),
        Measure("connections", "conns", Unit.COUNT, lambda tally: len(tally.connections), "connections"),
        Measure("request_bytes", "req B", Unit.BYTES, lambda tally: tally.request_bytes, "bytes of requests"),
        Measure("response_bytes", "resp B", Unit.BYTES, lambda tally: tally.response_bytes, "bytes of responses"),
        Measure("records", "records", Unit.COUNT, lambda tally: tally.records, "records produced and fetched"),
        Measure("p50_ms", "p50", Unit.MILLISECONDS, _quantile(0.50), "median response latency"),
        Measure("p95_ms", "p95", Unit.MILLISECONDS, _quantile(0.95), "95th percentile of response latency"),
        Measure("p99_ms", "p99", Unit.MILLISECONDS, _quantile(0.99), "99th percentile of response latency"),
        Measure("max_ms", "max", Unit.MILLISECONDS, lambda tally: tally.late.most / 1e6 if tally.late.counts else None,
                "maximum response latency"),
        Measure("no_response", "no resp", Unit.COUNT, lambda tally: tally.unanswered, "requests without a response"),
        Measure("unanswered", "unanswered", Unit.COUNT, lambda tally: tally.unanswered,
                "no_response by its former name"),
        Measure("findings", "findings", Unit.COUNT, lambda tally: sum(tally.findings.values()) - tally.unanswered,
                "findings other than no-response"),
        Measure("errors", "errors", Unit.COUNT, lambda tally: sum(tally.errors.values()),
                "error codes, excluding expected ones"),
        Measure("expected_errors", "expected", Unit.COUNT, lambda tally: sum(tally.steps.values()),
                "expected error codes (part of normal protocol flow)"),
        Measure("steps", "steps", Unit.COUNT, lambda tally: sum(tally.steps.values()),
                "expected_errors by its former name"),
        Measure("first_time", "first", Unit.MOMENT, lambda tally: tally.first if tally.first != NEVER else None,
                "time of the first request"),
        Measure("last_time", "last", Unit.MOMENT, lambda tally: tally.last if tally.first != NEVER else None,
                "time of the last message"),
        Measure("error_names", "which", Unit.NAMES, lambda tally: named(tally.errors),
                "error codes by name, with counts"),
    )
}  # fmt: skip
ON: dict[str, str] = {
    "waiting": "queued behind earlier requests", "throttle": "throttled", "network": "network",
    "held": "long-poll wait", "broker": "broker", "reading": "slow client reads",
}  # fmt: skip
"""What the parts of an exchange's time are called: those of the latency, and `reading`, which comes after it."""
SPENT: dict[str, Measure] = {
    one.name: one
    for part in PARTS
    for one in (
        Measure(f"{part}_p50_ms", "p50", Unit.MILLISECONDS, _quantile(0.50, part), f"{ON[part]}: median"),
        Measure(f"{part}_p95_ms", "p95", Unit.MILLISECONDS, _quantile(0.95, part), f"{ON[part]}: 95th percentile"),
        Measure(f"{part}_sum_ms", "sum", Unit.MILLISECONDS, _sum(part), f"{ON[part]}: sum"),
    )
}
"""Where the time went, for those who ask: median, 95th percentile and sum of each part."""
