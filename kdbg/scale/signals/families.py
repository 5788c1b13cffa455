"""The metrics that there are, declared once: what counts them, what prints them and the manual take them from here."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

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
