"""Producers: how they write, and what brokers reject of it."""

from __future__ import annotations

from collections.abc import Iterator

from ....exchanges.messages.peers import End
from ....protocol.findings import Kind, Severity
from ....protocol.grammars.errors import error_name
from ...ledgers import Ledgers
from ...ledgers.evidence import Occurrences
from ...ledgers.flows import PartitionWrites
from ...ledgers.sessions import KafkaConnection
from ..case import Case, rule
from ..queries import (
    MS,
    SECOND,
    by_error,
    evidence,
    extent,
    extent_of_marks,
    failures,
    grouped,
    is_follower,
    session_of,
    sessions_of,
    topic_of,
    who,
)
from ..text import named

PRODUCE, FETCH = 0, 1
CORRUPT_MESSAGE, OUT_OF_ORDER_SEQUENCE_NUMBER = 2, 45
FEWEST_PARTITIONS, MANY_RECORDS, MANY_BATCHES, SHARE = 3, 100, 20, 0.75
OF_RECORDS = (Kind.CRC_MISMATCH, Kind.DECOMPRESSION_FAILED, Kind.MALFORMED_RECORD_SET, Kind.ENCODING_MISTAKE)
MANY_SINGLES, PER_SECOND, NEARLY_ALL = 200, 200, 0.95
MANY_ALONE, WAITS = 50, 0.5
"""Batches of single records, and the share of the time that a client waits for responses to them."""
FEWEST_TIMED, SKEWED = 3, 60 * SECOND
MANY_LOOPED, LOOPS_PER_SECOND = 20, 5


