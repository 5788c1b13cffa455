"""Brokers: those that stall, wait for each other, or cannot store what they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ....exchanges.messages.peers import End, endpoint
from ....protocol.findings import Severity
from ....streams.tcp.paths import Path
from ...ledgers import Ledgers
from ...ledgers.evidence import Occurrences
from ...ledgers.sessions import KafkaConnection, Slow
from ..case import Case, Who, rule
from ..queries import (
    FEW,
    MS,
    SECOND,
    by_error,
    evidence,
    extent_of_paths,
    grouped,
    has_live_sibling,
    on_paths,
    topic_of,
    unreachable,
)
from ..text import named

PRODUCE, ALL = 0, -1
BURST = 700 * MS
"""Responses that come so soon after a silence were held back by it."""
WAITS_FOR_OTHERS: frozenset[int] = frozenset({PRODUCE, 11, 14, 19, 20, 43})
"""APIs whose answers may wait for other brokers or members: Produce with acks=all, JoinGroup, SyncGroup …"""
LATE, WORST, FEWEST_LATE = 500 * MS, 1500 * MS, 3
"""Writes that wait for a follower, and the longest wait: less happens while a leader changes."""


def late_in(book: Ledgers, broker: End, until: int) -> list[tuple[KafkaConnection, Slow]]:
    """Return the answers that a silence held back: asked for before its end, and given right after it.

    They took twice as long as they were asked to wait, and more: a slow broker may hold a long poll back for longer.
    """
    return [
        (session, slow)
        for session in book.sessions.values()
        if session.broker == broker
        for slow in session.slow
        if slow.start < until - SECOND // 2 and abs(slow.first - until) < BURST and slow.late > SECOND // 2 + slow.held
        and not waits_behind(session, slow) and session.throttle_ms * MS < slow.late // 4
    ]  # fmt: skip


def waits_behind(session: KafkaConnection, slow: Slow) -> bool:
    """Return whether an answer had to let that to a long poll go first, which was held back as long as it may be."""
    return any(
        other.start < slow.start and other.end > slow.start and other.held and other.late < SECOND // 2
        for other in session.slow
    )


def alone(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether what a connection writes to has one replica: then acks=all waits for no other broker."""
    topics = {topic for (number, topic, _) in book.written if number == session.peers.number}
    known = (book.clusters.topics[name] for name in topics if name in book.clusters.topics)
    led = [one[-1] for topic in known for one in topic.partitions.values()]
    return bool(led) and all(one.replicas == 1 for one in led)


def lost_packets(session: KafkaConnection, silence: tuple[int, int]) -> bool:
    """Return whether packets of a connection got lost during a silence: then the network may be why."""
    path = session.path
    return path is not None and any(
        stall.since < silence[1] and (stall.until is None or stall.until > silence[0]) and stall.times > 1
        for way in path.ways
        for stall in way.stalls
    )


@rule(
    "broker-frozen",
    "connection",
    title="broker process stalled",
    sentence="broker {broker} sent no response for {silent!d}, then responded on {connections:connection} at once (to "
    "{clients}): the broker process {probably}stalled while its host still acknowledged TCP segments",
    advice="Find out what stalled the broker process: a long garbage collection, a suspended VM or container, or a "
    "blocked disk.",
    document="Kafka documentation, Monitoring",
    explains={"no-response", "stale-leader", "unknown-topic", "partition-offline", "coordinator-unavailable",
              "coordinator-moved", "consumer-too-slow", "session-timeout-too-short", "commit-after-leaving-group",
              "not-enough-replicas", "slow-follower", "head-of-line-blocking", "network-interruption",
              "producer-fenced", "connection-churn", "client-timeout-below-max-wait", "max-poll-interval-exceeded"},
)  # fmt: skip
def broker_frozen(book: Ledgers) -> Iterator[Case]:
    """Look for silences of a broker in which answers were due that depend on no other."""
    for broker, pulse in book.pulses.items():
        for silence in pulse.silences:
            late = late_in(book, broker, silence[1])
            own = any(
                slow.api_key not in WAITS_FOR_OTHERS
                or (slow.api_key == PRODUCE and (slow.acks in (0, 1) or alone(book, session)))
                for session, slow in late
            )
            connections = len({session.peers.number for session, _ in late})
            alone_late = connections == 1 and max(slow.late - slow.held for _, slow in late) < 2 * SECOND
            if not own or alone_late or any(lost_packets(session, silence) for session, _ in late):
                continue
            since = min(slow.start for _, slow in late)
            clients = dict.fromkeys(session.client_id for session, _ in late if session.client_id)
            yield broker_frozen.case(
                Who(broker=endpoint(broker)), since, silence[1], len(late),
                evidence([slow.mark for _, slow in late], "latency"), weight=3.5,
                facts={"silent": silence[1] - since, "clients": named("client", clients), "connections": connections},
                certainty="certain" if connections > 1 else "likely",
            )  # fmt: skip


def pauses(book: Ledgers, leader: End, since: int, until: int) -> dict[int, int]:
    """Return the followers of a leader, by node id: the longest time between two fetches."""
    found: dict[int, int] = {}
    for number, polls in book.polls.items():
        if polls.replica < 0 or book.sessions[number].broker != leader:
            continue
        times = [time for time in polls.times if since - 2 * SECOND <= time <= until + 2 * SECOND]
        ends = [*times, until] if times and times[-1] < until else times
        longest = max((later - earlier for earlier, later in pairwise(ends)), default=0)
        if longest > found.get(polls.replica, 0):
            found[polls.replica] = longest
    return found


