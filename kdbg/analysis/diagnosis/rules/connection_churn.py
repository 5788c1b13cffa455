"""A client opens a connection for next to nothing, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule
from ..queries import SECOND, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection

MANY = 15
SHORT = 3 * SECOND
FEW_EXCHANGES = 12
PER_SECOND = 1.0


def find(book: Ledgers) -> Iterator[Case]:
    """Look for many short connections of one client."""
    found: dict[tuple[str, str], list[KafkaConnection]] = {}
    for session in book.sessions.values():
        path = session.path
        if path is None or not path.opened or not path.closes or session.exchanges > FEW_EXCHANGES:
            continue
        if path.closes[0].time - path.start < SHORT:
            found.setdefault((session.client_id, session.peers.client[0]), []).append(session)
    for sessions in found.values():
        since = min(session.path.start for session in sessions if session.path is not None)
        until = max(session.path.last_time for session in sessions if session.path is not None)
        rate = len(sessions) / max((until - since) / SECOND, 1)
        if len(sessions) < MANY or rate < PER_SECOND:
            continue
        marks = [session.first for session in sessions if session.first is not None]
        packets = tuple(session.peers.first_packet for session in sessions[:5])
        yield rule.case(
            who(sessions[0]), since, until, len(sessions),
            Evidence(tuple(mark.number for mark in marks[:5]), packets), facts={"rate": rate},
        )  # fmt: skip


rule: Rule = Rule(
    "connection-churn",
    Severity.WARNING,
    "new connection for almost every request",
    (
        "client {client_id} on host {host} opened {count:connection} to broker {broker} and closed each "
        "after a few requests ({rate:connection} per second)"
    ),
    (
        "Reuse one client object for the life of the process: every new connection costs round trips and "
        "TLS and SASL handshakes."
    ),
    "KIP-612",
    find,
    ("the process restarts in a loop",),
)
