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
    "cluster-authorization-failed": "the cluster is its own resource: neither a topic nor a group is refused",
    "coordinator-unavailable": "no broker serves as coordinator, and none has moved",
    "invalid-record": "the broker rejects records for their fields, and no checksum is wrong",
    "kafka-client-to-http-server": "the port is a web server's, and the client is Kafka's",
    "malformed-request": "a request with a value that no implementation uses, or that the broker cannot decode",
    "foreign-service": "the port belongs to a server of another protocol than HTTP",
    "controller-as-bootstrap": "the port is a KRaft controller's",
    "proxy-without-backend": "a load balancer closes each connection at once",
    "proxy-protocol-header": "a load balancer sends a PROXY header that the broker reads as a request",
    "idle-connection-reset": "a proxy resets connections that are idle",
    "down-conversion-disabled": "a consumer wants records in an old format, and the broker converts none",
    "sasl-client-to-plaintext-listener": "a client logs in at a listener without SASL",
    "share-records-released": "a share consumer releases records again and again",
    "broker-down": "a broker is gone, and its clients try to reach it again and again",
    "low-bandwidth": "a line is full",
    "repeated-requests": "a request that is needed now and then is sent without a pause",
    "connection-failing": "an address that nobody reaches, whatever the reason",
    "tls-handshake-failing": "a TLS handshake that fails, for the reason that its alert names",
    "no-response": "a listener that never responds",
    "error-response": "an error code, of which no rule knows more than its meaning",
    "never-commits": "a group commits nothing and reads all again at each start",
    "codec-unsupported": "zstd in a version that does not know it",
    "tls-client-certificate-rejected": "the broker rejects the client's certificate, or misses it",
    "share-lock-expired": "a share consumer acknowledges records after its lock on them has expired",
    "rebalance-blocked": "a group waits for a member that does not poll",
    "assignment-skewed": "the assignor gives one member all partitions",
    "pattern-without-topic": "a subscription whose pattern fits no topic",
    "partitions-not-consumed": "a topic has partitions that its only reader never fetches",
    "offset-reset-none": "a group without offsets that may not begin anywhere",
    "committed-offsets-lost": "a group's offsets are deleted between two runs",
    "fetch-min-bytes-too-large": "records wait at the broker until a fetch has enough of them",
    "synchronous-producer": "a producer waits a round trip for each record",
    "clock-skew": "records have the time of a clock that is wrong",
    "feedback-loop": "a program writes to the topic that it reads",
    "response-exceeds-client-limit": "a response is longer than the client is ready to receive",
}
"""What is not among the agreed, and why it is none of them."""
NO_RULE_YET: Final[dict[str, str]] = {
    "zookeeper-as-bootstrap": "the port is ZooKeeper's",
    "offset-reset-on-active-group": "offsets of a group with members cannot be altered by others",
    "reassignment-stuck": "a reassignment to a broker that is down does not end",
    "topic-deleted-in-use": "a topic is deleted under its clients",
    "stale-topic-id": "a client uses the id of a topic that is there no longer",
    "group-full": "a group has as many members as it may, and leaving it gets no response",
    "member-epoch-fenced": "a member goes on with an epoch of before its removal",
    "commit-behind-position": "a program commits the record that it handled and reads it again",
    "rebalance-storm": "a member that crashes again and again makes its group rebalance",
    "transactional-id-expired": "a transactional id has expired, and its producer goes on",
    "connection-leak": "a program opens connections and closes none",
    "nagle-delayed-ack": "a request in two pieces waits for a delayed acknowledgement",
    "idle-flow-dropped": "a firewall forgets idle connections and drops their packets",
    "packet-reordering": "packets overtake one another",
    "invalid-replica-assignment": "a partition is to move to a broker that the cluster does not have",
    "group-unknown": "a group to be deleted is not there",
    "scram-user-unknown": "a user to be deleted is not there",
    "invalid-regular-expression": "the broker cannot compile the pattern of a subscription",
    "receive-window-too-small": "a small receive buffer limits what a round trip carries",
    "advertised-listener-wrong-protocol": "a TLS listener advertises the port of a plaintext listener",
    "broker-cpu-throttled": "a broker gets the CPU for a part of the time only",
    "log-directory-failed": "a log directory of a broker fails",
    "leader-epochs-forgotten": "a broker tells no end of an epoch, and consumers begin again after each move",
    "controller-quorum-lost": "too few controllers are left to change metadata",
}
"""Causes that are staged before kdbg has a rule for them, and what happens. A rule's code goes to OURS."""
MISREAD: Final[dict[str, str]] = {
    "topics-of-a-test-suite": "unknown-topic", "idempotent-producer-and-a-restart": "synchronous-producer",
}  # fmt: skip
"""Healthy runs for which kdbg reports a cause all the same, and which."""
ARGUED: Final[dict[str, str]] = {}
"""Codes without an incident, and why there is none."""
CAUSES: Final = frozenset((*AGREED, *OURS, *NO_RULE_YET, HEALTHY))
