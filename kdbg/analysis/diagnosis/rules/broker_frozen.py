"""A broker answers nobody for a while, and then everybody at once: its process did not run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule, Who
from ..queries import MS, SECOND
from ..text import named

if TYPE_CHECKING:
    from ....exchanges.messages.peers import End
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection, Slow

BURST = 700 * MS
LONG = SECOND
WAITS_FOR_OTHERS: frozenset[int] = frozenset({0, 11, 14, 19, 20, 43})
"""APIs whose answers may wait for other brokers or members: Produce with acks=all, JoinGroup, SyncGroup …"""


def late_in(book: Ledgers, broker: End, silence: tuple[int, int]) -> list[tuple[KafkaConnection, Slow]]:
    """Return the answers that a silence held back: asked for before its end, and given right behind it."""
    _, until = silence
    return [
        (session, slow)
        for session in book.sessions.values()
        if session.broker == broker
        for slow in session.slow
        if slow.start < until - LONG // 2 and abs(slow.first - until) < BURST and slow.late > LONG // 2
        and not waits_behind(session, slow) and session.throttle_ms * MS < slow.late // 4
    ]  # fmt: skip


def waits_behind(session: KafkaConnection, slow: Slow) -> bool:
    """Return whether an answer had to let that to a long poll go first, which was held back as long as it may be."""
    return any(
        other.start < slow.start and other.end > slow.start and other.held and other.late < LONG // 2
        for other in session.slow
    )


def alone(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether what a connection writes to has one replica: then acks=all waits for nobody else."""
    topics = {topic for (number, topic, _) in book.written if number == session.peers.number}
    known = (book.clusters.topics[name] for name in topics if name in book.clusters.topics)
    led = [one[-1] for topic in known for one in topic.partitions.values()]
    return bool(led) and all(one.replicas == 1 for one in led)


def network(session: KafkaConnection, silence: tuple[int, int]) -> bool:
    """Return whether packets of a connection got lost during a silence: then the network may be why."""
    path = session.path
    return path is not None and any(
        stall.since < silence[1] and (stall.until is None or stall.until > silence[0]) and stall.times > 1
        for way in path.ways
        for stall in way.stalls
    )


def find(book: Ledgers) -> Iterator[Case]:
    """Look for silences of a broker in which answers were due that depend on nobody else."""
    for broker, pulse in book.pulses.items():
        for silence in pulse.silences:
            late = late_in(book, broker, silence)
            own = [(session, slow) for session, slow in late if slow.api_key not in WAITS_FOR_OTHERS
                   or (slow.api_key == 0 and (slow.acks in (0, 1) or alone(book, session)))]  # fmt: skip
            sessions = {session.peers.number for session, _ in late}
            if not own or any(network(session, silence) for session, _ in late):
                continue
            clients = dict.fromkeys(session.client_id for session, _ in late if session.client_id)
            numbers = tuple(dict.fromkeys(slow.mark.number for _, slow in late))
            yield rule.case(
                Who(broker=endpoint(broker)), min(slow.start for _, slow in late), silence[1], len(late),
                Evidence(numbers[:7], (), ("latency",)),
                facts={"silent": silence[1] - min(slow.start for _, slow in late),
                       "clients": named("client", clients),
                       "connections": len(sessions)},
                certainty="certain" if len(sessions) > 1 else "likely", weight=3.5,
            )  # fmt: skip


rule: Rule = Rule(
    "broker-frozen",
    Severity.ERROR,
    "broker process stalled",
    (
        "broker {broker} sent no response for {silent!d}, then responded on {connections:connection} at "
        "once (to {clients}): the broker process {probably}stalled while its host still acknowledged TCP "
        "segments"
    ),
    (
        "Find out what stalled the broker process: a long garbage collection, a suspended VM or "
        "container, or a blocked disk."
    ),
    "Kafka documentation, Monitoring",
    find,
    explains=frozenset(
        {"stale-leader", "unknown-topic", "partition-offline", "coordinator-unavailable", "coordinator-moved",
         "consumer-too-slow", "session-timeout-too-short", "commit-after-leaving-group", "not-enough-replicas",
         "slow-follower", "head-of-line-blocking", "network-interruption", "producer-fenced", "connection-churn",
         "client-timeout-below-max-wait", "max-poll-interval-exceeded"}
    ),
)  # fmt: skip
