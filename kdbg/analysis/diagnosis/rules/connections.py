"""Connections: those that come and go or are mixed up, and requests that wait, are throttled or cut off on them."""

from __future__ import annotations

from collections.abc import Iterator

from ....protocol.findings import Kind, Severity
from ....streams.tcp.paths import Path
from ...ledgers import Ledgers
from ...ledgers.evidence import Occurrences
from ...ledgers.sessions import KafkaConnection, Slow, Unanswered
from ..case import Case, rule
from ..queries import (
    MS,
    SECOND,
    api_name,
    evidence,
    extent,
    extent_of_marks,
    extent_of_paths,
    group_of,
    grouped,
    span,
    topic_of,
    who,
)  # fmt: skip
from ..text import duration

MANY_SHORT, FEW_EXCHANGES = 15, 12
SHORT = 3 * SECOND
FEW_EACH = 5
"""Connections that a client opens at least when it opens them again and again; a program that runs once opens fewer."""
LIMIT = 100 << 20
"""socket.request.max.bytes unless it is changed."""
LARGE = 64 << 10
OFTEN_RESET, ALIKE = 3, 1.5
METADATA = 3
MANY_REPEATED, PER_SECOND = 30, {METADATA: 8}
OFTEN_PER_SECOND = 20
LONG_BLOCK, RIGHT_AFTER, OFTEN_BLOCKED = 200 * MS, 50 * MS, 3
WORTH = 1100 * MS
"""Some clients request metadata after long polls of 500 ms by design: twice that is none of these."""
LONG_READ = 500 * MS
OFTEN_THROTTLED, SHORTEST_THROTTLE, LONG_THROTTLE = 3, 20, 1000
"""Times, and milliseconds."""


def is_short(session: KafkaConnection) -> bool:
    """Return whether a connection was opened for next to nothing."""
    path = session.path
    if path is None or not path.opened or not path.closes or session.exchanges > FEW_EXCHANGES:
        return False
    return path.closes[0].time - path.start < SHORT


def client_objects(sessions: list[KafkaConnection]) -> int:
    """Return how many clients some connections may belong to: those that overlap in time belong to one."""
    paths = sorted((session.path for session in sessions if session.path is not None), key=lambda path: path.start)
    found = until = 0
    for path in paths:
        found += path.start > until
        until = max(until, path.last_time)
    return found


@rule(
    "connection-churn",
    "connection",
    title="new connection for almost every request",
    sentence="client {client_id} on host {host} opened {count:connection} to broker {broker} and closed each after a "
    "few requests ({rate:connection} per second)",
    advice="Reuse one client object for the life of the process: every new connection costs round trips and TLS and "
    "SASL handshakes.",
    document="KIP-612",
    alternatives=("the process restarts in a loop",),
    severity=Severity.WARNING,
)
def connection_churn(book: Ledgers) -> Iterator[Case]:
    """Look for many short connections of one client, which do not belong to a few clients that end."""
    short = (session for session in book.sessions.values() if is_short(session))
    for sessions in grouped(short, lambda one: (one.client_id, one.peers.client[0])).values():
        since, until = span(session.path for session in sessions if session.path is not None)
        rate = len(sessions) / max((until - since) / SECOND, 1)
        clients = client_objects(sessions)
        is_program = clients < (until - since) / SECOND and len(sessions) < clients * FEW_EACH
        if len(sessions) < MANY_SHORT or rate < 1 or is_program:
            continue
        marks = [session.first for session in sessions if session.first is not None]
        packets = tuple(session.peers.first_packet for session in sessions[:5])
        yield connection_churn.case(
            who(sessions[0]), since, until, len(sessions), evidence(marks[:5], packets=packets), facts={"rate": rate}
        )


def idle_before_reset(path: Path) -> int:
    """Return for how many nanoseconds a connection was idle when its acceptor reset it; 0 where that did not happen."""
    if not path.opened or not path.closes or not path.closes[0].reset or path.closes[0].side == 0:
        return 0
    sent, answered = path.ways
    quiet = max(sent.last_time, answered.last_time)
    if sent.last_time > answered.last_time and path.closes[0].time - sent.last_time < RIGHT_AFTER:
        quiet = answered.last_time  # reset by what was sent after the pause
    return path.closes[0].time - quiet if answered.bytes else 0


