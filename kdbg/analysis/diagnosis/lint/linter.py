"""Exchanges and ledgers in, remarks out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from ....exchanges.messages.exchange import Exchange
from ....exchanges.messages.lines import UNTIMED
from ....exchanges.messages.peers import endpoint
from ....protocol.findings import Finding
from ....protocol.findings.facts import AnsweredUnasked, AnsweredUnaskedLate, MessageMistake
from ....protocol.findings.kinds import Severity
from ....protocol.grammars import name_of, releases
from ...ledgers import Ledgers
from ...ledgers.evidence import Bounded, Mark, Occurrences
from ...ledgers.sessions import KafkaConnection
from ..parties import OF_BROKERS, is_broker, software_by_client
from .registry import BY_FINDING, LINTS
from .remark import Party, Remark

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
MOST, MOST_PARTITIONS = 8192, 65_536
SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
INDEX = re.compile(r"\[\d+\]")
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
            if session is not None:
                self._take(exchange, session)

    def _note(self, code: str, mark: Mark, about: str = "", *, broker: bool = False) -> None:
        seen = self._seen.entry((code, mark.connection, broker, about), Occurrences)
        if seen is not None:
            seen.add(mark)

    def _take(self, exchange: Exchange, session: KafkaConnection) -> None:
        mark = mark_of(exchange)
        api = exchange.api
        for finding in exchange.all_findings():
            self._found(finding, mark, f"{api.name} v{exchange.version}" if api is not None else "")
        if api is None or exchange.request is None:
            return
        self._version(session, api.key, exchange.version, mark)
        look = LOOKS.get(api.key)
        message = exchange.request.message(shallow=True) if look is not None else None
        if look is not None and message is not None and not message.misaligned and isinstance(message.body, dict):
            look(self, mark, message.body, exchange)

    def _found(self, finding: Finding, mark: Mark, about: str) -> None:
        """Take a finding of the decoding."""
        if isinstance(finding.facts, (AnsweredUnasked, AnsweredUnaskedLate)):
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
        before = self._fetching.get(mark.connection)
        if session_id and epoch > 0 and before is not None and before[0] == session_id and epoch <= before[1] > 0:
            wrapped = epoch == 1 and before[1] == 0x7FFF_FFFF
            if not wrapped:
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
        for _ in self._at_the_end():
            pass
        software = software_by_client(self.book)
        found: dict[tuple[str, Party, str], list[Occurrences]] = {}
        for (code, number, broker, about), seen in self._seen.items():
            session = self.book.sessions.get(number)
            if session is None:
                continue
            party = Party(broker=endpoint(session.broker)) if broker else client_party(session, software)
            found.setdefault((code, party, about), []).append(seen)
        all = [
            Remark(LINTS[code], party, about, Occurrences.of(some), self._mistakes.get((code, about)))
            for (code, party, about), some in found.items()
        ]
        worst: dict[Party, int] = {}
        for remark in all:
            rank = SEVERITIES.index(remark.lint.severity)
            worst[remark.party] = min(worst.get(remark.party, rank), rank)
        return sorted(
            all,
            key=lambda one: (
                worst[one.party], one.party, SEVERITIES.index(one.lint.severity), one.lint.code, one.about,
            ),
        )  # fmt: skip

    def _at_the_end(self) -> Iterator[None]:
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
            yield
        for producer in book.producers.by_id.values():
            for gap in producer.gaps:
                self._note("sequence-gap", gap.mark, f"{gap.topic}/{gap.partition}")
            epochs = sorted(producer.epochs.items())
            for (_, older), (_, newer) in pairwise(epochs):
                if older.last is not None and older.last.time > newer.since:
                    self._note("producer-epoch-decreased", older.last, f"producer id {producer.producer_id}")
            yield
        for group in book.groups.values():
            for member in group.known_members():
                beats, limit = member.beats, member.session_timeout_ms * 1_000_000
                if limit and beats.count > 3 and beats.first is not None and beats.last is not None:
                    whole = (
                        beats.last.time - beats.first.time - member.longest_pause[0]
                    )  # it may have been stopped once
                    apart = whole / (beats.count - 2)
                    if apart > SLACK * limit / 3:
                        self._note("heartbeat-interval-too-long", beats.first, f"group {group.name}")
                yield


def mark_of(exchange: Exchange) -> Mark:
    """Return where an exchange stands."""
    half = exchange.request or exchange.response
    start = half.first_time if half is not None else 0
    end = exchange.response.last_time if exchange.response is not None else start
    if UNTIMED in (start, end):
        start = end = 0
    return Mark(exchange.number, start, end, exchange.peers.number)


def client_party(session: KafkaConnection, software: dict[tuple[str, str], str]) -> Party:
    """Return who asks on a connection."""
    host = session.peers.client[0]
    return Party(session.client_id, host, session.software or software.get((session.client_id, host), ""))


LOOKS: dict[int, Any] = {PRODUCE: Linter.produce, FETCH: Linter.fetch, METADATA: Linter.metadata}
"""API key → what looks at its requests."""