def cut_off(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether a broker closed this connection, and none of another client at the time."""
    path = session.path
    if path is None or session.closed_first != "broker":
        return False
    when = path.closes[0].time
    return not any(
        other is not session and other.broker == session.broker and other.closed_first == "broker"
        and other.client_id != session.client_id
        and other.path is not None and abs(other.path.closes[0].time - when) < SECOND
        for other in book.sessions.values()
    )  # fmt: skip


@rule(
    "acks0-silent-loss",
    "records",
    title="Produce requests with acks=0 fail silently",
    sentence="broker {broker} closes the connection of client {client_id} after a Produce request with acks=0 to "
    "topic {topic} (led by {leaders}), {times}: the request {probably}failed, and with acks=0 the broker sends no "
    "error",
    advice="Set acks=all or acks=1 on the producer: it then receives the error, refreshes its metadata and retries on "
    "the new leader.",
    document="KIP-679; Producer configs: acks",
    alternatives=("the broker closed an idle connection (connections.max.idle.ms)",),
    explains={"stale-leader", "connection-churn"},
)
def acks0_silent_loss(book: Ledgers) -> Iterator[Case]:
    """Look for connections that write with acks=0 and are closed by the broker after a Produce."""
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
        yield acks0_silent_loss.case(
            who(sessions[0], topic=topic), *extent_of_marks(marks, "acks"), facts={"leaders": led_by(book, topic)},
            certainty="certain" if len(sessions) > 1 else "likely", weight=2.5,
        )  # fmt: skip


def led_by(book: Ledgers, topic: str) -> str:
    """Return the leaders of a topic's partitions, as metadata names them."""
    known = book.clusters.topics.get(topic)
    nodes = {led[-1].leader for led in known.partitions.values()} if known is not None else set()
    return named("broker", sorted(nodes))


@rule(
    "corrupt-batch",
    "records",
    title="record batch is corrupt",
    sentence="client {client_id} {how} a record batch of topic {topic} that fails its CRC check, {times}",
    advice="Check every component that handles the batch: the client library (CRC-32C from the attributes field on), "
    "proxies, memory and disks. Another replica may have an intact copy.",
    document="Kafka protocol guide: record batch",
)
def corrupt_batch(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic, and for batches that are damaged where they are fetched."""
    for one in failures(book, (CORRUPT_MESSAGE,), (PRODUCE,)):
        found = corrupt_batch if any(session.findings.get(kind) for session in sessions_of(book, one.client_id)
                                     for kind in OF_RECORDS) else _intact  # fmt: skip
        yield found.case(
            who(one.session, topic=one.subject or None), *extent(one.seen, "error_code"), {"how": "writes"}, weight=2.5
        )
    for session in book.sessions.values():
        damaged = session.findings.get(Kind.CRC_MISMATCH)
        if damaged is None or not session.used(FETCH).seen or session.used(PRODUCE).seen:
            continue
        topic = topic_of((key for key, one in book.fetched.items() if one.with_data), session)
        yield corrupt_batch.case(who(session, topic=topic), *extent(damaged, "crc"), {"how": "fetches"}, weight=2.5)


_intact = corrupt_batch._replace(
    sentence="broker {broker} rejects record batches of client {client_id} for topic {topic} with CORRUPT_MESSAGE, "
    "{times}, although their checksums and lengths are correct",
    advice="Check the broker's log for its reason: brokers other than Apache Kafka use the code for other errors too.",
)


@rule(
    "hot-partition",
    "records",
    title="one partition receives nearly all records",
    sentence="client {client_id} writes {share:.0%} of its {total:record} for topic {topic} to partition {partition}, "
    "one of {partitions:partition}",
    advice="Choose a key with more distinct values.",
    document="KIP-480, KIP-794",
    alternatives=("the partition is chosen deliberately",),
    severity=Severity.WARNING,
)
def hot_partition(book: Ledgers) -> Iterator[Case]:
    """Look for topics of several partitions of which one gets nearly all that a client writes."""
    found: dict[tuple[str, str], dict[int, list[PartitionWrites]]] = {}
    for (number, topic, partition), written in book.written.items():
        client = book.sessions[number].client_id
        found.setdefault((client, topic), {}).setdefault(partition, []).append(written)
    for (client, topic), by_partition in found.items():
        known = book.clusters.topics.get(topic)
        partitions = max(len(known.partitions) if known is not None else 0, len(by_partition))
        records = {number: sum(one.records for one in all) for number, all in by_partition.items()}
        total, hot = sum(records.values()), max(records, key=lambda number: records[number])
        batches = sum(one.batches for one in by_partition[hot])
        share = records[hot] / total if total else 0.0
        if partitions < FEWEST_PARTITIONS or total < MANY_RECORDS or batches < MANY_BATCHES or share < SHARE:
            continue
        if any(one.keyless for one in by_partition[hot]):
            continue  # the partitioner chose the partition, batch by batch
        seen = Occurrences.of(one.requests for one in by_partition[hot])
        yield hot_partition.case(
            who(session_of(book, client), topic=topic, partition=hot), seen.since, seen.until, records[hot],
            evidence(seen, "partition_data.index", "records_count"),
            facts={"share": share, "total": total, "partitions": partitions},
        )  # fmt: skip


def on_the_way(book: Ledgers, client: str, seen: Occurrences) -> int:
    """Return how long responses and requests were between the capture and the client, by its handshake, in sum."""
    path = next((one.path for one in sessions_of(book, client) if PRODUCE in one.apis), None)
    if path is None or path.established is None or path.answered is None:
        return 0
    return (path.established - path.answered) * seen.count


@rule(
    "unbatched-producer",
    "records",
    title="producer does not batch",
    sentence="client {client_id} writes {count:batch} with one record each to topic {topic} ({rate:,.0f} per second, "
    "{codec})",
    advice="Set linger.ms to 5 or more, leave batch.size (librdkafka: batch.num.messages) at its default, and do not "
    "flush after every record. Larger batches also compress better.",
    document="Producer configs: linger.ms, batch.size",
    severity=Severity.WARNING,
)
def unbatched_producer(book: Ledgers) -> Iterator[Case]:
    """Look for clients that write many batches of one record at a high rate."""
    for (client, topic), all in book.writes_by_client().items():
        batches, singles = sum([one.batches for one in all]), sum([one.singles for one in all])
        if batches < MANY_SINGLES or singles < NEARLY_ALL * batches:
            continue
        seen = Occurrences.of(one.requests for one in all)
        rate = seen.count / max((seen.until - seen.since) / SECOND, 0.1)
        if rate < PER_SECOND:
            continue
        plain = sum(one.uncompressed for one in all) == batches
        yield unbatched_producer.case(
            who(session_of(book, client), topic=topic), seen.since, seen.until, batches,
            evidence(seen, "records_count"), facts={"rate": rate, "codec": "uncompressed" if plain else "compressed"},
        )  # fmt: skip


@rule(
    "synchronous-producer",
    "records",
    title="producer waits for each record",
    sentence="client {client_id} writes {count:record} one by one to topic {topic}, and waits for each response: at "
    "{latency!d} per response, its limit is {rate:record} per second",
    advice="Remove the wait after each record (Java: get() on the future; librdkafka: flush()), and check results in "
    "the callback. Set linger.ms to 5 or more.",
    document="Producer API: send",
    severity=Severity.WARNING,
)
def synchronous_producer(book: Ledgers) -> Iterator[Case]:
    """Look for clients that write single records one after another, and mostly wait for responses."""
    for (client, topic), all in book.writes_by_client().items():
        batches = sum([one.batches for one in all])
        if batches < MANY_ALONE or sum([one.singles for one in all]) < NEARLY_ALL * batches:
            continue
        seen = Occurrences.of(one.requests for one in all)
        lasts, waited = seen.until - seen.since, sum(one.waited for one in all) + on_the_way(book, client, seen)
        rate = batches * SECOND / max(lasts, 1)
        if rate >= PER_SECOND:
            continue
        longest = max(one.longest for one in all)  # may be of a broker that was down
        if WAITS <= (waited - longest) / max(lasts - longest, 1) <= 1:
            yield synchronous_producer.case(
                who(session_of(book, client), topic=topic), seen.since, seen.until, batches,
                evidence(seen, "records_count", "latency"),
                facts={"rate": rate, "latency": waited // batches},
            )  # fmt: skip


def in_time(book: Ledgers) -> dict[End, set[str]]:
    """Return the clients of brokers that write timestamps which fit the clock of the capture."""
    found: dict[End, set[str]] = {}
    for (number, _, _), one in book.written.items():
        if max(abs(one.oldest), abs(one.newest)) * MS < SKEWED:
            found.setdefault(book.sessions[number].broker, set()).add(book.sessions[number].client_id)
    return found


@rule(
    "clock-skew",
    "records",
    title="clock of a producer is wrong",
    sentence="client {client_id} writes records to topic {topic} whose timestamps are always {amount!d} {direction} "
    "the time of the capture: the clock of host {host} is {probably}wrong",
    advice="Correct the clock of host {host} (NTP). Wrong timestamps mislead retention, time indexes and windows.",
    document="KIP-32",
    alternatives=("a replication tool copies records with a constant delay", "the clock of the capture is wrong"),
    severity=Severity.WARNING,
)
def clock_skew(book: Ledgers) -> Iterator[Case]:
    """Look for clients whose records all have timestamps that differ from their packets' by the same time."""
    right = in_time(book)
    for (client, topic), all in book.writes_by_client().items():
        oldest, newest = max([one.oldest for one in all]), min([one.newest for one in all])
        least = min(abs(oldest), abs(newest))
        if least * MS < SKEWED or (oldest < 0) != (newest < 0) or sum([one.batches for one in all]) < FEWEST_TIMED:
            continue
        seen = Occurrences.of(one.requests for one in all)
        lasts = seen.until - seen.since
        if seen.since and lasts >= SECOND and (oldest - newest) * MS < lasts / 2:
            yield clock_skew.case(
                who(session_of(book, client), topic=topic), *extent(seen, "max_timestamp"),
                certainty="likely" if any(right.get(one.broker, set()) - {client} for one in sessions_of(book, client))
                else "guess",
                facts={"amount": least * MS, "direction": "before" if oldest > 0 else "after"}, weight=1.2,
            )  # fmt: skip


@rule(
    "feedback-loop",
    "records",
    title="client reads what it writes",
    sentence="client {client_id} writes {written:record} to topic {topic} after it read {count:record} from it: each "
    "record that it reads {probably}leads to another one, without end",
    advice="Set another topic for the output of client {client_id}.",
    document="Kafka documentation, Design: Message Delivery Semantics",
    alternatives=("the client retries records through their own topic, a limited number of times",),
    severity=Severity.WARNING,
)
def feedback_loop(book: Ledgers) -> Iterator[Case]:
    """Look for clients that write as many records to a topic as they read from it, and read first."""
    consumed = (item for item in book.fetched.items() if item[1].with_data and not is_follower(book, item[0][0]))
    by_client = grouped(consumed, lambda item: (book.sessions[item[0][0]].client_id, item[0][1]))
    for (client, topic), reads in by_client.items():
        all = book.writes_by_client().get((client, topic), ())
        host = next((one.peers.client[0] for one in sessions_of(book, client)), None)
        read = [one for (number, _, _), one in reads
                if book.sessions[number].peers.client[0] == host]  # fmt: skip
        records, written = sum(one.records for one in read), sum(one.records for one in all)
        seen, first = Occurrences.of(one.requests for one in all), min((one.with_data.since for one in read), default=0)
        fast = seen.count >= LOOPS_PER_SECOND * (seen.until - seen.since) / SECOND
        if fast and records >= MANY_LOOPED and 0.8 * records <= written <= 1.25 * records and first < seen.since:
            yield feedback_loop.case(
                who(session_of(book, client), topic=topic), seen.since, seen.until, records,
                evidence(seen, "records"), {"written": written}, certainty="likely", weight=1.6,
            )  # fmt: skip


@rule(
    "producer-sequence-gap",
    "records",
    title="gap in producer sequence numbers",
    sentence="broker {broker} rejects a batch of client {client_id} for topic {topic} with "
    "OUT_OF_ORDER_SEQUENCE_NUMBER, {times}: {gap}",
    advice="Find out where the client loses a batch: a failed batch without a retry, or "
    "max.in.flight.requests.per.connection (librdkafka: max.in.flight) above 5. Restart it with a new producer id.",
    document="KIP-98, KIP-360",
    alternatives=("the broker lost written records (unclean leader election)",),
)
def producer_sequence_gap(book: Ledgers) -> Iterator[Case]:
    """Look for the error, and for the number that is missing."""
    for one in failures(book, (OUT_OF_ORDER_SEQUENCE_NUMBER,), (PRODUCE,)):
        gaps = [
            gap
            for producer in book.producers.by_id.values()
            for gap in producer.gaps
            if gap.topic == one.subject and producer.client_id == one.client_id
        ]
        said = (
            f"the sequence number on partition {gaps[0].partition} is {gaps[0].found}, expected {gaps[0].expected}"
            if gaps
            else "the batch before it is not in the capture"
        )
        yield producer_sequence_gap.case(
            who(one.session, topic=one.subject), *extent(one.seen, "base_sequence", "error_code"),
            facts={"gap": said}, weight=2.5,
        )  # fmt: skip


message_too_large = by_error(
    "message-too-large",
    "records",
    title="batch exceeds max.message.bytes",
    sentence="broker {broker} rejects a batch of client {client_id} with {name}, {times}: the batch exceeds "
    "max.message.bytes of topic {topic} (the largest request has {size:byte})",
    advice="Raise max.message.bytes on topic {topic} and replica.fetch.max.bytes on the brokers, or send smaller "
    "batches: lower max.request.size (librdkafka: message.max.bytes), set compression.type.",
    document="Topic configs: max.message.bytes",
    errors=(10, 18),  # MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE
    apis=(0,),
    facts=lambda book, one: {"size": one.session.used(PRODUCE).size, "name": error_name(one.code)},
)


invalid_record = by_error(
    "invalid-record",
    "records",
    title="topic rejects a record",
    sentence="broker {broker} rejects records of client {client_id} for topic {topic}: INVALID_RECORD, {times}",
    advice="Check error_message and record_errors in the response. If topic {topic} has cleanup.policy=compact, give "
    "every record a key.",
    document="KIP-467",
    errors=(87,),  # INVALID_RECORD
    apis=(0,),
)


invalid_timestamp = by_error(
    "invalid-timestamp",
    "records",
    title="broker rejects record timestamps",
    sentence="broker {broker} rejects record timestamps of client {client_id} for topic {topic}: INVALID_TIMESTAMP, "
    "{times}",
    advice="Check the clock of client {client_id} and the unit of its timestamps (milliseconds), or raise "
    "message.timestamp.before.max.ms and message.timestamp.after.max.ms on the topic.",
    document="KIP-937",
    errors=(32,),  # INVALID_TIMESTAMP
    apis=(0,),
)
