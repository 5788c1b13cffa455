"""A client gives up a request before the broker may answer it, and takes the late answer for the next one's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ...ledgers.marks import Seen
from ..case import Case, Rule
from ..looking import MS, evidence, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import Session, Slow

RIGHT_BEHIND = 300 * MS
SOONER = 50 * MS
SHORTEST = 500 * MS
OFTEN, ALIKE = 3, 0.3
"""Connections that end so, each after about the same time: once or twice the client may have ended, or moved."""


def gives_up(session: Session) -> Slow | None:
    """Return the long poll that a client gave up: it hung up before the answer, or right behind it.

    In the second case it had sent another request meanwhile, and takes the late answer for that one's.
    """
    path = session.path
    if path is None or not path.closes or session.closed_first != "client":
        return None
    closed = path.closes[0].time
    for slow in reversed(session.slow):
        if slow.held < SHORTEST:
            continue
        if slow.start + SOONER < closed < slow.first:
            return slow
        asked_more = slow.start + SOONER < session.last_asked < slow.first
        if asked_more and 0 <= closed - slow.end < RIGHT_BEHIND:
            return slow
    return None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections that end so, by client."""
    found: dict[str, list[tuple[Session, Slow]]] = {}
    for session in book.sessions.values():
        slow = gives_up(session)
        polls = book.polls.get(session.peers.number)
        if slow is not None and (polls is None or polls.replica < 0):
            found.setdefault(session.client_id, []).append((session, slow))
    for all in found.values():
        waits = sorted(patience(session, slow) for session, slow in all)
        usual = waits[len(waits) // 2]
        if sum(abs(wait - usual) <= ALIKE * usual for wait in waits) < OFTEN:
            continue
        session, slow = all[0]
        seen = Seen()
        for _, one in all:
            seen.add(one.mark)
        topics = [topic for (number, topic, _) in book.fetched if number == session.peers.number]
        yield rule.case(
            who(session, topic=topics[0] if topics else None), seen.since, seen.until, len(all),
            evidence(seen, "max_wait_ms"), facts={"wait": slow.held, "patience": usual},
            weight=2.4,
        )  # fmt: skip


def patience(session: Session, slow: Slow) -> int:
    """Return the nanoseconds for which a client waited for an answer that it gave up."""
    if slow.start + SOONER < session.last_asked < slow.first:
        return session.last_asked - slow.start
    closed = session.path.closes[0].time if session.path is not None and session.path.closes else slow.first
    return closed - slow.start


rule: Rule = Rule(
    "client-timeout-below-max-wait",
    Severity.ERROR,
    "a client that gives up before the broker may answer",
    "{client_id} lets the broker wait {wait!d} with a fetch, and gives it up after {patience!d}, {times}: the answer "
    "comes when it has hung up, or is taken for the next request's",
    "Set the client's request timeout above max_wait_ms (fetch.max.wait.ms), and close the connection on a timeout.",
    "Consumer configs: request.timeout.ms, fetch.max.wait.ms",
    find,
    explains=frozenset(
        {"connection-churn", "head-of-line-blocking", "correlation-mismatch-middlebox", "poison-record"}
    ),
)
