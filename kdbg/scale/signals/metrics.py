"""The metrics that there are, declared once: what counts them, what prints them and the manual take them from here."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from ... import __version__
from ...exchanges.messages.capture_points import SPLIT_NAMES
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.message import UNTIMED
from ...exchanges.messages.rejection import is_normal_step
from ...protocol.findings import Finding
from ...protocol.wire.readings.outline import NamesThen
from .attributes import clean

PREFIX: Final = "kdbg_"
BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds that histograms count up to."""


class Type(Enum):
    """What a metric is, by Prometheus' own word."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Family(NamedTuple):
    """One metric: its name without `kdbg_`, and for a counter without the `_total` behind it; its labels."""

    name: str
    type: Type
    help: str
    labels: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The name as Prometheus has it."""
        return f"{PREFIX}{self.name}{'_total' * (self.type is Type.COUNTER)}"


COUNTER, GAUGE, HISTOGRAM = Type.COUNTER, Type.GAUGE, Type.HISTOGRAM
FAMILIES: Final = {
    one.name: one
    for one in (
        Family("exchanges", COUNTER, "Exchanges, including requests without a response.",
               ("api", "version", "client_id")),
        Family("exchange_errors", COUNTER, "Exchanges with an error code, once for each code.",
               ("api", "client_id", "error")),
        Family("exchange_steps", COUNTER, "Exchanges with an expected error code (part of normal protocol flow).",
               ("api", "client_id", "error")),
        Family("request_bytes", COUNTER, "Bytes of requests.", ("api", "client_id")),
        Family("response_bytes", COUNTER, "Bytes of responses.", ("api", "client_id")),
        Family("records", COUNTER, "Records produced and fetched.", ("api", "topic")),
        Family("latency_seconds", HISTOGRAM, "Time from the last byte of a request to the first byte of its response.",
               ("api",)),
        Family("latency_part_seconds", HISTOGRAM, "Latency breakdown; see kdbg guide latency.", ("api", "part")),
        Family("findings", COUNTER, "Findings by kind; see kdbg guide findings.", ("finding", "severity")),
        Family("connections", COUNTER, "Connections that carry Kafka."),
        Family("other_connections", COUNTER, "Connections that do not carry Kafka."),
        Family("open_connections", GAUGE, "Connections that carry Kafka and are open."),
        Family("packets", COUNTER, "Packets read."),
        Family("packets_lost", COUNTER, "Packets dropped by the system, or lost as kdbg read too slowly.",
               ("why",)),
        Family("causes", GAUGE, "Causes that kdbg diagnose finds: how often each occurred.",
               ("cause", "severity")),
        Family("last_exchange_timestamp_seconds", GAUGE, "Start of the latest exchange, in seconds since 1970."),
        Family("folded", COUNTER, "How often a label was replaced by (others), as it had too many values.", ("label",)),
        Family("build_info", GAUGE, "The version of kdbg.", ("version",)),
    )
}  # fmt: skip


Labels: TypeAlias = tuple[str, ...]
MOST: Final[Mapping[str, int]] = {"client_id": 100, "topic": 200, "api": 128, "version": 64, "error": 256}
"""Values that a label may have; what comes later is counted under `OTHERS`."""
SETS: Final = 10_000
"""Sets of labels that a metric may have."""
OTHERS: Final = "(others)"
ALL: Final = "(all)"
UNKNOWN: Final = "(unknown)"
NONE: Final = "(none)"
OPEN: Final = 1 << 16
"""Connections of which it is known whether they are open."""
SECOND: Final = 1_000_000_000
PARTS: Final = tuple(name.removesuffix("_ms") for name in SPLIT_NAMES)


class Totals(NamedTuple):
    """What is not counted by exchanges."""

    packets: int = 0
    dropped: int = 0
    unread: int = 0
    connections: int = 0
    others: int = 0


class Spread(NamedTuple):
    """A histogram: how many values were in each of `BUCKETS`, the last for what is above all; and their sum."""

    counts: list[int]
    total: list[float]

    @classmethod
    def empty(cls) -> Spread:
        """Return one without values."""
        return cls([0] * (len(BUCKETS) + 1), [0.0])

    def add(self, nanoseconds: int) -> None:
        """Count a value."""
        seconds = max(nanoseconds, 0) / SECOND
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total[0] += seconds