@rule(
    "idle-connection-reset",
    "connection",
    title="idle connections are reset",
    sentence="{count:connection} of client {client_id} to address {broker} were reset from there after {idle!d} "
    "without traffic: a proxy, load balancer or firewall {probably}drops idle connections",
    advice="Raise the idle timeout of the proxy, load balancer or firewall above connections.max.idle.ms of the "
    "client, or lower connections.max.idle.ms below that timeout.",
    document="RFC 5382, section 5; Producer configs: connections.max.idle.ms",
    alternatives=("the broker itself resets connections",),
    explains={"connection-churn", "no-response"},
)
def idle_connection_reset(book: Ledgers) -> Iterator[Case]:
    """Look for connections that are reset after about the same time without traffic, by client and address."""
    idle = ((session, time) for session in book.sessions.values()
            if session.path is not None and (time := idle_before_reset(session.path)) >= SECOND)  # fmt: skip
    for all in grouped(idle, lambda one: (one[0].client_id, one[0].broker)).values():
        shortest, longest = min(time for _, time in all), max(time for _, time in all)
        if len(all) < OFTEN_RESET or longest > ALIKE * shortest:
            continue
        paths = [session.path for session, _ in all if session.path is not None]
        yield idle_connection_reset.case(
            who(all[0][0]), *extent_of_paths(paths), facts={"idle": shortest}, certainty="likely", weight=2.3
        )


HABITS: dict[int, str] = {
    2: "Read offsets every few seconds; one ListOffsets request can name many partitions",
    3: "Use the metadata that the client keeps (metadata.max.age.ms), not a request for each record",
    8: "Commit once per poll, or with enable.auto.commit, not for each record",
    9: "Read committed offsets every few seconds; one request can name many groups",
    10: "Find the coordinator once, and again only after NOT_COORDINATOR",
    12: "Set heartbeat.interval.ms to a third of session.timeout.ms (default 3000)",
    15: "Describe groups every few seconds; one request can name many",
    16: "List groups every few seconds",
    32: "Describe configurations every few minutes; one request can name many resources",
    60: "Describe the cluster every few minutes",
    68: "Use the heartbeat interval that the broker sends (group.consumer.heartbeat.interval.ms)",
}
"""APIs that a client needs now and then, with what to do about one that it uses without a pause."""


@rule(
    "repeated-requests",
    "metadata",
    title="same request again and again",
    sentence="client {client_id} sends broker {broker} {count:request} of {api}, {rate:,.0f} per second: each costs "
    "the broker work and brings nothing new",
    advice="Lower the rate. {remedy}.",
    document="Kafka documentation, Design: Efficiency",
    alternatives=("a test or benchmark sends them deliberately",),
    severity=Severity.WARNING,
)
def repeated_requests(book: Ledgers) -> Iterator[Case]:
    """Look for clients that use an API without a pause which they need now and then."""
    for sessions in grouped(book.sessions.values(), lambda one: (one.client_id, one.peers.client[0])).values():
        for key in sorted(HABITS.keys() & {key for session in sessions for key in session.apis}):
            seen = Occurrences.of(session.used(key).seen for session in sessions)
            lasts = seen.until - seen.since
            if (
                seen.count >= MANY_REPEATED
                and lasts >= SECOND // 2
                and seen.count >= PER_SECOND.get(key, OFTEN_PER_SECOND) * lasts / SECOND
            ):
                first = next(session for session in sessions if session.used(key).seen)
                yield repeated_requests.case(
                    who(first, group=group_of(book, first.client_id)), *extent(seen, "api_key"), weight=1.1,
                    facts={"rate": seen.count * SECOND / lasts, "api": api_name(key), "remedy": HABITS[key]},
                )  # fmt: skip


def mixed_up(session: KafkaConnection) -> bool:
    """Return whether a whole connection has answers to nothing, and requests without an answer."""
    path = session.path
    if path is None or not path.opened or any(way.unseen for way in path.ways) or session.findings.get(Kind.TCP_GAP):
        return False
    if session.findings.get(Kind.OUT_OF_ORDER):
        return True
    return bool(session.unasked or session.findings.get(Kind.UNSOLICITED_RESPONSE)) and session.unanswered_count > 0


