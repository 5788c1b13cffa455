"""A client speaks without logging in to a listener that wants SASL: the broker hangs up at its first true request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule
from ..queries import who
from .api_version_unsupported import BASE

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection

API_VERSIONS, HANDSHAKE, AUTHENTICATE = 18, 17, 36


def stopped_short(session: KafkaConnection) -> bool:
    """Return whether a broker hung up at the first request that was not ApiVersions, without an answer."""
    if not session.opened or session.closed_first != "broker" or not session.unanswered:
        return False
    if session.apis.keys() & {HANDSHAKE, AUTHENTICATE}:
        return False
    first = session.unanswered[0]
    answered = session.exchanges - session.unanswered_count
    if first.api_key == API_VERSIONS or first.missing or answered > session.used(API_VERSIONS).seen.count:
        return False
    if first.version < BASE.get(first.api_key, 0):
        return False
    least, most = session.offered.get(first.api_key, (0, 1 << 15))
    return least <= first.version <= most


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections that end so, by client and broker."""
    found: dict[tuple[str, str, object], list[KafkaConnection]] = {}
    for session in book.sessions.values():
        if stopped_short(session):
            key = session.client_id, session.peers.client[0], session.broker
            found.setdefault(key, []).append(session)
    for sessions in found.values():
        first = sessions[0]
        if served(book, first):
            continue
        logs_in = any(one.mechanism and one.broker == first.broker for one in book.sessions.values())
        offers = any(session.offered for session in sessions)
        mechanisms = {one.mechanism for one in book.sessions.values() if one.mechanism and one.broker == first.broker}
        marks = [session.unanswered[0].mark for session in sessions]
        yield rule.case(
            who(first), marks[0].time, marks[-1].end, len(sessions),
            Evidence(tuple(mark.number for mark in marks[:6])),
            facts={"mechanisms": ", ".join(sorted(mechanisms)) or "PLAIN, SCRAM-SHA-512 …"},
            certainty="certain" if logs_in and offers else "likely" if offers else "guess", weight=3.0,
        )  # fmt: skip


def served(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether somebody who did not log in is answered at the same port: then it wants no login."""
    return any(
        other.broker == session.broker and other.mechanism is None and other.user is None
        and other.exchanges - other.unanswered_count > other.used(API_VERSIONS).seen.count
        for other in book.sessions.values()
    )  # fmt: skip


rule: Rule = Rule(
    "client-without-sasl",
    Severity.ERROR,
    "client does not authenticate on a SASL listener",
    (
        "broker {broker} closes the connection of client {client_id} at its first request other than "
        "ApiVersions, {times}: the listener {probably}requires SASL, and the client does not "
        "authenticate"
    ),
    (
        "Set security.protocol=SASL_PLAINTEXT or SASL_SSL, sasl.mechanism ({mechanisms}) and the "
        "credentials on the client, or use a listener without SASL."
    ),
    "KIP-43, KIP-152",
    find,
    ("the broker is shutting down, or a load balancer closes connections",),
    frozenset({"connection-churn"}),
)
