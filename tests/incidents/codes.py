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
}
"""What is not among the agreed, and why it is none of them."""
NO_RULE_YET: Final[dict[str, str]] = {
    "bootstrap-refused": "the bootstrap server's port is closed",
    "bootstrap-unanswered": "the bootstrap server answers no SYN",
    "listener-silent": "the port accepts connections, and no request has a response",
    "foreign-service": "the port belongs to a server of another protocol than HTTP",
    "zookeeper-as-bootstrap": "the port is ZooKeeper's",
    "controller-as-bootstrap": "the port is a KRaft controller's",
    "proxy-without-backend": "a load balancer closes each connection at once",
    "proxy-protocol-header": "a load balancer sends a PROXY header that the broker reads as a request",
    "idle-connection-reset": "a proxy resets connections that are idle",
    "policy-violation": "the broker's policy forbids the topic",
    "invalid-config": "a setting has a value that it cannot have",
    "invalid-topic-name": "a topic's name has letters that it cannot have",
    "invalid-request": "a request contradicts itself",
    "invalid-partition-count": "a topic is to have fewer partitions than before",
    "topic-deletion-disabled": "the broker deletes no topics",
    "authorizer-missing": "ACLs are managed where no authorizer is configured",
    "scram-credential-unacceptable": "the broker refuses a user's SCRAM credential",
    "log-directory-unknown": "a replica is to move to a directory that the broker does not have",
    "record-deletion-refused": "records of a topic that is only compacted cannot be deleted",
    "group-not-empty": "a group with members cannot be deleted",
    "offset-reset-on-active-group": "offsets of a group with members cannot be altered by others",
    "offset-deletion-refused": "offsets of a topic that the group is subscribed to cannot be deleted",
    "preferred-leader-unavailable": "the preferred leader cannot be elected",
    "reassignment-stuck": "a reassignment to a broker that is down does not end",
    "transaction-log-unavailable": "the topic of transactions cannot be created: too few brokers",
    "unsupported-compression": "zstd in a version that does not know it",
    "down-conversion-disabled": "a consumer wants records in an old format, and the broker converts none",
    "message-format-too-old": "a topic's format has no place for what the producer sends",
    "response-exceeds-client-limit": "a response is longer than the client is ready to receive",
    "topic-deleted-in-use": "a topic is deleted under its clients",
    "stale-topic-id": "a client uses the id of a topic that is there no longer",
    "clock-skew": "records have the time of a clock that is wrong",
    "feedback-loop": "a program writes to the topic that it reads",
    "tls-client-certificate-missing": "the broker requires a certificate, and the client has none",
    "tls-client-certificate-expired": "the client's certificate has expired",
    "tls-client-certificate-untrusted": "the broker does not trust the authority of the client's certificate",
    "tls-broker-certificate-expired": "the broker's certificate has expired",
    "tls-host-name-mismatch": "the broker's certificate is for another host",
    "tls-no-common-version": "client and broker have no version of TLS in common",
    "tls-no-common-cipher": "client and broker have no cipher suite in common",
    "tls-server-name-refused": "a proxy does not know the host name that the client sends",
    "sasl-client-to-plaintext-listener": "a client logs in at a listener without SASL",
    "oauth-token-expired": "a client logs in with a token that has expired",
    "delegation-token-expired": "a delegation token is renewed after it expired",
    "delegation-token-not-allowed": "a delegation token is requested over a connection without login",
    "idempotent-write-denied": "a user gets no producer id",
}
"""Causes that are staged before kdbg has a rule for them, and what happens. A rule's code goes to OURS."""
MISREAD: Final[dict[str, str]] = {}
"""Healthy runs for which kdbg reports a cause all the same, and which."""
ARGUED: Final[dict[str, str]] = {}
"""Codes without an incident, and why there is none."""
CAUSES: Final = frozenset((*AGREED, *OURS, *NO_RULE_YET, HEALTHY))
