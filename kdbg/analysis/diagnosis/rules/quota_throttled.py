"""A broker asks a client to be silent for a while: it is over its quota."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import MS, evidence, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection

OFTEN, SHORTEST_MS, LONG_MS = 3, 20, 1000


def find(book: Ledgers) -> Iterator[Case]:
    """Look for clients that were throttled, by client id."""
    found: dict[str, list[KafkaConnection]] = {}
    for session in book.sessions.values():
        if session.throttled:
            found.setdefault(session.client_id, []).append(session)
    for sessions in found.values():
        seen = Occurrences.of(session.throttled for session in sessions)
        longest = max(session.throttle_ms for session in sessions)
        if longest < SHORTEST_MS or (seen.count < OFTEN and longest < LONG_MS):
            continue
        topics = [topic for (number, topic, _) in (*book.written, *book.fetched)
                  if number in {session.peers.number for session in sessions}]  # fmt: skip
        yield rule.case(
            who(max(sessions, key=lambda one: one.throttled.count), topic=topics[0] if topics else None), seen.since,
            seen.until, seen.count, evidence(seen, "throttle_time_ms"), facts={"longest": longest * MS}, weight=1.5,
        )  # fmt: skip


rule: Rule = Rule(
    "quota-throttled",
    Severity.WARNING,
    "client exceeds its quota",
    (
        "broker {broker} throttles client {client_id}, {times}, for up to {longest!d} at a time: the "
        "client exceeds a quota"
    ),
    "Raise the quota of the client or user (producer_byte_rate, consumer_byte_rate, request_percentage), or "
    "reduce the client's load.",
    "KIP-13, KIP-124, KIP-219",
    find,
    explains=frozenset({"broker-frozen", "slow-follower", "consumer-too-slow", "head-of-line-blocking"}),
)
