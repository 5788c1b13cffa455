"""A client is told of two clusters: its bootstrap addresses, or what stands behind one, belong to different ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule, Who
from ..queries import evidence, sessions_of, who
from ..text import UNKNOWN, named

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection


def find(book: Ledgers) -> Iterator[Case]:
    """Look for clients, and for addresses, to which metadata names more than one cluster."""
    yield from elsewhere(book)
    for broker, ids in book.clusters.ids_by_broker.items():
        if len(ids) > 1:
            seen = Occurrences.of(book.clusters.ids[name] for name in ids)
            yield of_address.case(
                Who(broker=endpoint(broker), cluster_id=next(iter(ids))), seen.since, seen.until, seen.count,
                evidence(seen, "cluster_id"), facts={"ids": named("cluster", ids)}, weight=3.0,
            )  # fmt: skip
    for client, told in book.clusters.ids_by_client.items():
        if len(told) < 2:
            continue
        seen = Occurrences.of(told.values())
        sessions = sessions_of(book, client)
        marks = [one.marks[0] for one in told.values() if one.marks]
        yield rule.case(
            Who(client, sessions[0].peers.client[0] if sessions else None,
                endpoint(sessions[0].broker) if sessions else None, cluster_id=next(iter(told))), seen.since,
            seen.until, seen.count, evidence(marks, "cluster_id"),
            facts={"ids": named("cluster", told)}, certainty="likely", weight=3.0,
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
        there = clusters.get(session.broker)
        polls = book.polls.get(number)
        if there is None or fetched.with_data or topic not in written or (polls is not None and polls.replica >= 0):
            continue
        writers = written[topic]
        if there in writers or (session.client_id, topic) in told:
            continue
        told.add((session.client_id, topic))
        cluster, writer = next(iter(writers.items()))
        yield of_reader.case(
            who(session, topic=topic, cluster_id=there), fetched.requests.since, fetched.requests.until,
            fetched.requests.count, evidence(fetched.requests, "cluster_id"),
            {"writer": writer.client_id or UNKNOWN["client_id"], "cluster": cluster}, certainty="likely", weight=3.0,
        )  # fmt: skip


rule: Rule = Rule(
    "two-clusters-mixed",
    Severity.ERROR,
    "client is configured with two clusters",
    "client {client_id} is {probably}configured with two clusters: it receives the metadata of {ids}",
    (
        "Set bootstrap.servers to brokers of a single cluster, and check that DNS names and load "
        "balancers lead only to them."
    ),
    "KIP-78",
    find,
    ("a replication tool copies between clusters (MirrorMaker)",),
    frozenset({"unknown-topic", "stale-leader", "coordinator-moved"}),
)
of_address = rule._replace(sentence="broker address {broker} leads to two clusters: it returns the metadata of {ids}")
of_reader = rule._replace(
    sentence=(
        "client {client_id} is {probably}connected to the wrong cluster: it reads topic {topic} from cluster "
        "{cluster_id}, but the topic is written in cluster {cluster} by client {writer}"
    )
)
