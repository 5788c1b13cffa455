"""A login was valid for a time, and the client goes on without logging in again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule
from ..queries import MS, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection

SLACK = 0.9


def expired(session: KafkaConnection) -> bool:
    """Return whether the broker hung up after the login had expired."""
    if not session.lifetime or not session.authenticated or session.closed_first != "broker" or session.path is None:
        return False
    closed = session.path.closes[0].time
    return closed - session.authenticated[-1].end >= SLACK * session.lifetime * MS


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections that outlive their login, by client."""
    found: dict[tuple[str, str], list[KafkaConnection]] = {}
    for session in book.sessions.values():
        if expired(session):
            found.setdefault((session.client_id, session.user or ""), []).append(session)
    for sessions in found.values():
        first = sessions[0]
        marks = [mark for session in sessions for mark in (session.authenticated[-1], session.last) if mark is not None]
        asked = any(session.unanswered for session in sessions)
        yield rule.case(
            who(first), marks[0].time, marks[-1].end, len(sessions),
            Evidence(tuple(dict.fromkeys(mark.number for mark in marks))[:7], (), ("session_lifetime_ms",)),
            facts={"lifetime": first.lifetime * MS, "name": first.user or "(unknown)"},
            certainty="certain" if asked else "likely", weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "sasl-session-expired",
    Severity.ERROR,
    "SASL session expired",
    (
        "broker {broker} closes the connection of client {client_id}, {times}: the SASL session of user "
        "{name}, valid for {lifetime!d}, {probably}expired, and the client did not re-authenticate"
    ),
    (
        "Upgrade to a client that re-authenticates (Java 2.2, librdkafka 1.6 for OAUTHBEARER, or later), "
        "issue longer-lived tokens, or raise connections.max.reauth.ms on the broker."
    ),
    "KIP-368",
    find,
    explains=frozenset({"connection-churn"}),
)
