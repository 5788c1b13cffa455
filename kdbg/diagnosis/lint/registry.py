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
    Lint("acks-none", NOTE, "it writes with acks=0: what is lost, nobody hears of", "Producer configs: acks"),
    Lint("acks0-answered", WARNING, "a Produce request with acks=0 is answered, which wants no response", PROTOCOL),
    Lint("bad-length", ERROR, "a length or count that no message can have", PROTOCOL, Kind.BAD_LENGTH),
    Lint("bad-value", ERROR, "a value that its type does not have", PROTOCOL, Kind.BAD_VALUE),
    Lint("client-id-changes", NOTE, "its client id changes on one connection", "KIP-511"),
    Lint("compression", ERROR, "a batch that does not decompress", "KIP-110", Kind.COMPRESSION),
    Lint("crc", ERROR, "a checksum that does not match its batch or message", "KIP-98", Kind.CRC),
    Lint("creates-topics", NOTE, "it lets brokers create topics that it asks for: a mistyped name makes one",
         "KIP-361, KIP-487"),
    Lint("deprecated-version", WARNING, "it speaks versions that Kafka 4 does not have any more", "KIP-896"),
    Lint("dialect", NOTE, "another form of a version than the protocol has", PROTOCOL, Kind.DIALECT),
    Lint("fetch-session-epoch", ERROR, "epochs of a fetch session do not go up", "KIP-227"),
    Lint("heartbeat-too-seldom", WARNING, "it sends heartbeats less often than three times in a session timeout",
         "Consumer configs: heartbeat.interval.ms"),
    Lint("leader-epoch-back", WARNING, "the leader epoch of a partition goes backwards", "KIP-320"),
    Lint("leftover", ERROR, "a message goes on behind its last field", PROTOCOL, Kind.LEFTOVER),
    Lint("mistake", ERROR, "a mistake of the program that wrote the message", PROTOCOL, Kind.MISTAKE),
    Lint("no-client-id", NOTE, "it has no client id: quotas, logs and metrics cannot tell it apart", "KIP-13"),
    Lint("no-idempotence", NOTE, "it writes without idempotence: a retry may write twice, or out of order",
         "KIP-98, KIP-679"),
    Lint("no-version-request", NOTE, "it does not ask brokers which versions they speak (ApiVersions)", "KIP-35"),
    Lint("non-minimal-varint", WARNING, "varints in more bytes than they need", PROTOCOL, Kind.NON_MINIMAL_VARINT),
    Lint("not-utf8", ERROR, "a string that is not valid UTF-8", PROTOCOL, Kind.NOT_UTF8),
    Lint("null", ERROR, "null where the protocol has none; empty is something else", PROTOCOL, Kind.NULL),
    Lint("old-record-format", WARNING, "it writes records in the format of before 0.11", "KIP-724"),
    Lint("plain-without-tls", WARNING, "a password crosses the network in the clear (SASL PLAIN without TLS)",
         "Security: authentication using SASL/PLAIN"),
    Lint("producer-epoch-back", WARNING, "it writes with an older epoch of its producer id after a newer", "KIP-98"),
    Lint("quirk", NOTE, "a known habit of some software, which others understand", PROTOCOL, Kind.QUIRK),
    Lint("record-set", ERROR, "bytes in a record set that are no batch and no message", "KIP-98", Kind.RECORD_SET),
    Lint("response-order", ERROR, "responses come in another order than their requests", PROTOCOL, Kind.ORDER),
    Lint("search-limit", NOTE, "kdbg does not search a message for a mistake", PROTOCOL, Kind.SEARCH_LIMIT),
    Lint("sequence-gap", ERROR, "sequence numbers of a producer leave some out", "KIP-98"),
    Lint("tag-order", ERROR, "tagged fields out of order, or one of them twice", "KIP-482", Kind.TAG_ORDER),
    Lint("unknown-tag", NOTE, "a tagged field that no known version names", "KIP-482", Kind.UNKNOWN_TAG),
    Lint("unused-bits", WARNING, "bits are set that have no meaning and should be 0", PROTOCOL, Kind.UNUSED_BITS),
    Lint("version-not-offered", ERROR, "it speaks versions that the broker does not offer", "KIP-35"),
)  # fmt: skip
LINTS: dict[str, Lint] = {lint.code: lint for lint in ALL}
"""By code."""
BY_FINDING: dict[Kind, Lint] = {lint.finding: lint for lint in ALL if lint.finding is not None}
