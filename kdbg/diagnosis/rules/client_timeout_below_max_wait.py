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


def gives_up(session: Session) -> Slow | None:
    """Return the long poll at whose late answer a client hung up, or which it did not wait for."""
    path = session.path
    if path is None or not path.closes or session.closed_first != "client":
        return None
    closed = path.closes[0].time
    for slow in reversed(session.slow):
        asked_more = session.last_asked > slow.start + SOONER and session.last_asked < slow.first
        if slow.held >= 500 * MS and asked_more and 0 <= closed - slow.end < RIGHT_BEHIND:
            return slow
    return None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections that end so, by client."""
    found: dict[str, list[tuple[Session, Slow]]] = {}
    for session in book.sessions.values():
        slow = gives_up(session)
        if slow is not None:
            found.setdefault(session.client_id, []).append((session, slow))
    for all in found.values():
        session, slow = all[0]
        seen = Seen()
        for _, one in all:
            seen.add(one.mark)
        topics = [topic for (number, topic, _) in book.fetched if number == session.peers.number]
        yield rule.case(
            who(session, topic=topics[0] if topics else None), seen.since, seen.until, len(all),
            evidence(seen, "max_wait_ms"), facts={"wait": slow.held, "patience": session.last_asked - slow.start},
            certainty="certain" if len(all) > 1 else "likely", weight=2.4,
        )  # fmt: skip


rule: Rule = Rule(
    "client-timeout-below-max-wait",
    Severity.ERROR,
    "a client that gives up before the broker may answer",
    "{client_id} lets the broker wait {wait!d} with a fetch, gives it up after {patience!d}, sends the next "
    "request on "
    "the same connection and hangs up when the late answer comes first, {times}",
    "Set the client's request timeout above max_wait_ms (fetch.max.wait.ms), and close the connection on a timeout.",
    "Consumer configs: request.timeout.ms, fetch.max.wait.ms",
    find,
    explains=frozenset(
        {"connection-churn", "head-of-line-blocking", "correlation-mismatch-middlebox", "poison-record"}
    ),
)
