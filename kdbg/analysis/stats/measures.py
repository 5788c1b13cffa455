"""What is counted and measured, declared once: columns of tables, names in JSON and CSV, what rows are sorted by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...protocol.grammars.errors import error_name
from .tally import NEVER, PARTS, Tally


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


def _quantile(part: float) -> Callable[[Tally], float | None]:
    def quantile(tally: Tally) -> float | None:
        found = tally.late.quantile(part)
        return None if found is None else found / 1e6

    return quantile


def named(codes: Mapping[int, int]) -> dict[str, int]:
    """Return counts of error codes by name, the most frequent first."""
    return {error_name(code): count for code, count in sorted(codes.items(), key=lambda item: (-item[1], item[0]))}


def _part(name: str, part: float) -> Callable[[Tally], float | None]:
    def quantile(tally: Tally) -> float | None:
        found = tally.spent[name].quantile(part) if name in tally.spent else None
        return None if found is None else found / 1e6

    return quantile


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
"""What the parts of an exchange's time are called: those of the latency, and `reading`, which comes behind it."""
SPENT: dict[str, Measure] = {
    one.name: one
    for part in PARTS
    for one in (
        Measure(f"{part}_p50_ms", "p50", Unit.MILLISECONDS, _part(part, 0.50), f"{ON[part]}: median"),
        Measure(f"{part}_p95_ms", "p95", Unit.MILLISECONDS, _part(part, 0.95), f"{ON[part]}: 95th percentile"),
        Measure(f"{part}_sum_ms", "sum", Unit.MILLISECONDS, _sum(part), f"{ON[part]}: sum"),
    )
}
"""Where the time went, for those who ask: median, 95th percentile and sum of each part."""
