"""Topics and their partitions: those that do not exist, have no leader, or are looked for in the wrong place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....exchanges.messages.peers import endpoint
from ....protocol.findings import Severity
from ....protocol.grammars.errors import error_name
from ...ledgers import Ledgers
from ...ledgers.clusters import Topic
from ...ledgers.evidence import Occurrences
from ...ledgers.sessions import KafkaConnection
from ..case import Case, Who, rule
from ..queries import SECOND, Failures, evidence, extent, failures, is_follower, session_of, who
from ..text import UNKNOWN, named

UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_ID = 3, 5, 100
OLD_LEADER = (6, 74)
"""NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH."""
ASKING = (0, 1, 2, 3, 9, 23)
"""Produce, Fetch, ListOffsets, Metadata, OffsetFetch, OffsetForLeaderEpoch."""
OFTEN_UNKNOWN = 3
OFTEN_OFFLINE, LONG_OFFLINE = 4, 2 * SECOND
OFTEN_STALE = 8
REFRESHES = 0.25
"""Requests for metadata to an error, at most, of a client that does not look who leads."""
CLOSE = 2
"""Letters in which two names differ that are nearly the same."""
SHORTEST = 4


@rule(
    "unknown-topic",
    "metadata",
    title="topic does not exist",
    sentence="client {client_id} requests topic {topic}, which broker {broker} reports as unknown, {times}",
    advice="Check the topic name and that bootstrap.servers points to the right cluster, or create the topic; until "
    "then the client retries.",
    document="Kafka protocol guide: Metadata",
    alternatives=(
        "the client is connected to the wrong cluster",
        "the topic was deleted",
        "the client is not authorized to describe the topic",
    ),
)
def unknown_topic(book: Ledgers) -> Iterator[Case]:
    """Look for topics that were asked for again and again and never there."""
    for one in failures(book, (UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID), ASKING):
        topic = book.clusters.topics.get(one.subject)
        if topic is not None and topic.found and (
            topic.found.until >= one.seen.until or (one.code == UNKNOWN_TOPIC_ID and not topic.errors)
        ):  # fmt: skip
            continue  # it was found later, or the broker does not know the id that it gave
        often = one.seen.count >= OFTEN_UNKNOWN
        yield unknown_topic.case(
            who(one.session, topic=one.subject or None), *extent(one.seen, "error_code"),
            weight=2.0 if often else 1.0, severity=Severity.ERROR if often else Severity.WARNING,
        )  # fmt: skip


@rule(
    "partition-offline",
    "metadata",
    title="partition has no leader",
    sentence="topic {topic} has no leader for {partitions}: broker {broker} responds with LEADER_NOT_AVAILABLE, "
    "{times}, and client {client_id} can neither write nor read there",
    advice="Restart a broker with an in-sync replica. unclean.leader.election.enable=true elects another replica, but "
    "loses the records that only the missing broker has.",
    document="Kafka documentation, Replication: unclean leader election",
)
def partition_offline(book: Ledgers) -> Iterator[Case]:
    """Look for partitions that metadata says to have no leader, to the end of the capture."""
    for one in failures(book, (LEADER_NOT_AVAILABLE,)):
        topic = book.clusters.topics.get(one.subject)
        headless = [number for number, led in topic.partitions.items() if led[-1].leader < 0] if topic else []
        lasting = one.seen.until - one.seen.since >= LONG_OFFLINE and one.seen.count >= OFTEN_OFFLINE
        if not lasting or (topic is not None and not headless):
            continue
        yield partition_offline.case(
            who(one.session, topic=one.subject or None, partition=headless[0] if headless else None),
            *extent(one.seen, "leader_id", "isr_nodes", "offline_replicas"),
            facts={"partitions": named("partition", headless)}, weight=2.5,
        )  # fmt: skip


@rule(
    "stale-leader",
    "metadata",
    title="client keeps using the old leader",
    sentence="client {client_id} sends requests for topic {topic} to broker {broker}, which is not the leader "
    "({current} is): the client receives {error} {times} and sends {asked:Metadata request}",
    advice="Upgrade or fix the client: after NOT_LEADER_OR_FOLLOWER it must refresh its metadata and send to the new "
    "leader.",
    document="Kafka protocol guide: Metadata",
    alternatives=("the metadata came from a broker that is out of date itself",),
)
def stale_leader(book: Ledgers) -> Iterator[Case]:
    """Look for many such errors to a client that asks for metadata seldom, or never."""
    for one in failures(book, OLD_LEADER, (0, 1, 2)):
        times = book.clusters.refreshed.get(one.client_id) or ()
        asked = sum(one.seen.since <= time <= one.seen.until for time in times)
        if one.client_id.startswith("broker-") or one.seen.count < OFTEN_STALE or asked > REFRESHES * one.seen.count:
            continue
        yield stale_leader.case(
            who(one.session, topic=one.subject, partition=one.partitions[0] if one.partitions else None),
            *extent(one.seen, "error_code"), weight=2.2,
            facts={"asked": asked, "current": leader_since(book, one), "error": error_name(one.code)},
        )  # fmt: skip


def leader_since(book: Ledgers, one: Failures) -> str:
    """Return who leads a partition since the first error: who takes what others write, or who metadata names."""
    number = one.partitions[0] if one.partitions else -1
    for (connection, topic, partition), written in book.written.items():
        session = book.sessions[connection]
        if (topic, partition) != (one.subject, number) or session.broker == one.session.broker:
            continue
        refused = sum(seen.count for seen in written.errors.values())
        if written.requests.until > one.seen.since and written.requests.count > refused:
            return f"broker {endpoint(session.broker)}"
    known = book.clusters.topics.get(one.subject)
    led = known.partitions.get(number) if known is not None else None
    node = book.clusters.node(led[-1].leader, one.session.broker) if led and led[-1].time > one.seen.since else None
    return f"broker {node[0]}:{node[1]}" if node is not None else "another broker"


@rule(
    "mistyped-topic-auto-created",
    "metadata",
    title="mistyped topic name was auto-created",
    sentence="client {client_id} requested topic {topic}, which did not exist, and the broker created it: the name is "
    "{probably}a misspelling of topic {other}",
    advice="Correct the topic name in client {client_id}, delete topic {topic}, and set "
    "auto.create.topics.enable=false on the brokers (or allow.auto.create.topics=false on the client).",
    document="KIP-361, KIP-487",
    alternatives=("both topics are intended",),
    severity=Severity.WARNING,
)
def mistyped_topic_auto_created(book: Ledgers) -> Iterator[Case]:
    """Look for topics that appear when they are asked for, beside others of nearly the same name."""
    all = list(book.clusters.topics.values())
    for topic in all:
        missing = topic.errors.get(UNKNOWN_TOPIC) or topic.errors.get(LEADER_NOT_AVAILABLE)
        if not missing or not topic.found or topic.created or not topic.creating or len(topic.name) < SHORTEST:
            continue
        if topic.found.until < missing.since or (topic.found.first is not None and topic.found.since < missing.since):
            continue
        like = next((other for other in older(all, topic) if alike(topic.name, other.name)), None)
        if like is None:
            continue
        client = min(topic.asked, key=lambda name: topic.asked[name].since, default="")
        yield mistyped_topic_auto_created.case(
            who(session_of(book, client), topic=topic.name), missing.since, topic.found.until, 1,
            evidence(missing, "topics.name", "allow_auto_topic_creation"), facts={"other": like.name},
            certainty="likely", weight=2.0,
        )  # fmt: skip


def older(all: Iterable[Topic], topic: Topic) -> Iterator[Topic]:
    """Yield the topics that were there before another."""
    for other in all:
        gone = other.errors.get(UNKNOWN_TOPIC)
        if other is not topic and other.found and (gone is None or other.found.since <= gone.since or other.created):
            yield other


def alike(one: str, other: str) -> bool:
    """Return whether one name becomes the other by at most two letters that are added, left out, changed, swapped."""
    if abs(len(one) - len(other)) > CLOSE or one.casefold() == other.casefold():
        return one.casefold() == other.casefold()
    if one.rstrip("0123456789") == other.rstrip("0123456789"):
        return False  # numbered on purpose
    before, row = list[int](), list(range(len(other) + 1))
    last = ""
    for place, letter in enumerate(one, 1):
        two, before, row = before, row, [place]
        for column, its in enumerate(other, 1):
            cost = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != its))
            if two and column > 1 and letter == other[column - 2] and its == last:
                cost = min(cost, two[column - 2] + 1)
            row.append(cost)
        last = letter
    return row[-1] <= CLOSE


@rule(
    "two-clusters-mixed",
    "metadata",
    title="client is configured with two clusters",
    sentence="client {client_id} is {probably}configured with two clusters: it receives the metadata of {ids}",
    advice="Set bootstrap.servers to brokers of a single cluster, and check that DNS names and load balancers lead "
    "only to them.",
    document="KIP-78",
    alternatives=("a replication tool copies between clusters (MirrorMaker)",),
    explains={"unknown-topic", "stale-leader", "coordinator-moved"},
)
def two_clusters_mixed(book: Ledgers) -> Iterator[Case]:
    """Look for clients, and for addresses, to which metadata names more than one cluster."""
    yield from elsewhere(book)
    for broker, ids in book.clusters.ids_by_broker.items():
        if len(ids) > 1:
            seen = Occurrences.of(book.clusters.ids[name] for name in ids)
            yield _of_address.case(
                Who(broker=endpoint(broker), cluster_id=next(iter(ids))), *extent(seen, "cluster_id"),
                facts={"ids": named("cluster", ids)}, weight=3.0,
            )  # fmt: skip
    failing = {one.session.client_id for one in book.failures.values()}
    for (client, host), told in book.clusters.ids_by_client.items():
        if len(told) < 2:
            continue
        seen = Occurrences.of(told.values())
        marks = [one.marks[0] for one in told.values() if one.marks]
        about = who(session_of(book, client), client_id=client, host=host, user=None, cluster_id=next(iter(told)))
        yield two_clusters_mixed.case(
            about, seen.since, seen.until, seen.count, evidence(marks, "cluster_id"),
            facts={"ids": named("cluster", told)}, certainty="likely", weight=3.0,
            severity=Severity.ERROR if client in failing else Severity.NOTE,
        )  # fmt: skip


def elsewhere(book: Ledgers) -> Iterator[Case]:
    """Look for topics that are written in one cluster and read in another, by clients that get nothing there."""
    clusters = {broker: next(iter(ids)) for broker, ids in book.clusters.ids_by_broker.items() if len(ids) == 1}
    written: dict[str, dict[str, KafkaConnection]] = {}
    for number, topic, _ in book.written:
        session = book.sessions[number]
        if session.broker in clusters:
            written.setdefault(topic, {})[clusters[session.broker]] = session
    told: set[tuple[str, str]] = set()
    for (number, topic, _), fetched in book.fetched.items():
        session = book.sessions[number]
        there, writers = clusters.get(session.broker), written.get(topic)
        if there is None or writers is None or fetched.with_data or is_follower(book, number):
            continue
        if there in writers or (session.client_id, topic) in told:
            continue
        told.add((session.client_id, topic))
        cluster, writer = next(iter(writers.items()))
        yield _of_reader.case(
            who(session, topic=topic, cluster_id=there), *extent(fetched.requests, "cluster_id"),
            {"writer": writer.client_id or UNKNOWN["client_id"], "cluster": cluster}, certainty="likely", weight=3.0,
        )  # fmt: skip


_of_address = two_clusters_mixed._replace(
    sentence="broker address {broker} leads to two clusters: it returns the metadata of {ids}",
)
_of_reader = two_clusters_mixed._replace(
    sentence="client {client_id} is {probably}connected to the wrong cluster: it reads topic {topic} from cluster "
    "{cluster_id}, but the topic is written in cluster {cluster} by client {writer}",
)
