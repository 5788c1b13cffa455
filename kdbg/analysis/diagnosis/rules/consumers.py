"""Consumers: how they fetch, what they cannot read, and whether they keep up."""

from __future__ import annotations

from collections.abc import Iterator

from ....protocol.findings import Severity
from ...ledgers import Ledgers
from ...ledgers.evidence import Occurrences
from ...ledgers.flows import Fetched, Polls
from ...ledgers.groups import Member
from ...ledgers.sessions import KafkaConnection, Slow
from ..case import Case, rule
from ..queries import (
    MS,
    SECOND,
    api_name,
    by_error,
    evidence,
    extent,
    extent_of_marks,
    group_of,
    grouped,
    is_follower,
    sessions_of,
    topic_of,
    who,
    who_in,
)  # fmt: skip
from .positions import PARTIAL

FETCH = 1
SESSION_ERRORS = (70, 71)
"""FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH."""
MANY_EMPTY, PER_SECOND, SHORT_WAIT = 100, 40, 20
OFTEN_REFUSED, MANY_PARTITIONS = 10, 20
OFTEN_OVERSIZED, SMALL_LIMIT = 5, 256 << 10
LARGE_LAG, GROWTH, IDLE, LONG_LAG = 50, 2.0, 0.5, 2 * SECOND
LONG_SILENCE, FEWEST_WRITES = 3 * SECOND, 5
SHORTEST_POLL, SOONER, RIGHT_AFTER = 500 * MS, 50 * MS, 300 * MS
ENDING = SECOND
OFTEN_HELD = 2
OFTEN_GIVEN_UP, ALIKE = 3, 0.3
"""Connections that end so, each after about the same time: once or twice the client may have ended, or moved."""


OFTEN_BROKEN_OFF, AT_ONCE = 3, SECOND
"""Connections that a client closes during a response, and how soon after its first byte."""


def polls_of(book: Ledgers) -> Iterator[tuple[KafkaConnection, Polls]]:
    """Yield the connections on which consumers fetch, with their fetches."""
    return ((book.sessions[number], polls) for number, polls in book.polls.items() if polls.replica < 0)


@rule(
    "busy-fetch-loop",
    "records",
    title="consumer fetches in a busy loop",
    sentence="client {client_id} sends {rate:Fetch request} per second to broker {broker} and receives {count:empty "
    "response}: max_wait_ms is {wait!d}, min_bytes is {min_bytes}",
    advice="Set fetch.max.wait.ms (librdkafka: fetch.wait.max.ms) to 500 and fetch.min.bytes to 1, their defaults.",
    document="Consumer configs: fetch.max.wait.ms",
    severity=Severity.WARNING,
)
def busy_fetch_loop(book: Ledgers) -> Iterator[Case]:
    """Look for clients whose fetches are mostly empty, come fast, and allow no waiting."""
    hasty = ((session, polls) for session, polls in polls_of(book)
             if polls.max_wait_ms <= SHORT_WAIT or polls.min_bytes == 0)  # fmt: skip
    for all in grouped(hasty, lambda one: one[0].client_id).values():
        requests = Occurrences.of(polls.requests for _, polls in all)
        empty = Occurrences.of(polls.empty for _, polls in all)
        rate = requests.count / max((requests.until - requests.since) / SECOND, 0.5)
        if empty.count < MANY_EMPTY or empty.count < 0.5 * requests.count or rate < PER_SECOND:
            continue
        session, polls = all[0]
        yield busy_fetch_loop.case(
            who(session, topic=topic_of(book.fetched, session)), *extent(empty, "max_wait_ms", "min_bytes"),
            facts={"rate": rate, "wait": polls.max_wait_ms * MS, "min_bytes": polls.min_bytes}, weight=1.2,
        )  # fmt: skip


@rule(
    "fetch-sessions-unavailable",
    "records",
    title="no fetch session available",
    sentence="client {client_id} requests a fetch session from broker {broker} and gets none, {times}: every Fetch "
    "request lists {partitions:partition}",
    advice="Raise max.incremental.fetch.session.cache.slots on the broker, or find out which clients use the slots.",
    document="KIP-227",
    severity=Severity.WARNING,
)
def fetch_sessions_unavailable(book: Ledgers) -> Iterator[Case]:
    """Look for consumers that are refused a session again and again, or lose it."""
    for all in grouped(polls_of(book), lambda one: one[0].client_id).values():
        lost = Occurrences.of(polls.session_errors[code] for _, polls in all for code in SESSION_ERRORS
                              if code in polls.session_errors)  # fmt: skip
        often = lost.count >= OFTEN_REFUSED
        seen = lost if often else Occurrences.of(polls.full_sessions for _, polls in all)
        if seen.count < OFTEN_REFUSED:
            continue
        partitions = max(polls.partitions for _, polls in all)
        yield fetch_sessions_unavailable.case(
            who(all[0][0]), *extent(seen, "session_id", "session_epoch"), facts={"partitions": partitions},
            severity=Severity.WARNING if often or partitions >= MANY_PARTITIONS else Severity.NOTE,
        )  # fmt: skip


