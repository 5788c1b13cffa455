"""A producer with acks=0 is cut off by the broker, which is all that it hears of what was refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule
from ..queries import SECOND, who
from ..text import named

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection

PRODUCE = 0
TOGETHER = SECOND


def cut_off(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether a broker hung up on this connection, and on no others at the time."""
    path = session.path
    if path is None or session.closed_first != "broker":
        return False
    when = path.closes[0].time
    others = [
        other
        for other in book.sessions.values()
        if other is not session and other.broker == session.broker and other.closed_first == "broker"
        and other.client_id != session.client_id
        and other.path is not None and abs(other.path.closes[0].time - when) < TOGETHER
    ]  # fmt: skip
    return not others


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections that write with acks=0 and are closed by the broker behind a Produce."""
    found: dict[tuple[str, str], list[KafkaConnection]] = {}
    for (number, topic, _), written in book.written.items():
        session = book.sessions[number]
        last = session.used(PRODUCE).seen.last
        if 0 in written.acks and session.last == last and cut_off(book, session):
            sessions = found.setdefault((session.client_id, topic), [])
            if session not in sessions:
                sessions.append(session)
    for (_, topic), sessions in found.items():
        marks = [mark for session in sessions if (mark := session.used(PRODUCE).seen.last) is not None]
        yield rule.case(
            who(sessions[0], topic=topic), marks[0].time, marks[-1].end, len(sessions),
            Evidence(tuple(mark.number for mark in marks[:6]), (), ("acks",)),
            facts={"leaders": led_by(book, topic)}, certainty="certain" if len(sessions) > 1 else "likely", weight=2.5,
        )  # fmt: skip


def led_by(book: Ledgers, topic: str) -> str:
    """Return the leaders of a topic's partitions, as metadata names them."""
    known = book.clusters.topics.get(topic)
    nodes = {led[-1].leader for led in known.partitions.values()} if known is not None else set()
    return named("broker", sorted(nodes))


rule: Rule = Rule(
    "acks0-silent-loss",
    Severity.ERROR,
    "Produce requests with acks=0 fail silently",
    (
        "broker {broker} closes the connection of client {client_id} after a Produce request with acks=0 "
        "to topic {topic} (led by {leaders}), {times}: the request {probably}failed, and with acks=0 the "
        "broker sends no error"
    ),
    (
        "Set acks=all or acks=1 on the producer: it then receives the error, refreshes its metadata and "
        "retries on the new leader."
    ),
    "KIP-679; Producer configs: acks",
    find,
    ("the broker closed an idle connection (connections.max.idle.ms)",),
    frozenset({"stale-leader", "connection-churn"}),
)
