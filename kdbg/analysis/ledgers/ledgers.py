"""Packets, exchanges and findings in, ledgers out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...capture.packet import Packet
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers
from ...exchanges.messages.requested_wait import WAITS
from ...protocol.findings import ATTEMPTS, Finding, Kind
from .accounts import MOST_ERRORS, Accounts, body_of
from .evidence import mark_of
from .readers import flows, groups, metadata
from .sessions import MOST_SLOW, MOST_UNANSWERED, SLOW, BrokenOff, Mistakes, Slow, Unanswered

CLOSELY, EVERY = 1024, 16
"""Exchanges of an API on a connection that are read closely, and of how many one is beyond them, where all is well."""
READERS: dict[int, Any] = {**metadata.READERS, **flows.READERS, **groups.READERS}
"""API key → reader."""


class Ledgers(Accounts):
    """Feed it with `packets`, `take`, and `left_over` for what belongs to no exchange, in an engine's order."""

    def packets(self, packets: Sequence[Packet]) -> None:
        """Take packets, before the engine does."""
        if packets:
            self.first_time = self.first_time or packets[0][1]
            self.last_time = packets[-1][1]
            self.paths.receive_all(packets)

    def left_over(self, found: Iterable[tuple[Peers, Finding]]) -> None:
        """Take findings that belong to no exchange; attempts to connect are known from the packets already."""
        for peers, finding in found:
            if finding.kind not in ATTEMPTS and len(self.left) < MOST_ERRORS:
                self.left.append((peers, finding))

    def take(self, exchanges: Iterable[Exchange]) -> None:
        """Take exchanges, in the order in which they are handed out."""
        at = self.names.at
        for exchange in exchanges:
            at(exchange.names)
            self._take(exchange)

    def _take(self, exchange: Exchange) -> None:
        session = self.session(exchange.peers)
        if session is None:
            return
        self.exchanges += 1
        request, response, api = exchange.request, exchange.response, exchange.api
        mark = mark_of(exchange)
        self.first_time = self.first_time or mark.time
        self.last_time = max(self.last_time, mark.end)
        if api is None:
            session.unasked.add(mark)
            for finding in exchange.findings:
                session.odd(finding.kind.value, mark)
            return
        key = api.key
        use = session.heard(mark, key, exchange.version, exchange.client_id, request.size if request is not None else 0)
        if response is not None and not response.missing:
            session.largest = max(session.largest, response.size)
        elif response is not None:
            session.broken_off = BrokenOff(mark, key, response.size, response.first_time)
        latency = exchange.latency
        facts = exchange.facts()
        count = flows.COUNTERS.get(key)
        everyday = (  # one of very many of its kind, with nothing about it that is worth a closer look
            use.seen.count > CLOSELY
            and use.seen.count % EVERY != 0
            and latency is not None
            and latency < SLOW
            and not use.transactional
            and response is not None
            and response.last_time - response.first_time < SLOW
        )
        if everyday and count is not None and facts is not None and not (facts[0][2] or facts[1][2]):
            self.pulses[session.broker].beat(mark.end)
            session.sampled = True
            count(self, session, mark, facts)
            return
        shallow = use.seen.count > flows.OPENED.get(key, 0)
        request_body, response_body = body_of(request, shallow=shallow), body_of(response, shallow=True)
        if not exchange.is_sound(shallow=True):
            findings = exchange.all_findings(shallow=True)
            for finding in findings:
                session.odd(finding.kind.value, mark)
                if finding.kind is Kind.ENCODING_MISTAKE:
                    mistakes = self.mistakes.setdefault(session.peers.number, Mistakes())
                    mistakes.add(finding, mark, exchange, findings)
        if request is not None and response is None and exchange.answered:
            session.unanswered_count += 1
            if len(session.unanswered) < MOST_UNANSWERED:
                unanswered = Unanswered(
                    mark, key, exchange.version, request.size, request.missing, held(key, request_body)
                )
                session.unanswered.append(unanswered)
        if latency is not None and request is not None and response is not None:
            self.pulses[session.broker].beat(response.first_time)
            begun, ended = response.first_time, response.last_time
            longest = max(latency, ended - begun, request.last_time - request.first_time)
            if longest >= SLOW and len(session.slow) < MOST_SLOW:
                waits = held(key, request_body)
                session.slow.append(Slow(mark, key, request.last_time, begun, ended, waits, request_body.get("acks")))
        throttle = response_body.get("throttle_time_ms")
        if throttle:
            session.throttled.add(mark)
            session.throttle_ms = max(session.throttle_ms, throttle)
        read = READERS.get(key)
        if read is not None:
            read(self, session, mark, request_body, response_body, exchange)
        if facts is not None and not (facts[0][2] or facts[1][2]):
            return
        for error in exchange.errors:
            if error.topic is not None:
                name = error.topic if isinstance(error.topic, str) else self.topic(None, error.topic)
                self.failed(error.code, key, name, session, mark, -1 if error.partition is None else error.partition)
            else:
                self.failed(error.code, key, _subject(request_body), session, mark)


def held(api_key: int, body: dict[str, Any]) -> int:
    """Return for how many nanoseconds a request asks to be held back."""
    wait = WAITS.get(api_key)
    return (wait.of(body) or 0) * 1_000_000 if wait is not None and wait.held else 0


SUBJECTS: tuple[str, ...] = ("group_id", "transactional_id", "key", "mechanism")


def _subject(asked: dict[str, Any]) -> str:
    """Return what a request is about, where that is no topic."""
    for name in SUBJECTS:
        found = asked.get(name)
        if isinstance(found, str) and found:
            return found
    keys = asked.get("coordinator_keys") or asked.get("groups_names")
    resources = asked.get("resources")
    return str(keys[0]) if keys else str(resources[0].get("resource_name", "")) if resources else ""