@rule(
    "slow-follower",
    "records",
    title="slow follower delays acks=all",
    sentence="{count:write} of client {client_id} with acks=all waited up to {longest!d} on leader {leader}, which "
    "responded to other requests meanwhile: {follower} {probably}did not fetch for {pause!d}",
    advice="Check process, disk and network of {checked}; replica.lag.time.max.ms limits how long a follower can "
    "delay writes.",
    document="KIP-16; Broker configs: replica.lag.time.max.ms",
    alternatives=("the leader's disk is slow",),
    explains={"head-of-line-blocking"},
)
def slow_follower(book: Ledgers) -> Iterator[Case]:
    """Look for slow writes with acks=all on brokers that answer other requests meanwhile."""
    late = (
        (session, slow)
        for session in book.sessions.values()
        for slow in session.slow
        if slow.api_key == PRODUCE and slow.acks == ALL and slow.first - slow.start >= LATE
    )
    for broker, all in grouped(late, lambda one: one[0].broker).items():
        since, until = min(slow.start for _, slow in all), max(slow.first for _, slow in all)
        waited = max(slow.first - slow.start for _, slow in all)
        if len(all) < FEWEST_LATE or waited < WORST:
            continue
        followers = pauses(book, broker, since, until)
        longest = max(followers, key=lambda node: followers[node], default=None)
        paused = longest is not None and followers[longest] >= SECOND
        answers_others = any(
            session.broker == broker and any(key != PRODUCE and use.seen.since < until and use.seen.until > since
                                             for key, use in session.apis.items())
            for session in book.sessions.values()
        )  # fmt: skip
        if not answers_others or (followers and not paused):
            continue
        node = book.clusters.node(longest, broker) if longest is not None else None
        session = all[0][0]
        yield slow_follower.case(
            Who(session.client_id or None, session.peers.client[0],
                f"{node[0]}:{node[1]}" if node is not None else endpoint(broker), topic_of(book.written, session)),
            since, until, len(all), evidence(Occurrences(slow.mark for _, slow in all), "acks", "latency"), weight=2.6,
            facts={"longest": waited, "leader": endpoint(broker),
                   "follower": f"broker {longest}" if longest is not None else "a follower (not in the capture)",
                   "pause": followers[longest] if longest is not None else waited,
                   "checked": f"broker {longest}" if longest is not None else "the followers"},
            certainty="certain" if paused else "guess", severity=Severity.ERROR if paused else Severity.WARNING,
        )  # fmt: skip


kafka_storage_error = by_error(
    "kafka-storage-error",
    "records",
    title="broker storage failure",
    sentence="broker {broker} cannot read or write topic {topic}: KAFKA_STORAGE_ERROR, {times}",
    advice="Check log.dirs, the disks and the server log of broker {broker}.",
    document="KIP-112",
    errors=(56,),  # KAFKA_STORAGE_ERROR
)


not_enough_replicas = by_error(
    "not-enough-replicas",
    "records",
    title="too few in-sync replicas",
    sentence="topic {topic} has fewer in-sync replicas than min.insync.replicas: broker {broker} rejects writes of "
    "client {client_id} with acks=all, {times}",
    advice="Check which brokers are down and whose replicas fall behind. A min.insync.replicas above the number of "
    "live brokers can never be met.",
    document="Topic configs: min.insync.replicas",
    errors=(19, 20),  # NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND
    apis=(0,),
    explains={"partition-offline"},
)


def down_from_the_start(book: Ledgers, acceptor: End, paths: list[Path]) -> Iterator[Case]:
    """Look for a broker that refuses all connections in the capture, while others of its cluster respond."""
    hosts = list(dict.fromkeys(path.initiator[0] for path in paths))
    if all(path.refused is not None for path in paths) and has_live_sibling(book, endpoint(acceptor), hosts):
        yield _from_the_start.case(
            Who(broker=endpoint(acceptor)), *extent_of_paths(paths), {"hosts": named("host", hosts)},
            certainty="likely", weight=3.4,
        )  # fmt: skip


@rule(
    "broker-down",
    "connection",
    title="broker is down",
    sentence="broker {broker} last responded {seconds!d} before the capture ends, and {count:connection attempt} from "
    "{hosts} failed after that ({answers}): the broker is {probably}down",
    advice="Restart broker {broker}, and check its log for why it stopped (out of memory, full disk, killed).",
    document="Kafka documentation, Monitoring",
    alternatives=("a firewall began to reject connections to broker {broker}",),
    explains={"connection-churn", "slow-follower", "not-enough-replicas", "partition-offline", "stale-leader",
              "coordinator-moved", "network-interruption", "consumer-too-slow", "no-response", "error-response"},
)  # fmt: skip
def broker_down(book: Ledgers) -> Iterator[Case]:
    """Look for brokers that responded before, and that no attempt reaches from then on."""
    for acceptor, paths, before, _ in unreachable(book):
        if len(paths) < FEW:
            continue
        if not before:
            yield from down_from_the_start(book, acceptor, paths)
            continue
        sessions = (one for one in book.sessions.values() if one.broker == acceptor)
        until = max(one.last.end for one in sessions if one.last is not None and one.is_served)
        hosts = list(dict.fromkeys(path.initiator[0] for path in paths))
        refused = all(path.refused is not None for path in paths)
        yield broker_down.case(
            Who(broker=endpoint(acceptor)), min(until, paths[0].start), paths[-1].last_time, len(paths),
            on_paths(paths), {"hosts": named("host", hosts), "seconds": book.last_time - until,
                              "answers": "RST" if refused else "no reply"},
            certainty="certain" if refused else "likely", weight=3.4,
        )  # fmt: skip


_from_the_start = broker_down._replace(
    sentence="broker {broker} refused {count:connection attempt} from {hosts}, while other brokers of its cluster "
    "responded: the broker is {probably}down",
    alternatives=("the address that broker {broker} advertises is wrong",),
)
