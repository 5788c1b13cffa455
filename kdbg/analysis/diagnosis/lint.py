"""What clients and brokers do against the protocol, or against good practice: a registry, and what looks for it.

A `Linter` takes exchanges after the ledgers, in the same order, and says at the end what it found, by party.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.mistakes import INDEX
from ...exchanges.messages.peers import endpoint
from ...protocol.findings import Finding, Kind, Severity
from ...protocol.findings.facts import MessageMistake, PlainFact
from ...protocol.grammars import name_of, releases
from ..ledgers import Ledgers
from ..ledgers.evidence import Bounded, Mark, Occurrences, mark_of
from ..ledgers.sessions import ORDER, KafkaConnection
from .queries import OF_BROKERS, is_broker, software_by_client

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
        finding = self.finding
        return finding.old_name if finding is not None and finding == self.code else OLD_CODES.get(self.code)


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
    Lint("heartbeat-interval-too-long", WARNING, "heartbeat interval is longer than half the session timeout",
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


class Party(NamedTuple):
    """Who did it: a client by its id, host and software, or a broker by its address; "" for what is not told."""

    client_id: str = ""
    host: str = ""
    software: str = ""
    broker: str = ""


class Remark(NamedTuple):
    """One thing that a party did: `about` is which API and version, or field, "" for none.

    `mistake` is the first finding of a mistake, which says more.
    """

    lint: Lint
    party: Party
    about: str
    seen: Occurrences
    mistake: Finding | None = None


def remark_object(remark: Remark) -> dict[str, Any]:
    """Return a remark as JSON has it: times are seconds since the epoch."""
    first, lint = remark.seen.first, remark.lint
    return {
        "code": lint.code,
        "old_code": lint.old_code,
        "severity": lint.severity.value,
        "what": lint.what,
        "who": {name: value for name, value in remark.party._asdict().items() if value},
        "about": remark.about or None,
        "text": remark.mistake.text if remark.mistake is not None else None,
        "count": remark.seen.count,
        "since": first.time / 1e9 if first is not None else None,
        "until": remark.seen.until / 1e9 if first is not None else None,
        "exchanges": list(remark.seen.numbers),
        "document": lint.document,
    }


PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
MOST, MOST_PARTITIONS = 8192, 65_536
NEW = "4.0"
"""The release that dropped old versions (KIP-896)."""
NEW_FORMAT = 3
"""The first version of Produce with record batches."""
SLACK = 1.5
"""How many times longer than a third of the session timeout heartbeats are apart before it is told."""


class Linter:
    """Takes exchanges once the ledgers have them; memory is bounded as theirs is."""

    def __init__(self, book: Ledgers) -> None:
        self.book: Ledgers = book
        self._seen: Bounded[tuple[str, int, bool, str], Occurrences] = Bounded(MOST)
        """Code, connection, whether the broker did it, and what about."""
        self._fetching: dict[int, tuple[int, int]] = {}
        """By connection: the last fetch session and its epoch."""
        self._mistakes: Bounded[tuple[str, str], Finding] = Bounded(MOST)
        """The first mistake of a sort: by the code and what it is about."""
        self._led: Bounded[tuple[int, str, int], list[int]] = Bounded(MOST_PARTITIONS)

    def take(self, exchanges: Iterable[Exchange]) -> None:
        """Look at exchanges."""
        for exchange in exchanges:
            session = self.book.sessions.get(exchange.peers.number)
            if session is None:
                continue
            mark, api = mark_of(exchange), exchange.api
            if exchange.response is None:
                mark = mark._replace(end=mark.time)
            about = f"{api.name} v{exchange.version}" if api is not None else ""
            for finding in exchange.all_findings():
                self._found(finding, mark, about)
            if api is None or exchange.request is None:
                continue
            self._version(session, api.key, exchange.version, mark)
            look = LOOKS.get(api.key)
            message = exchange.request.message(shallow=True) if look is not None else None
            if look is not None and message is not None and not message.misaligned and isinstance(message.body, dict):
                look(self, mark, message.body, exchange)

    def _note(self, code: str, mark: Mark, about: str = "", *, broker: bool = False) -> None:
        seen = self._seen.entry((code, mark.connection, broker, about), Occurrences)
        if seen is not None:
            seen.add(mark)

    def _found(self, finding: Finding, mark: Mark, about: str) -> None:
        """Take a finding of the decoding."""
        if finding.facts in (PlainFact.ANSWERED_UNASKED, PlainFact.ANSWERED_UNASKED_LATE):
            self._note("acks0-response", mark, broker=True)
            return
        lint = BY_FINDING.get(finding.kind)
        if lint is not None and finding.side:
            field = INDEX.sub("[]", finding.path)
            if isinstance(finding.facts, MessageMistake):
                field = f"{finding.side} {finding.facts.kind} {field}".strip()
                self._mistakes.entry((lint.code, f"{about} {field}".strip()), lambda: finding)
            self._note(lint.code, mark, f"{about} {field}".strip(), broker=finding.side == "response")

    def _version(self, session: KafkaConnection, key: int, version: int, mark: Mark) -> None:
        """Hold a version against what the broker offers, and against Kafka 4."""
        name = name_of(key)
        if name is None or key == API_VERSIONS or key in OF_BROKERS:
            return
        offered = session.offered.get(key)
        if session.offered and (offered is None or not offered[0] <= version <= offered[1]):
            self._note("unsupported-version", mark, f"{name} v{version}")
        no_choice = offered is not None and version >= offered[1]
        if not no_choice and releases.since(name, version) is not None and releases.has(name, version, NEW) is False:
            last = releases.until(name, version)
            if last is not None and releases.rank(last) < releases.rank(NEW):
                self._note("deprecated-version", mark, f"{name} v{version}")

    def produce(self, mark: Mark, asked: dict[str, Any], exchange: Exchange) -> None:
        """Look at a request of Produce."""
        about = f"Produce v{exchange.version}"
        if asked.get("acks") == 0:
            self._note("acks-none", mark)
        batches = [
            batch
            for topic in asked.get("topic_data") or ()
            for partition in topic.get("partition_data") or ()
            for batch in partition.get("records") or ()
            if isinstance(batch, dict)
        ]
        if any(batch.get("magic", 2) < 2 for batch in batches):
            offered = self.book.sessions[mark.connection].offered.get(PRODUCE)
            if offered is None or offered[1] >= NEW_FORMAT:
                self._note("old-record-format", mark, about)
        elif any(batch.get("producer_id") == -1 for batch in batches):
            self._note("no-idempotence", mark)

    def fetch(self, mark: Mark, asked: dict[str, Any], exchange: Exchange) -> None:
        """Look at a request of Fetch: epochs of its session, and of leaders."""
        session_id, epoch = asked.get("session_id") or 0, asked.get("session_epoch", -1)
        id_before, before = self._fetching.get(mark.connection, (0, 0))
        wraps = (epoch, before) == (1, 0x7FFF_FFFF)
        if session_id and session_id == id_before and 0 < epoch <= before and not wraps:
            self._note("fetch-session-epoch", mark)
        if len(self._fetching) < MOST or mark.connection in self._fetching:
            self._fetching[mark.connection] = session_id, epoch
        for topic in asked.get("topics") or ():
            name = self.book.topic(topic.get("topic"), topic.get("topic_id"))
            for partition in topic.get("partitions") or ():
                leader = partition.get("current_leader_epoch", -1)
                if leader is None or leader < 0:
                    continue
                key = mark.connection, name, partition.get("partition", -1)
                known = self._led.entry(key, partial(list, (leader,)))
                if known is not None:
                    if leader < known[0]:
                        self._note("leader-epoch-decreased", mark, name)
                    known[0] = leader

    def metadata(self, mark: Mark, asked: dict[str, Any], exchange: Exchange) -> None:
        """Look at a request of Metadata."""
        if asked.get("topics") and asked.get("allow_auto_topic_creation"):
            self._note("topic-auto-creation", mark)

    def remarks(self) -> list[Remark]:
        """Return what was found, by party, the most serious first; look at what the ledgers know at the end."""
        self._look_at_all()
        software = software_by_client(self.book)
        found: dict[tuple[str, Party, str], list[Occurrences]] = {}
        for (code, number, broker, about), seen in self._seen.items():
            session = self.book.sessions.get(number)
            if session is None:
                continue
            client_id, host = session.client_id, session.peers.client[0]
            party = Party(client_id, host, session.software or software.get((client_id, host), ""))
            if broker:
                party = Party(broker=endpoint(session.broker))
            found.setdefault((code, party, about), []).append(seen)
        all = [
            Remark(LINTS[code], party, about, Occurrences.of(some), self._mistakes.get((code, about)))
            for (code, party, about), some in found.items()
        ]
        worst: dict[Party, int] = {}
        for remark in all:
            rank = ORDER.index(remark.lint.severity)
            worst[remark.party] = min(worst.get(remark.party, rank), rank)

        def order(one: Remark) -> tuple[Any, ...]:
            return worst[one.party], one.party, ORDER.index(one.lint.severity), one.lint.code, one.about

        return sorted(all, key=order)

    def _look_at_all(self) -> None:
        """Look at what only the whole tells."""
        book = self.book
        asked = {
            (session.client_id, session.peers.client[0])
            for session in book.sessions.values()
            if API_VERSIONS in session.apis
        }
        for session in book.sessions.values():
            first = session.first
            if first is None:
                continue
            if not session.client_id and session.apis.keys() - {API_VERSIONS, 17, 36}:
                self._note("no-client-id", first)
            if len(session.client_ids) > 1:
                self._note("client-id-changes", first)
            known = (session.client_id, session.peers.client[0]) in asked
            if session.opened and session.apis and not known and not is_broker(book, session):
                self._note("no-api-versions-request", first)
            if session.mechanism == "PLAIN" and session.peers.tls is None:
                self._note("plain-without-tls", first)
        for producer in book.producers.by_id.values():
            for gap in producer.gaps:
                self._note("sequence-gap", gap.mark, f"{gap.topic}/{gap.partition}")
            for (_, older), (_, newer) in pairwise(sorted(producer.epochs.items())):
                if older.last is not None and older.last.time > newer.since:
                    self._note("producer-epoch-decreased", older.last, f"producer id {producer.producer_id}")
        for group in book.groups.values():
            for member in group.known_members():
                beats, limit = member.beats, member.session_timeout_ms * 1_000_000
                if limit and beats.count > 3 and beats.first is not None and beats.last is not None:
                    # it may have been stopped once
                    apart = (beats.last.time - beats.first.time - member.longest_pause[0]) / (beats.count - 2)
                    if apart > SLACK * limit / 3:
                        self._note("heartbeat-interval-too-long", beats.first, f"group {group.name}")


LOOKS: dict[int, Any] = {PRODUCE: Linter.produce, FETCH: Linter.fetch, METADATA: Linter.metadata}
"""API key → what looks at its requests."""
