"""Answers come with correlation ids that nobody asked with: something on the way mixes connections up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Kind, Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import evidence, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection


def mixed_up(session: KafkaConnection) -> bool:
    """Return whether a whole connection has answers to nothing, and requests without an answer."""
    path = session.path
    if path is None or not path.opened or any(way.unseen for way in path.ways) or session.findings.get(Kind.TCP_GAP):
        return False
    return bool(
        session.unasked or session.findings.get(Kind.UNSOLICITED_RESPONSE) or session.findings.get(Kind.OUT_OF_ORDER)
    ) and (session.unanswered_count > 0 or bool(session.findings.get(Kind.OUT_OF_ORDER)))


def find(book: Ledgers) -> Iterator[Case]:
    """Look for such connections, by client and broker."""
    found: dict[tuple[str, object], list[KafkaConnection]] = {}
    for session in book.sessions.values():
        if mixed_up(session):
            found.setdefault((session.client_id, session.broker), []).append(session)
    for sessions in found.values():
        seen = Occurrences.of(session.unasked for session in sessions)
        marks = [*seen.marks, *(one.mark for session in sessions for one in session.unanswered[:2])]
        first = [session.first for session in sessions if session.first is not None]
        yield rule.case(
            who(sessions[0]), min(mark.time for mark in (*marks, *first)),
            max(mark.end for mark in (*marks, *first)), max(len(sessions), seen.count),
            evidence(marks or first, "correlation_id"), weight=2.8,
        )  # fmt: skip


rule: Rule = Rule(
    "correlation-mismatch-middlebox",
    Severity.ERROR,
    "responses with unknown correlation ids",
    (
        "client {client_id} receives {count:response} from broker {broker} with correlation ids that "
        "match no request on that connection, as when a proxy or load balancer mixes up connections"
    ),
    "Remove the proxy or load balancer, or make it forward each connection unchanged and in order.",
    "Kafka protocol guide: network, correlation_id",
    find,
    ("a bug in the broker or the client library",),
    frozenset({"connection-churn"}),
)
