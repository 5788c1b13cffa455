"""The metrics that there are, declared once, what counts them, and Prometheus' text of them, over HTTP too."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import accumulate
from threading import RLock
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

from ... import __version__
from ...errors import InputError
from ...exchanges.messages.capture_points import SPLIT_NAMES
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.message import UNTIMED
from ...exchanges.messages.peers import endpoint
from ...exchanges.messages.rejection import is_normal_step
from ...extras import install
from ...protocol.findings import Finding
from ...protocol.wire.readings.outline import NamesThen
from .attributes import OPERATIONS, clean, partitions_of

PREFIX: Final = "kdbg_"
BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds that histograms count up to."""


class Type(Enum):
    """What a metric is, by Prometheus' own word."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Family(NamedTuple):
    """One metric: its name without `kdbg_`, and for a counter without the `_total` after it; its labels."""

    name: str
    type: Type
    help: str
    labels: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """The name without a suffix; OpenTelemetry's metrics have no prefix."""
        return self.name if self.name.startswith("messaging_") else PREFIX + self.name

    @property
    def full_name(self) -> str:
        """The name as Prometheus has it."""
        return f"{self.stem}{'_total' * (self.type is Type.COUNTER)}"


COUNTER, GAUGE, HISTOGRAM = Type.COUNTER, Type.GAUGE, Type.HISTOGRAM
FAMILIES: Final = {
    one.name: one
    for one in (
        Family("exchanges", COUNTER, "Exchanges, including requests without a response.",
               ("broker", "api", "version", "client_id")),
        Family("exchange_errors", COUNTER, "Exchanges with an error code, once for each code.",
               ("broker", "api", "client_id", "error")),
        Family("exchange_steps", COUNTER, "Exchanges with an expected error code (part of normal protocol flow).",
               ("broker", "api", "client_id", "error")),
        Family("request_bytes", COUNTER, "Bytes of requests.", ("broker", "api", "client_id")),
        Family("response_bytes", COUNTER, "Bytes of responses.", ("broker", "api", "client_id")),
        Family("records", COUNTER, "Records produced and fetched.", ("broker", "api", "topic")),
        Family("consumer_lag", GAUGE, "Log end offset minus committed offset, as far as both were seen.",
               ("group", "topic", "partition")),
        Family("latency_seconds", HISTOGRAM, "Time from the last byte of a request to the first byte of its response.",
               ("broker", "api")),
        Family("latency_part_seconds", HISTOGRAM, "Latency breakdown; see kdbg guide latency.",
               ("broker", "api", "part")),
        Family("messaging_client_operation_duration_seconds", HISTOGRAM,
               "OpenTelemetry's metric: duration of Produce, Fetch, commits and acknowledgements.",
               ("messaging_operation_name", "messaging_operation_type", "messaging_system", "server_address",
                "server_port", "error_type")),
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
MOST: Final[Mapping[str, int]] = {
    "broker": 100,
    "client_id": 100,
    "topic": 200,
    "api": 128,
    "version": 64,
    "error": 256,
}
"""Values that a label may have; what comes later is counted under `OTHERS`."""
SETS: Final = 10_000
"""Sets of labels that a metric may have."""
LAG_APIS: Final = frozenset({"Produce", "Fetch", "OffsetCommit", "TxnOffsetCommit", "OffsetFetch"})
"""The APIs that show log end offsets or committed offsets."""
OPERATION: Final = "messaging_client_operation_duration"
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
        self.lock = RLock()
        self._numbers: dict[str, Counter[Labels]] = {}
        self.spreads: dict[str, dict[Labels, Spread]] = {}
        self._known: dict[str, dict[str, str]] = {label: {} for label in MOST}
        self._folded: Counter[Labels] = Counter()
        self._names: NamesThen = NamesThen({})
        self._before: Totals = Totals()
        self._now: Totals = Totals()
        self._open: dict[int, None] = {}
        self._is_open: Callable[[int], bool] = lambda first_packet: False
        self._causes: Counter[Labels] = Counter()
        self._last: int = 0
        self._ends: dict[Labels, int] = {}
        """Log end offsets by topic and partition."""
        self._committed: dict[Labels, int] = {}
        """Committed offsets by group, topic and partition."""

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
        """Count findings."""
        with self.lock:
            for finding in findings:
                self._add("findings", (finding.kind.value, finding.severity.value))

    def causes(self, found: Iterable[tuple[str, str, int]]) -> None:
        """Take notice of the causes that are there by now: code, severity, how often."""
        with self.lock:
            self._causes = Counter()
            for code, severity, count in found:
                self._causes[code, severity] += count

    def numbers(self) -> dict[str, Mapping[Labels, float]]:
        """Return all but histograms, by the names of families; they are read under `lock`."""
        totals = Totals(*map(sum, zip(self._before, self._now, strict=True)))
        self._open = {first: None for first in self._open if self._is_open(first)}
        lags = {
            labels: max(self._ends[labels[1:]] - offset, 0)
            for labels, offset in self._committed.items()
            if labels[1:] in self._ends
        }
        return {
            **self._numbers,
            "connections": {(): totals.connections}, "other_connections": {(): totals.others},
            "open_connections": {(): len(self._open)}, "packets": {(): totals.packets},
            "packets_lost": {("dropped",): totals.dropped, ("unread",): totals.unread},
            "causes": self._causes, "consumer_lag": lags, "folded": self._folded,
            "last_exchange_timestamp_seconds": {(): self._last / SECOND} if self._last else {},
            "build_info": {(__version__,): 1},
        }  # fmt: skip

    def collect(self) -> Iterator[Any]:
        """Yield the metrics as Prometheus' library has them, which calls this; those without a sample are not there."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        found: list[Any] = []
        bounds = [*map(str, BUCKETS), "+Inf"]
        with self.lock:
            numbers = self.numbers()
            for family in FAMILIES.values():
                about = family.stem, family.help
                if family.type is HISTOGRAM:
                    histogram = HistogramMetricFamily(*about, labels=family.labels)
                    for labels, spread in sorted(self.spreads.get(family.name, {}).items()):
                        counts = list(zip(bounds, accumulate(spread.counts), strict=True))
                        histogram.add_metric(labels, counts, spread.total[0])
                    found.append(histogram)
                else:
                    made = CounterMetricFamily if family.type is COUNTER else GaugeMetricFamily
                    plain = made(*about, labels=family.labels)
                    for labels, number in sorted(numbers.get(family.name, {}).items()):
                        plain.add_metric(labels, number)
                    found.append(plain)
        yield from (family for family in found if family.samples)

    def _count(self, exchange: Exchange) -> None:
        client = self._label("client_id", NONE if exchange.client_id is None else exchange.client_id)
        known = exchange.api
        broker = self._label("broker", endpoint(exchange.peers.broker))
        api = self._label("api", UNKNOWN if known is None else known.name)
        spoken = known is not None and known.key >= 0
        self._add("exchanges", (broker, api, self._label("version", str(exchange.version) if spoken else NONE), client))
        for half, name in ((exchange.request, "request_bytes"), (exchange.response, "response_bytes")):
            if half is not None:
                self._add(name, (broker, api, client), half.size)
        halves = (half.open_outline() for half in (exchange.request, exchange.response) if half is not None)
        rows = [row for outline in halves if outline is not None for row in outline[0]]
        for topic, _, _, records in rows:
            if records:
                name = NONE if topic is None else str(topic)
                name = self._names.get(topic, name) if isinstance(topic, UUID) else name
                self._add("records", (broker, api, self._label("topic", name)), records)
        for code, error in dict.fromkeys((error.code, error.name) for error in exchange.errors):
            name = "exchange_steps" if is_normal_step(known, code) else "exchange_errors"
            self._add(name, (broker, api, client, self._label("error", error)))
        if exchange.latency is not None:
            self._spread("latency_seconds", (broker, api), exchange.latency)
        if exchange.timing is not None:
            for part, took in zip(PARTS, exchange.timing.split[: len(PARTS)], strict=True):
                if took is not None:
                    self._spread("latency_part_seconds", (broker, api, part), took)
        if known is not None and known.key in OPERATIONS:
            self._operation(exchange, OPERATIONS[known.key])
        if rows and known is not None and known.name in LAG_APIS:
            self._offsets(exchange)
        if exchange.time != UNTIMED:
            self._last = max(self._last, exchange.time)
        if not exchange.is_sound(shallow=True):
            self.odd(exchange.all_findings(shallow=True))
        if exchange.peers.first_packet and len(self._open) < OPEN:
            self._open.setdefault(exchange.peers.first_packet)

    def _operation(self, exchange: Exchange, operation: tuple[str, str]) -> None:
        """Count how long an operation on messages took, from the first byte to the last, as its span has it."""
        first, last = exchange.time, exchange.response.last_time if exchange.response is not None else UNTIMED
        if UNTIMED not in (first, last):
            errors = [error.name for error in exchange.errors if not is_normal_step(exchange.api, error.code)]
            error = self._label("error", errors[0]) if errors else ""
            address, port = exchange.peers.broker[:2]
            self._spread(f"{OPERATION}_seconds", (*operation, "kafka", address, str(port), error), last - first)

    def _offsets(self, exchange: Exchange) -> None:
        """Take the log end offsets and the committed offsets of an exchange."""
        for topic, partition, group, offset, high_watermark in partitions_of(exchange):
            place = clean(str(self._names.get(topic, topic) if isinstance(topic, UUID) else topic)), str(partition)
            known, key = (self._ends, place) if group is None else (self._committed, (clean(group), *place))
            end = high_watermark if high_watermark is not None or offset is None else offset + 1
            value = end if group is None else offset
            if value is not None and value >= 0 and (key in known or len(known) < SETS):
                known[key] = value

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
        found = self.spreads.setdefault(name, {})
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


LOCAL: Final = "127.0.0.1"


def text(metrics: Metrics) -> bytes:
    """Return metrics as text; raise `InputError` where the library is missing."""
    check()
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(metrics)
    return generate_latest(registry)


def serve(metrics: Metrics, host: str, port: int) -> Any:
    """Serve metrics over HTTP from a thread; return the server, which has `server_port` and `shutdown`.

    Raise `InputError` where the library is missing, or nothing can listen there.
    """
    check()
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(metrics)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{host}:{port}: cannot serve metrics ({why}); choose another port") from None
    return server


def place(text: str) -> tuple[str, int]:
    """Return host and port of `host:port`, `[::1]:port` or `port`, which is this machine's alone; port 0 is any.

    Raise `InputError` where it is none of these.
    """
    try:
        parts = urlsplit(f"//{text}" if ":" in text else f"//{LOCAL}:{text}")
        port = parts.port
    except ValueError:
        port = None
    if port is None or not parts.hostname or parts.path or parts.query or parts.fragment or parts.username:
        raise InputError(f"{text!r}: not an address for metrics; write {LOCAL}:9464, or only the port")
    return parts.hostname, port


def check() -> None:
    """Raise `InputError` where the library is missing."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise InputError(f"metrics need Prometheus' client library; {install('prometheus')}") from None
