"""Everything that is looked for: a code, how serious it is, what it is, where to read on."""

from __future__ import annotations

from typing import NamedTuple

from ....protocol.findings.kinds import Kind, Severity

ERROR, WARNING, NOTE = Severity
PROTOCOL = "Kafka protocol guide"


class Lint(NamedTuple):
    """One thing that is looked for.

    `finding` is the kind of finding that tells it, where the decoding finds it anyway.
    """

    code: str
    severity: Severity
    what: str
    document: str
    finding: Kind | None = None

    @property
    def old_code(self) -> str | None:
        """Return the code that the lint had up to kdbg 0.1, or None if it was the same."""
        return (
            self.finding.old_name
            if self.finding is not None and self.finding == self.code
            else OLD_CODES.get(self.code)
        )


ALL: tuple[Lint, ...] = (
    Lint("acks-none", NOTE, "producer uses acks=0: lost records go unnoticed", "Producer configs: acks"),
    Lint("acks0-response", WARNING, "broker responds to Produce with acks=0, which expects no response", PROTOCOL),
    Lint("client-id-changes", NOTE, "client.id changes within a connection", "KIP-511"),
    Lint("crc-mismatch", ERROR, "checksum of a record batch or message does not match", "KIP-98", Kind.CRC_MISMATCH),
    Lint("decompression-failed", ERROR, "compressed batch cannot be decompressed", "KIP-110",
         Kind.DECOMPRESSION_FAILED),
    Lint("deprecated-version", WARNING, "client sends API versions that Kafka 4 removed", "KIP-896"),
    Lint("encoding-mistake", ERROR, "program encoded the message incorrectly", PROTOCOL, Kind.ENCODING_MISTAKE),
    Lint("fetch-session-epoch", ERROR, "fetch session epoch does not increase", "KIP-227"),
    Lint("heartbeat-interval-too-long", WARNING, "heartbeat interval is longer than a third of the session timeout",
         "Consumer configs: heartbeat.interval.ms"),
    Lint("invalid-length", ERROR, "impossible length or count", PROTOCOL, Kind.INVALID_LENGTH),
    Lint("invalid-utf8", ERROR, "string is not valid UTF-8", PROTOCOL, Kind.INVALID_UTF8),
    Lint("invalid-value", ERROR, "value not valid for its type", PROTOCOL, Kind.INVALID_VALUE),
    Lint("known-quirk", NOTE, "known client or broker deviation that peers tolerate", PROTOCOL, Kind.KNOWN_QUIRK),
    Lint("known-variant", NOTE, "message uses a known variant of the version's layout", PROTOCOL, Kind.KNOWN_VARIANT),
    Lint("leader-epoch-decreased", WARNING, "leader epoch of a partition decreases", "KIP-320"),
    Lint("malformed-record-set", ERROR, "record set contains bytes that are not a batch or message", "KIP-98",
         Kind.MALFORMED_RECORD_SET),
    Lint("no-api-versions-request", NOTE, "client does not negotiate versions (no ApiVersions request)", "KIP-35"),
    Lint("no-client-id", NOTE, "client.id is not set: quotas, logs and metrics cannot identify the client", "KIP-13"),
    Lint("no-idempotence", NOTE, "producer is not idempotent: a retry may duplicate or reorder records",
         "KIP-98, KIP-679"),
    Lint("non-minimal-varint", WARNING, "varint uses more bytes than necessary", PROTOCOL, Kind.NON_MINIMAL_VARINT),
    Lint("old-record-format", WARNING, "producer uses a record format older than 0.11 (magic 0 or 1)", "KIP-724"),
    Lint("plain-without-tls", WARNING, "client sends a password in plaintext (SASL/PLAIN without TLS)",
         "Security: authentication using SASL/PLAIN"),
    Lint("producer-epoch-decreased", WARNING, "producer epoch decreases for a producer id", "KIP-98"),
    Lint("reserved-bits", WARNING, "reserved bits are set", PROTOCOL, Kind.RESERVED_BITS),
    Lint("response-order", ERROR, "responses are not in request order", PROTOCOL, Kind.OUT_OF_ORDER),
    Lint("search-limit", NOTE, "kdbg does not search this message for mistakes", PROTOCOL, Kind.SEARCH_LIMIT),
    Lint("sequence-gap", ERROR, "gap in producer sequence numbers", "KIP-98"),
    Lint("tag-order", ERROR, "tagged fields out of order or duplicated", "KIP-482", Kind.TAG_ORDER),
    Lint("topic-auto-creation", NOTE, "client allows topic auto-creation: a mistyped topic name creates a topic",
         "KIP-361, KIP-487"),
    Lint("trailing-bytes", ERROR, "message has bytes after its last field", PROTOCOL, Kind.TRAILING_BYTES),
    Lint("unexpected-null", ERROR, "non-nullable field is null; it must be empty instead", PROTOCOL,
         Kind.UNEXPECTED_NULL),
    Lint("unknown-tag", NOTE, "tagged field not defined in any known version", "KIP-482", Kind.UNKNOWN_TAG),
    Lint("unsupported-version", ERROR, "client sends API versions that the broker does not support", "KIP-35"),
)  # fmt: skip
OLD_CODES = {
    "acks0-response": "acks0-answered",
    "heartbeat-interval-too-long": "heartbeat-too-seldom",
    "leader-epoch-decreased": "leader-epoch-back",
    "no-api-versions-request": "no-version-request",
    "producer-epoch-decreased": "producer-epoch-back",
    "topic-auto-creation": "creates-topics",
    "unsupported-version": "version-not-offered",
}
"""By code, the code up to kdbg 0.1; a lint with the name of a kind of finding also has that kind's old name."""
LINTS: dict[str, Lint] = {lint.code: lint for lint in ALL}
"""By code."""
BY_FINDING: dict[Kind, Lint] = {lint.finding: lint for lint in ALL if lint.finding is not None}