@rule(
    "correlation-mismatch-middlebox",
    "connection",
    title="responses with unknown correlation ids",
    sentence="client {client_id} receives {count:response} from broker {broker} with correlation ids that match no "
    "request on that connection, as when a proxy or load balancer mixes up connections",
    advice="Remove the proxy or load balancer, or make it forward each connection unchanged and in order.",
    document="Kafka protocol guide: network, correlation_id",
    alternatives=("a bug in the broker or the client library",),
    explains={"connection-churn"},
)
def correlation_mismatch_middlebox(book: Ledgers) -> Iterator[Case]:
    """Look for such connections, by client and broker."""
    mixed = (session for session in book.sessions.values() if mixed_up(session))
    for sessions in grouped(mixed, lambda one: (one.client_id, one.broker)).values():
        seen = Occurrences.of(session.unasked for session in sessions)
        marks = [*seen.marks, *(one.mark for session in sessions for one in session.unanswered[:2])]
        first = [session.first for session in sessions if session.first is not None]
        yield correlation_mismatch_middlebox.case(
            who(sessions[0]), min(mark.time for mark in (*marks, *first)),
            max(mark.end for mark in (*marks, *first)), max(len(sessions), seen.count),
            evidence(marks or first, "correlation_id"), weight=2.8,
        )  # fmt: skip


def cut_off(session: KafkaConnection) -> Unanswered | None:
    """Return the request at which a broker closed the connection before all of it had come."""
    if session.closed_first != "broker":
        return None
    large = (one for one in session.unanswered if one.size > LIMIT or (one.missing and one.size > LARGE))
    return next(large, None)


@rule(
    "request-exceeds-socket-limit",
    "API versions",
    title="request exceeds socket.request.max.bytes",
    sentence="client {client_id} sends broker {broker} a request of {size:byte} ({api}), and the broker closes the "
    "connection after {came:byte}: the request {probably}exceeds socket.request.max.bytes",
    advice="Lower max.request.size (librdkafka: message.max.bytes) and batch.size on the producer, or raise "
    "socket.request.max.bytes on the broker (default 104857600 bytes).",
    document="Broker configs: socket.request.max.bytes",
    alternatives=("the broker was stopped in the middle of the request",),
    explains={"connection-churn"},
)
def request_exceeds_socket_limit(book: Ledgers) -> Iterator[Case]:
    """Look for large requests that were cut off, by client."""
    cut = ((session, request) for session in book.sessions.values() if (request := cut_off(session)) is not None)
    for (_, key), all in grouped(cut, lambda one: (one[0].client_id, one[1].api_key)).items():
        session, request = max(all, key=lambda one: one[1].size)
        topics = {topic: one.bytes for (number, topic, _), one in book.written.items()
                  if number == session.peers.number}  # fmt: skip
        yield request_exceeds_socket_limit.case(
            who(session, topic=max(topics, key=lambda name: topics[name], default=None)),
            *extent_of_marks([one.mark for _, one in all], "size"), weight=2.5,
            facts={"size": request.size, "came": request.size - request.missing, "api": api_name(key)},
            certainty="certain" if request.size > LIMIT else "likely",
        )  # fmt: skip


def blocked(session: KafkaConnection) -> list[tuple[Slow, Slow]]:
    """Return the answers that waited for another to go first, each with that one."""
    found: list[tuple[Slow, Slow]] = []
    slow = session.slow
    for place, one in enumerate(slow):
        if one.held and one.first - one.start <= one.held + LONG_BLOCK:
            continue  # it waited on purpose
        for other in slow[max(0, place - 32) : place]:
            waited = other.end - one.start
            if other.start < one.start and waited >= LONG_BLOCK and 0 <= one.first - other.end <= RIGHT_AFTER:
                found.append((one, other))
                break
    return found


