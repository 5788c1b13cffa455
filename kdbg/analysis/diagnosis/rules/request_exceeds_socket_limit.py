"""A request is larger than the broker takes: it hangs up before it has read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule
from ..queries import api_name, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection, Unanswered

LIMIT = 100 << 20
"""socket.request.max.bytes unless it is changed."""
LARGE = 64 << 10


def cut_off(session: KafkaConnection) -> Unanswered | None:
    """Return the request at which a broker hung up before all of it had come."""
    if session.closed_first != "broker":
        return None
    return next((one for one in session.unanswered if one.size > LIMIT or (one.missing and one.size > LARGE)), None)


def find(book: Ledgers) -> Iterator[Case]:
    """Look for large requests that were cut off, by client."""
    found: dict[tuple[str, int], list[tuple[KafkaConnection, Unanswered]]] = {}
    for session in book.sessions.values():
        request = cut_off(session)
        if request is not None:
            found.setdefault((session.client_id, request.api_key), []).append((session, request))
    for (_, key), all in found.items():
        session, request = max(all, key=lambda one: one[1].size)
        marks = [one.mark for _, one in all]
        yield rule.case(
            who(session, topic=topic_of(book, session)), marks[0].time, marks[-1].end, len(all),
            Evidence(tuple(mark.number for mark in marks[:6]), (), ("size",)),
            facts={"size": request.size, "came": request.size - request.missing, "api": api_name(key)},
            certainty="certain" if request.size > LIMIT else "likely", weight=2.5,
        )  # fmt: skip


def topic_of(book: Ledgers, session: KafkaConnection) -> str | None:
    """Return the topic that a connection writes most to."""
    topics = {topic: one.bytes for (number, topic, _), one in book.written.items() if number == session.peers.number}
    return max(topics, key=lambda name: topics[name], default=None)


rule: Rule = Rule(
    "request-exceeds-socket-limit",
    Severity.ERROR,
    "request exceeds socket.request.max.bytes",
    (
        "client {client_id} sends broker {broker} a request of {size:byte} ({api}), and the broker closes "
        "the connection after {came:byte}: the request {probably}exceeds socket.request.max.bytes"
    ),
    (
        "Lower max.request.size (librdkafka: message.max.bytes) and batch.size on the producer, or raise "
        "socket.request.max.bytes on the broker (default 104857600 bytes)."
    ),
    "Broker configs: socket.request.max.bytes",
    find,
    ("the broker was stopped in the middle of the request",),
    frozenset({"connection-churn"}),
)
