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
        Family("exchanges", COUNTER, "Exchanges, requests without an answer among them.",
               ("api", "version", "client_id")),
        Family("exchange_errors", COUNTER, "Exchanges with an error code, once for each code in them.",
               ("api", "client_id", "error")),
        Family("exchange_steps", COUNTER, "Exchanges with an error code that is a normal step of its protocol.",
               ("api", "client_id", "error")),
        Family("request_bytes", COUNTER, "Bytes of requests.", ("api", "client_id")),
        Family("response_bytes", COUNTER, "Bytes of responses.", ("api", "client_id")),
        Family("records", COUNTER, "Records that were produced and fetched.", ("api", "topic")),
        Family("latency_seconds", HISTOGRAM, "From a request's last byte to its response's first.", ("api",)),
        Family("latency_part_seconds", HISTOGRAM, "Latency breakdown; see kdbg guide latency.", ("api", "part")),
        Family("findings", COUNTER, "Findings by kind; see kdbg guide findings.", ("finding", "severity")),
        Family("connections", COUNTER, "Connections that spoke Kafka."),
        Family("other_connections", COUNTER, "Connections that did not carry Kafka."),
        Family("open_connections", GAUGE, "Connections with exchanges, of which no end has hung up."),
        Family("packets", COUNTER, "Packets that were read."),
        Family("packets_lost", COUNTER, "Packets that the system dropped, or that came faster than they were read.",
               ("why",)),
        Family("causes", GAUGE, "Causes that kdbg diagnose finds, and how often each was seen.",
               ("cause", "severity")),
        Family("last_exchange_timestamp_seconds", GAUGE, "When the latest exchange began, since 1970."),
        Family("folded", COUNTER, "Times that a label was (others), as too many values were there.", ("label",)),
        Family("build_info", GAUGE, "The version of kdbg.", ("version",)),
    )
}  # fmt: skip