@rule(
    "head-of-line-blocking",
    "records",
    title="requests blocked by an earlier request",
    sentence="{count:request} of client {client_id} waited up to {longest!d} for an earlier request on the same "
    "connection ({api} after {first}{hold}): a broker responds in request order",
    advice="Use separate connections for long polls and other requests (most clients do), or lower fetch.max.wait.ms "
    "(librdkafka: fetch.wait.max.ms).",
    document="Kafka protocol guide: network",
    severity=Severity.WARNING,
)
def head_of_line_blocking(book: Ledgers) -> Iterator[Case]:
    """Look for connections on which that happens often."""
    for session in book.sessions.values():
        pairs = blocked(session)
        if len(pairs) < OFTEN_BLOCKED:
            continue
        if all(first.api_key == second.api_key for first, second in pairs):
            continue  # a queue of one kind is a slow broker, not the order
        one, other = max(pairs, key=lambda pair: pair[0].first - pair[0].start)
        longest = one.first - one.start
        marks = [mark for first, second in pairs[:3] for mark in (second.mark, first.mark)]
        yield head_of_line_blocking.case(
            who(session), pairs[0][0].start, pairs[-1][0].end, len(pairs), evidence(marks, "latency"), weight=2.0,
            facts={"longest": longest, "api": api_name(one.api_key), "first": api_name(other.api_key),
                   "hold": f", which the broker may hold for {duration(other.held)}" if other.held else ""},
            severity=Severity.WARNING if longest >= WORTH else Severity.NOTE,
        )  # fmt: skip


def read_late(session: KafkaConnection) -> list[Slow]:
    """Return the answers that took long to be taken, as the client's receive window was shut meanwhile.

    A window too small for the next segment is no zero window: then the broker's probes tell, unless segments were lost.
    """
    path = session.path
    if path is None:
        return []
    client, broker = path.ways[session.client_side], path.ways[1 - session.client_side]
    probed = bool(broker.probes) and not any(stall.times > 1 for stall in broker.stalls)
    late = [slow for slow in session.slow if slow.end - slow.first >= LONG_READ]
    return [slow for slow in late if probed or client.shut_between(slow.first, slow.end) >= LONG_READ // 2]


@rule(
    "slow-client",
    "records",
    title="client reads responses slowly",
    sentence="client {client_id} takes up to {longest!d} to read a response to {api} from broker {broker}: its TCP "
    "receive window stays closed meanwhile",
    advice="Find out what keeps client {client_id} from reading its socket: garbage collection, a blocked thread, too "
    "little CPU.",
    document="RFC 9293, section 3.8.6.1",
    explains={"consumer-too-slow", "network-latency"},
    severity=Severity.WARNING,
)
def slow_client(book: Ledgers) -> Iterator[Case]:
    """Look for answers whose last byte came long after the first, by connection."""
    for session in book.sessions.values():
        slow = read_late(session)
        if not slow:
            continue
        worst = max(slow, key=lambda one: one.end - one.first)
        yield slow_client.case(
            who(session, topic=topic_of(book.fetched, session)), slow[0].start, slow[-1].end, len(slow),
            evidence([one.mark for one in slow], "time"), weight=2.2,
            facts={"longest": worst.end - worst.first, "api": api_name(worst.api_key)},
        )  # fmt: skip


@rule(
    "quota-throttled",
    "records",
    title="client exceeds its quota",
    sentence="broker {broker} throttles client {client_id}, {times}, for up to {longest!d} at a time: the client "
    "exceeds a quota",
    advice="Raise the quota of the client or user (producer_byte_rate, consumer_byte_rate, request_percentage), or "
    "reduce the client's load.",
    document="KIP-13, KIP-124, KIP-219",
    explains={"broker-frozen", "slow-follower", "consumer-too-slow", "head-of-line-blocking"},
    severity=Severity.WARNING,
)
def quota_throttled(book: Ledgers) -> Iterator[Case]:
    """Look for clients that were throttled, by client id."""
    throttled = (session for session in book.sessions.values() if session.throttled)
    for sessions in grouped(throttled, lambda one: one.client_id).values():
        seen = Occurrences.of(session.throttled for session in sessions)
        longest = max(session.throttle_ms for session in sessions)
        if longest < SHORTEST_THROTTLE or (seen.count < OFTEN_THROTTLED and longest < LONG_THROTTLE):
            continue
        most = max(sessions, key=lambda one: one.throttled.count)
        yield quota_throttled.case(
            who(most, topic=topic_of((*book.written, *book.fetched), *sessions)), *extent(seen, "throttle_time_ms"),
            facts={"longest": longest * MS}, weight=1.5,
        )  # fmt: skip
