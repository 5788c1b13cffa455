"""Everything that is looked for: a code, how serious it is, what it is, where to read on."""

from __future__ import annotations

from typing import NamedTuple

from ...findings.kinds import Kind, Severity

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


ALL: tuple[Lint, ...] = (
    Lint("acks-none", NOTE, "producer uses acks=0: lost records go unnoticed", "Producer configs: acks"),
    Lint("acks0-answered", WARNING, "broker responds to Produce with acks=0, which expects no response", PROTOCOL),
    Lint("bad-length", ERROR, "impossible length or count", PROTOCOL, Kind.BAD_LENGTH),
    Lint("bad-value", ERROR, "value not valid for its type", PROTOCOL, Kind.BAD_VALUE),
    Lint("client-id-changes", NOTE, "client.id changes within a connection", "KIP-511"),
    Lint("compression", ERROR, "compressed batch cannot be decompressed", "KIP-110", Kind.COMPRESSION),
    Lint("crc", ERROR, "checksum of a record batch or message does not match", "KIP-98", Kind.CRC),
    Lint("creates-topics", NOTE, "metadata requests allow topic auto-creation: a mistyped name creates a topic",
         "KIP-361, KIP-487"),
    Lint("deprecated-version", WARNING, "uses API versions that Kafka 4 removed", "KIP-896"),
    Lint("dialect", NOTE, "message uses a known variant of the version's layout", PROTOCOL, Kind.DIALECT),
    Lint("fetch-session-epoch", ERROR, "fetch session epoch does not increase", "KIP-227"),
    Lint("heartbeat-too-seldom", WARNING, "heartbeat interval is longer than a third of the session timeout",
         "Consumer configs: heartbeat.interval.ms"),
    Lint("leader-epoch-back", WARNING, "leader epoch of a partition decreases", "KIP-320"),
    Lint("leftover", ERROR, "message has bytes after its last field", PROTOCOL, Kind.LEFTOVER),
    Lint("mistake", ERROR, "a mistake of the program that wrote the message", PROTOCOL, Kind.MISTAKE),
    Lint("no-client-id", NOTE, "client.id is not set: quotas, logs and metrics cannot identify the client", "KIP-13"),
    Lint("no-idempotence", NOTE, "producer is not idempotent: a retry may duplicate or reorder records",
         "KIP-98, KIP-679"),
    Lint("no-version-request", NOTE, "client does not negotiate versions (no ApiVersions request)", "KIP-35"),
    Lint("non-minimal-varint", WARNING, "varint uses more bytes than necessary", PROTOCOL, Kind.NON_MINIMAL_VARINT),
    Lint("not-utf8", ERROR, "string is not valid UTF-8", PROTOCOL, Kind.NOT_UTF8),
    Lint("null", ERROR, "non-nullable field is null; it must be empty instead", PROTOCOL, Kind.NULL),
    Lint("old-record-format", WARNING, "producer uses a record format older than 0.11 (magic 0 or 1)", "KIP-724"),
    Lint("plain-without-tls", WARNING, "password sent in plaintext (SASL/PLAIN without TLS)",
         "Security: authentication using SASL/PLAIN"),
    Lint("producer-epoch-back", WARNING, "producer epoch decreases for a producer id", "KIP-98"),
    Lint("quirk", NOTE, "known client or broker deviation that peers tolerate", PROTOCOL, Kind.QUIRK),
    Lint("record-set", ERROR, "record set contains bytes that are not a batch or message", "KIP-98", Kind.RECORD_SET),
    Lint("response-order", ERROR, "responses are not in request order", PROTOCOL, Kind.ORDER),
    Lint("search-limit", NOTE, "kdbg does not search a message for a mistake", PROTOCOL, Kind.SEARCH_LIMIT),
    Lint("sequence-gap", ERROR, "gap in producer sequence numbers", "KIP-98"),
    Lint("tag-order", ERROR, "tagged fields out of order or duplicated", "KIP-482", Kind.TAG_ORDER),
    Lint("unknown-tag", NOTE, "tagged field not defined in any known version", "KIP-482", Kind.UNKNOWN_TAG),
    Lint("unused-bits", WARNING, "reserved bits are set", PROTOCOL, Kind.UNUSED_BITS),
    Lint("version-not-offered", ERROR, "client sends API versions that the broker does not support", "KIP-35"),
)  # fmt: skip
LINTS: dict[str, Lint] = {lint.code: lint for lint in ALL}
"""By code."""
BY_FINDING: dict[Kind, Lint] = {lint.finding: lint for lint in ALL if lint.finding is not None}