class Metrics:
    """Counts exchanges; `numbers` and `spreads` are what came of it, by the names of families and by labels.

    What is read by another thread is read under `lock`.
    """

    def __init__(self) -> None:
        self.lock: Lock = Lock()
        self._numbers: dict[str, Counter[Labels]] = {}
        self._spreads: dict[str, dict[Labels, Spread]] = {}
        self._known: dict[str, dict[str, str]] = {label: {} for label in MOST}
        self._folded: Counter[Labels] = Counter()
        self._names: NamesThen = NamesThen({})
        self._before: Totals = Totals()
        self._now: Totals = Totals()
        self._open: dict[int, None] = {}
        self._is_open: Callable[[int], bool] = lambda first_packet: False
        self._causes: Counter[Labels] = Counter()
        self._last: int = 0

    def begin(self, names: NamesThen, is_open: Callable[[int], bool]) -> None:
        """Begin a capture: `names` are those of topic ids, `is_open` tells it of a connection by its first packet."""
        with self.lock:
            self._names, self._is_open = names, is_open
            self._before = Totals(*map(sum, zip(self._before, self._now, strict=True)))
            self._now = Totals()
            self._open.clear()

    def take(self, exchanges: Iterable[Exchange]) -> None:
        """Count exchanges."""
        with self.lock:
            for exchange in exchanges:
                self._names.at(exchange.names)
                self._count(exchange)

    def total(self, now: Totals) -> None:
        """Take notice of what else was counted in the capture by now."""
        with self.lock:
            self._now = now

    def odd(self, findings: Iterable[Finding]) -> None:
        """Count findings that belong to no exchange."""
        with self.lock:
            self._odd(findings)

    def causes(self, found: Iterable[tuple[str, str, int]]) -> None:
        """Take notice of the causes that are there by now: code, severity, how often."""
        with self.lock:
            self._causes = Counter()
            for code, severity, count in found:
                self._causes[code, severity] += count

    def numbers(self) -> dict[str, Mapping[Labels, float]]:
        """Return all but histograms, by the names of families."""
        totals = Totals(*map(sum, zip(self._before, self._now, strict=True)))
        self._open = {first: None for first in self._open if self._is_open(first)}
        return {
            **self._numbers,
            "connections": {(): totals.connections}, "other_connections": {(): totals.others},
            "open_connections": {(): len(self._open)}, "packets": {(): totals.packets},
            "packets_lost": {("dropped",): totals.dropped, ("unread",): totals.unread},
            "causes": self._causes, "folded": self._folded,
            "last_exchange_timestamp_seconds": {(): self._last / SECOND} if self._last else {},
            "build_info": {(__version__,): 1},
        }  # fmt: skip

    def spreads(self) -> Mapping[str, Mapping[Labels, Spread]]:
        """Return the histograms, by the names of families."""
        return self._spreads

    def _count(self, exchange: Exchange) -> None:
        client = self._label("client_id", NONE if exchange.client_id is None else exchange.client_id)
        known = exchange.api
        api = self._label("api", UNKNOWN if known is None else known.name)
        spoken = known is not None and known.key >= 0
        self._add("exchanges", (api, self._label("version", str(exchange.version) if spoken else NONE), client))
        for half, name in ((exchange.request, "request_bytes"), (exchange.response, "response_bytes")):
            if half is not None:
                self._add(name, (api, client), half.size)
        self._records(exchange, api)
        for code, error in dict.fromkeys((error.code, error.name) for error in exchange.errors):
            name = "exchange_steps" if is_normal_step(known, code) else "exchange_errors"
            self._add(name, (api, client, self._label("error", error)))
        self._times(exchange, api)
        if not exchange.is_sound(shallow=True):
            self._odd(exchange.all_findings(shallow=True))
        if exchange.peers.first_packet and len(self._open) < OPEN:
            self._open.setdefault(exchange.peers.first_packet)

    def _records(self, exchange: Exchange, api: str) -> None:
        for half in (exchange.request, exchange.response):
            outline = half.open_outline() if half is not None else None
            for topic, _, _, records in outline[0] if outline is not None else ():
                if records:
                    self._add("records", (api, self._label("topic", self._topic(topic))), records)

    def _times(self, exchange: Exchange, api: str) -> None:
        if exchange.latency is not None:
            self._spread("latency_seconds", (api,), exchange.latency)
        if exchange.timing is not None:
            for part, took in zip(PARTS, exchange.timing.split[: len(PARTS)], strict=True):
                if took is not None:
                    self._spread("latency_part_seconds", (api, part), took)
        if exchange.time != UNTIMED:
            self._last = max(self._last, exchange.time)

    def _odd(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self._add("findings", (finding.kind.value, finding.severity.value))

    def _topic(self, topic: Any) -> str:
        return self._names.get(topic, str(topic)) if isinstance(topic, UUID) else NONE if topic is None else str(topic)

    def _label(self, label: str, value: str) -> str:
        """Return the value that a label gets."""
        known = self._known[label]
        found = known.get(value)
        if found is None:
            if len(known) >= MOST[label]:
                self._folded[label,] += 1
                return OTHERS
            found = known[value] = clean(value)
        return found

    def _add(self, name: str, labels: Labels, count: int = 1) -> None:
        found = self._numbers.setdefault(name, Counter())
        found[self._among(found, labels)] += count

    def _spread(self, name: str, labels: Labels, nanoseconds: int) -> None:
        found = self._spreads.setdefault(name, {})
        labels = self._among(found, labels)
        if labels not in found:
            found[labels] = Spread.empty()
        found[labels].add(nanoseconds)

    def _among(self, known: Mapping[Labels, object], labels: Labels) -> Labels:
        """Return labels, or, where that many sets of them are known already, others in their place."""
        if labels in known or len(known) < SETS:
            return labels
        self._folded[ALL,] += 1
        return (OTHERS,) * len(labels)
