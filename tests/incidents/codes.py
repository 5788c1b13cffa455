"""The codes of causes, by which incidents are compared: those that were agreed on, and ours, each with its reason."""

from __future__ import annotations

from typing import Final

HEALTHY: Final = "none"
AGREED: Final = (
    "acks0-silent-loss", "advertised-listener-localhost", "advertised-listener-unreachable",
    "advertised-listener-unresolvable", "api-version-unsupported", "broker-frozen", "busy-fetch-loop",
    "client-timeout-below-max-wait", "client-without-sasl", "commit-after-leaving-group", "connection-churn",
    "connection-limit", "consumer-paused", "consumer-too-slow", "coordinator-moved",
    "correlation-mismatch-middlebox", "corrupt-batch", "fetch-sessions-unavailable", "fetch-size-too-small",
    "group-authorization-failed", "group-id-shared", "hanging-transaction", "head-of-line-blocking",
    "hot-partition", "http-to-kafka-port", "idle-consumers", "inconsistent-group-protocol", "invalid-timestamp",
    "invalid-transaction-timeout", "max-poll-interval-exceeded", "message-too-large", "mistyped-topic-auto-created",
    "mtu-blackhole", "network-interruption", "network-latency", "not-enough-replicas", "offset-commit-failing",
    "offset-out-of-range-data-loss", "packet-loss", "partition-offline", "plaintext-client-to-tls-listener",
    "poison-record", "producer-sequence-gap", "quota-throttled", "request-exceeds-socket-limit",
    "sasl-mechanism-not-enabled", "sasl-session-expired", "sasl-wrong-credentials", "session-timeout-too-short",
    "slow-client", "slow-follower", "stale-leader", "static-member-fenced", "tls-client-to-plaintext-listener",
    "tls-untrusted-certificate", "topic-authorization-failed", "transaction-timed-out", "transactional-id-shared",
    "two-clusters-mixed", "unbatched-producer", "unknown-topic",
)  # fmt: skip
OURS: Final[dict[str, str]] = {
    "transactional-id-authorization-failed": "its own resource and its own ACL: neither a topic nor a group is refused",
}
"""What is not among the agreed, and why it is none of them."""
ARGUED: Final[dict[str, str]] = {}
"""Codes without an incident, and why there is none."""
CAUSES: Final = frozenset((*AGREED, *OURS, HEALTHY))