@rule(
    "fetch-size-too-small",
    "records",
    title="fetch size smaller than a batch",
    sentence="client {client_id} fetches at most {limit:byte} per partition of topic {topic}, and batches are larger: "
    "{what}, {times}",
    advice="Raise max.partition.fetch.bytes (librdkafka: fetch.message.max.bytes) above the batch size; the default "
    "is 1048576 bytes. With Fetch v2 and older a consumer cannot get past such a batch.",
    document="KIP-74",
    severity=Severity.WARNING,
)
def fetch_size_too_small(book: Ledgers) -> Iterator[Case]:
    """Look for partitions of which fetches bring more than was asked for, most of the time."""
    told = set[tuple[str, str]]()
    for (number, topic, partition), fetched in book.fetched.items():
        session = book.sessions[number]
        if (session.client_id, topic) in told or is_follower(book, number):
            continue
        data, over = fetched.with_data.count, fetched.oversized.count
        partial = session.used(FETCH).versions.keys() <= PARTIAL and fetched.stuck.count >= OFTEN_OVERSIZED
        if not partial and (over < OFTEN_OVERSIZED or over < 0.5 * data or fetched.limit > SMALL_LIMIT):
            continue
        told.add((session.client_id, topic))
        yield fetch_size_too_small.case(
            who(session, topic=topic, partition=partition),
            *extent(fetched.stuck if partial else fetched.oversized, "partition_max_bytes"),
            facts={"limit": fetched.limit,
                   "what": "no response contains a complete batch" if partial else "every response contains one batch"},
            severity=Severity.ERROR if partial else Severity.WARNING,
        )  # fmt: skip


@rule(
    "fetch-min-bytes-too-large",
    "records",
    title="records wait for fetch.min.bytes",
    sentence="client {client_id} sets fetch.min.bytes to {least}, so broker {broker} held {count:response} with "
    "records for all of fetch.max.wait.ms ({wait!d})",
    advice="Lower fetch.min.bytes (default 1) or fetch.max.wait.ms, unless this delay is intended.",
    document="Consumer configs: fetch.min.bytes",
    alternatives=("the delay is accepted deliberately, for fewer requests",),
    severity=Severity.WARNING,
)
def fetch_min_bytes_too_large(book: Ledgers) -> Iterator[Case]:
    """Look for responses with records that the broker held back for the whole of a long wait."""
    for session, polls in polls_of(book):
        if polls.held.count >= OFTEN_HELD and polls.max_wait_ms * MS >= SECOND:
            yield fetch_min_bytes_too_large.case(
                who(session, topic=topic_of(book.fetched, session)), *extent(polls.held, "min_bytes", "max_wait_ms"),
                {"least": polls.min_bytes, "wait": polls.max_wait_ms * MS}, weight=1.3,
            )  # fmt: skip


codec_unsupported = by_error(
    "codec-unsupported",
    "records",
    title="client too old for the compression codec",
    sentence="client {client_id} gets UNSUPPORTED_COMPRESSION_TYPE for topic {topic}, {times}: its version of the "
    "request cannot carry zstd, so it never gets past these records",
    advice="Upgrade client {client_id} to one that uses Fetch v10 and Produce v7 (Kafka 2.1) or later, or set "
    "compression.type of topic {topic} to another codec.",
    document="KIP-110",
    errors=(76,),  # UNSUPPORTED_COMPRESSION_TYPE
    weight=2.5,
)


down_conversion_disabled = by_error(
    "down-conversion-disabled",
    "records",
    title="broker does not convert records",
    sentence="client {client_id} fetches topic {topic} with an old version of Fetch, and broker {broker} does not "
    "convert the records to its format: UNSUPPORTED_VERSION, {times}",
    advice="Upgrade client {client_id}, or set message.downconversion.enable=true for topic {topic} (brokers before "
    "4.0).",
    document="KIP-283",
    errors=(35,),  # UNSUPPORTED_VERSION
    apis=(FETCH,),
    weight=2.8,
    explains={"api-version-unsupported"},
)


