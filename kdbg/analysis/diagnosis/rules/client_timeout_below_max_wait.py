"""A client gives up a request before the broker may answer it, and takes the late answer for the next one's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import MS, evidence, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection, Slow

RIGHT_BEHIND = 300 * MS
SOONER = 50 * MS
SHORTEST = 500 * MS
OFTEN, ALIKE = 3, 0.3
"""Connections that end so, each after about the same time: once or twice the client may have ended, or moved."""


def given_up(session: KafkaConnection) -> tuple[Slow, int] | None:
    """Return the long poll that a client gave up, and after how many nanoseconds; None where it gave up none.

    It closed the connection before the response, or right after it: then it had sent another request meanwhile, and
    takes the late response for that one's.
    """
    path = session.path
    if path is None or not path.closes or session.closed_first != "client":
        return None
    closed = path.closes[0].time
    for slow in reversed(session.slow):
        if slow.held < SHORTEST:
            continue
        asked_more = slow.start + SOONER < session.last_asked < slow.first
        mistaken = asked_more and 0 <= closed - slow.end < RIGHT_BEHIND
        if mistaken or slow.start + SOONER < closed < slow.first:
            return slow, (session.last_asked if asked_more else closed) - slow.start
    return None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections that end so, by client."""
    found: dict[str, list[tuple[KafkaConnection, Slow, int]]] = {}
    for session in book.sessions.values():
        given = given_up(session)
        polls = book.polls.get(session.peers.number)
        if given is not None and (polls is None or polls.replica < 0):
            found.setdefault(session.client_id, []).append((session, *given))
    for all in found.values():
        waits = sorted(wait for _, _, wait in all)
        usual = waits[len(waits) // 2]
        if sum(abs(wait - usual) <= ALIKE * usual for wait in waits) < OFTEN:
            continue
        session, slow, _ = all[0]
        seen = Occurrences()
        for _, one, _ in all:
            seen.add(one.mark)
        topics = [topic for (number, topic, _) in book.fetched if number == session.peers.number]
        yield rule.case(
            who(session, topic=topics[0] if topics else None), seen.since, seen.until, len(all),
            evidence(seen, "max_wait_ms"), facts={"wait": slow.held, "patience": usual},
            weight=2.4,
        )  # fmt: skip


rule: Rule = Rule(
    "client-timeout-below-max-wait",
    Severity.ERROR,
    "client timeout shorter than fetch.max.wait.ms",
    (
        "client {client_id} lets the broker hold a Fetch request for {wait!d} but times out after "
        "{patience!d}, {times}: the response reaches a closed connection or is mistaken for that of the "
        "next request"
    ),
    (
        "Set request.timeout.ms (librdkafka: socket.timeout.ms) above fetch.max.wait.ms (librdkafka: "
        "fetch.wait.max.ms), and have the client close the connection after a timeout."
    ),
    "Consumer configs: request.timeout.ms, fetch.max.wait.ms",
    find,
    explains=frozenset(
        {"connection-churn", "head-of-line-blocking", "correlation-mismatch-middlebox", "poison-record"}
    ),
)