def lags(fetched: Fetched) -> tuple[int, int, int, int] | None:
    """Return the lag at the beginning and at the end, in offsets, and when these were; None where it does not grow."""
    samples = fetched.samples
    first, last = samples.first, samples.last
    if first is None or last is None or last.time - first.time < LONG_LAG or len(samples.found) < 3:
        return None
    middle = samples.found[len(samples.found) // 2]
    before, then, now = (one.high_watermark - one.offset for one in (first, middle, last))
    if now < LARGE_LAG or now < GROWTH * max(before, 1) or not before <= then <= now:
        return None
    return before, now, first.time, last.time


@rule(
    "consumer-too-slow",
    "records",
    title="consumer lag grows",
    sentence="the lag of client {client_id} on topic {topic} grew from {before:,} to {now:record}, and {idle:.0%} of "
    "the time no Fetch request was in flight: the client {probably}processes records too slowly",
    advice="Find out what slows down the processing between two polls. Process records in batches or threads, or add "
    "consumers, up to the number of partitions.",
    document="Kafka documentation, Monitoring: consumer lag",
    alternatives=("the consumer is paused deliberately",),
    severity=Severity.WARNING,
)
def consumer_too_slow(book: Ledgers) -> Iterator[Case]:
    """Look for partitions whose lag grows while their consumer pauses between fetches."""
    told = set[tuple[str, str]]()
    for (number, topic, partition), fetched in book.fetched.items():
        session, polls, grown = book.sessions[number], book.polls.get(number), lags(fetched)
        if grown is None or polls is None or polls.replica >= 0 or (session.client_id, topic) in told:
            continue
        before, now, since, until = grown
        idle = polls.idle / max(until - since, 1)
        if idle < IDLE:
            continue
        told.add((session.client_id, topic))
        yield consumer_too_slow.case(
            who(session, topic=topic, partition=partition, group=group_of(book, session.client_id)), since, until,
            fetched.requests.count, evidence(fetched.requests, "high_watermark", "fetch_offset"),
            facts={"before": before, "now": now, "idle": min(idle, 1.0)}, certainty="likely", weight=1.5,
        )  # fmt: skip


def last_fetch(book: Ledgers, member: Member, topic: str) -> int | None:
    """Return when a member's client fetched last from a topic; None where it never did, or fetched others later."""
    since = max(
        (fetched.requests.until for (number, name, _), fetched in book.fetched.items()
         if name == topic and book.sessions[number].client_id == member.client_id),
        default=None,
    )  # fmt: skip
    later = since is not None and any(
        polls.times and polls.times[-1] > since and book.sessions[number].client_id == member.client_id
        for number, polls in book.polls.items()
    )
    return None if later else since


@rule(
    "consumer-paused",
    "records",
    title="consumer sends heartbeats but does not fetch",
    sentence="client {client_id} owns partitions of topic {topic} in group {group} and sends heartbeats, but has sent "
    "no Fetch request for {silent!d}, while {count:Produce request} wrote to the topic: the consumer is "
    "{probably}paused",
    advice="Check whether the consumer calls pause() without resume(), or its poll loop is stuck; a stuck loop ends "
    "the membership when max.poll.interval.ms expires.",
    document="KIP-62; Consumer API: pause, resume",
    alternatives=("the poll loop is stuck, but max.poll.interval.ms has not expired yet",),
    explains={"consumer-too-slow"},
    severity=Severity.WARNING,
)
def consumer_paused(book: Ledgers) -> Iterator[Case]:
    """Look for assigned topics that are written to and not fetched from, to the end, by members that live."""
    for group in book.groups.values():
        for member in group.known_members():
            if not member.assigned or not member.beats:
                continue
            for topic in member.assigned:
                since = last_fetch(book, member, topic)
                if since is None or member.beats.until - since < LONG_SILENCE:
                    continue
                written = sum(
                    one.requests.count for (_, name, _), one in book.written.items()
                    if name == topic and one.requests.until > since
                )  # fmt: skip
                if written < FEWEST_WRITES:
                    continue
                yield consumer_paused.case(
                    who_in(group, member, topic=topic), since, member.beats.until, written,
                    evidence(member.beats, "assignment"), facts={"silent": member.beats.until - since},
                    certainty="likely", weight=1.6,
                )  # fmt: skip


def is_over(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether a client ended when a connection did: each of its others that was open closed at that time."""
    if session.path is None or not session.path.closes:
        return False
    closed = session.path.closes[0].time
    others = [
        one.path for one in sessions_of(book, session.client_id)
        if one is not session and one.path is not None and one.path.start < closed
        and not any(end.time < closed - ENDING for end in one.path.closes)
    ]  # fmt: skip
    return bool(others) and all(path.closes and path.closes[0].time < closed + ENDING for path in others)


def given_up(session: KafkaConnection) -> tuple[Slow, int] | None:
    """Return the long poll that a client gave up, and after how many nanoseconds; None where it gave up none.

    It closed the connection before the response, or right after it: then it had sent another request meanwhile, and
    takes the late response for that one's.
    """
    path = session.path
    if path is None or not path.closes or session.closed_first != "client":
        return None
    closed = path.closes[0].time
    for slow in reversed(session.slow):
        if slow.held < SHORTEST_POLL:
            continue
        asked_more = slow.start + SOONER < session.last_asked < slow.first
        mistaken = asked_more and 0 <= closed - slow.end < RIGHT_AFTER
        if mistaken or slow.start + SOONER < closed < slow.first:
            return slow, (session.last_asked if asked_more else closed) - slow.start
    return None


@rule(
    "client-timeout-below-max-wait",
    "records",
    title="client timeout shorter than fetch.max.wait.ms",
    sentence="client {client_id} lets the broker hold a Fetch request for {wait!d} but times out after {patience!d}, "
    "{times}: the response reaches a closed connection or is mistaken for that of the next request",
    advice="Set request.timeout.ms (librdkafka: socket.timeout.ms) above fetch.max.wait.ms (librdkafka: "
    "fetch.wait.max.ms), and have the client close the connection after a timeout.",
    document="Consumer configs: request.timeout.ms, fetch.max.wait.ms",
    explains={"connection-churn", "head-of-line-blocking", "correlation-mismatch-middlebox", "poison-record"},
)
def client_timeout_below_max_wait(book: Ledgers) -> Iterator[Case]:
    """Look for connections that end so, by client."""
    ended = ((session, given) for number, session in book.sessions.items()
             if not is_follower(book, number) and (given := given_up(session)) is not None
             and not is_over(book, session))  # fmt: skip
    for all in grouped(ended, lambda one: one[0].client_id).values():
        waits = sorted(wait for _, (_, wait) in all)
        usual = waits[len(waits) // 2]
        if sum(abs(wait - usual) <= ALIKE * usual for wait in waits) < OFTEN_GIVEN_UP:
            continue
        session, (slow, _) = all[0]
        seen = Occurrences(one.mark for _, (one, _) in all)
        yield client_timeout_below_max_wait.case(
            who(session, topic=topic_of(book.fetched, session)), *extent(seen, "max_wait_ms"),
            facts={"wait": slow.held, "patience": usual}, weight=2.4,
        )  # fmt: skip


@rule(
    "response-exceeds-client-limit",
    "records",
    title="response too large for its client",
    sentence="client {client_id} closes its connection at once when broker {broker} begins a {api} response of "
    "{size:byte}, {times}; the largest that it takes has {largest:byte}: a limit of the client is {probably}lower",
    advice="Raise the limit of the client (librdkafka: receive.message.max.bytes), or lower fetch.max.bytes and "
    "max.partition.fetch.bytes.",
    document="Consumer configs: fetch.max.bytes",
    alternatives=("the client fails on the first bytes of the response",),
    explains={"connection-churn", "no-response"},
)
def response_exceeds_client_limit(book: Ledgers) -> Iterator[Case]:
    """Look for clients that close while a response arrives that is larger than any that they took."""
    ended = (one for one in book.sessions.values() if one.broken_off is not None and one.closed_first == "client")
    for sessions in grouped(ended, lambda one: (one.client_id, one.peers.client[0], one.broker)).values():
        broken = [
            one.broken_off
            for one in sessions
            if one.broken_off is not None and one.path is not None
            and one.path.closes[0].time - one.broken_off.begun < AT_ONCE
        ]  # fmt: skip
        largest = max(one.largest for one in sessions_of(book, sessions[0].client_id))
        if len(broken) >= OFTEN_BROKEN_OFF and largest < min(one.size for one in broken):
            yield response_exceeds_client_limit.case(
                who(sessions[0], topic=topic_of(book.fetched, *sessions_of(book, sessions[0].client_id))),
                *extent_of_marks([one.mark for one in broken]), certainty="likely", weight=2.6,
                facts={"api": api_name(broken[0].api_key), "size": broken[0].size, "largest": largest},
            )  # fmt: skip
