"""The stories of clients, connections, producers, transactions and topics: logins, groups, traffic, errors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ....exchanges.messages.peers import endpoint
from ....protocol.grammars.errors import error_name
from ...ledgers import Ledgers
from ...ledgers.clusters import Topic
from ...ledgers.sessions import KafkaConnection
from ..case import Case, Who
from ..queries import api_name, sessions_of, who, who_in
from ..rules.milestones import reached
from . import common
from .common import Event, Subject


def clients(book: Ledgers) -> Iterator[Subject]:
    """Yield all client ids."""
    found: dict[str, list[int]] = {}
    for session in book.sessions.values():
        if session.client_id:
            counts = found.setdefault(session.client_id, [0, 0])
            counts[0] += 1
            counts[1] += session.exchanges
    milestones = reached(book)
    for name in sorted(found):
        yield Subject(name, {"connections": found[name][0], "exchanges": found[name][1], "reached": milestones[name]})


def of_client(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a client."""
    sessions = sessions_of(book, name)
    yield from common.connections(sessions)
    for session in sessions[: common.MOST_CONNECTIONS]:
        yield from common.on(session)
    yield from common.errors(book, lambda one: one.session.client_id == name)
    numbers = {session.peers.number for session in sessions}
    for kind in ("writes", "reads"):
        yield from common.traffic(book, lambda number, topic, partition: number in numbers, kind)
    for group in book.groups.values():
        for member in group.known_members():
            if member.client_id != name:
                continue
            about = who_in(group, member)
            if member.joined.first is not None:
                mark = member.joined.first
                yield Event(mark.time, "joins", about, {"client": name, "group": group.name}, (mark.number,))
            if member.left is not None:
                mark = member.left
                facts = {"client": name, "group": group.name, "reason": member.reason, "by_other": member.left_by_other}
                yield Event(mark.time, "leaves", about, facts, (mark.number,))
    yield from common.causes(cases, lambda who: who.client_id == name)


def connections(book: Ledgers) -> Iterator[Subject]:
    """Yield all connections that speak Kafka."""
    for number, session in book.sessions.items():
        yield Subject(str(number), {"exchanges": session.exchanges})


def of_connection(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened on a connection."""
    session = book.sessions[int(name)]
    yield from common.connections([session])
    yield from common.on(session)
    yield from common.errors(book, lambda one: one.session is session)
    for kind in ("writes", "reads"):
        yield from common.traffic(book, lambda number, topic, partition: number == session.peers.number, kind)
    for key, use in session.apis.items():
        if use.seen.first is not None:
            facts = {"client": session.client_id, "api": api_name(key), "count": use.seen.count,
                     "versions": sorted(use.versions)}  # fmt: skip
            yield Event(use.seen.since, "api-requests", who(session), facts, (use.seen.first.number,))
    for asked in session.unanswered:
        facts = {"client": session.client_id, "api": api_name(asked.api_key), "version": asked.version}
        yield Event(asked.mark.time, "no-response", who(session), facts, (asked.mark.number,))
    yield from common.causes(cases, lambda about: concerns(session, about))


def concerns(session: KafkaConnection, about: Who) -> bool:
    """Return whether a cause may be of this connection: its client, and its broker where that is said."""
    if about.client_id is not None and about.client_id != session.client_id:
        return False
    if about.broker is not None and about.broker != endpoint(session.broker):
        return False
    return about.host == session.peers.client[0] if about.client_id is None else True


PRODUCE = 0
TRANSACTIONAL = frozenset({0, 22, 24, 25, 26, 27, 28})
"""Produce, InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers, TxnOffsetCommit."""


def producers(book: Ledgers) -> Iterator[Subject]:
    """Yield all producer ids, and all clients that write."""
    for number, one in book.producers.by_id.items():
        yield Subject(str(number), {"batches": one.produced.count, "epochs": len(one.epochs)})
    found: dict[str, int] = {}
    for (number, _, _), flow in book.written.items():
        client = book.sessions[number].client_id
        if client:
            found[client] = found.get(client, 0) + flow.batches
    for name in sorted(found):
        yield Subject(name, {"batches": found[name]})


def of_producer(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a producer."""
    known = book.producers.by_id
    one = known.get(int(name)) if name.isascii() and name.isdigit() else None
    ids = [one] if one is not None else [each for each in known.values() if each.client_id == name]
    clients = {each.client_id for each in ids if each.client_id} or {name}
    names = {each.transactional_id for each in ids if each.transactional_id}
    for producer in ids:
        about = Who(producer.client_id or None, transactional_id=producer.transactional_id)
        for began in producer.begun:
            facts = {"client": began.client_id, "producer_id": began.producer_id, "epoch": began.epoch,
                     "code": began.code, "transactional_id": producer.transactional_id}  # fmt: skip
            yield Event(began.mark.end, "producer-id", about, facts, (began.mark.number,))
        for epoch, seen in producer.epochs.items():
            facts = {"client": producer.client_id, "producer_id": producer.producer_id, "epoch": epoch,
                     "batches": seen.count, "for_ns": seen.until - seen.since}  # fmt: skip
            yield Event(seen.since, "epoch", about, facts, seen.numbers)
        for gap in producer.gaps:
            facts = {"client": producer.client_id, "topic": gap.topic, "partition": gap.partition,
                     "expected": gap.expected, "found": gap.found}  # fmt: skip
            where = about._replace(topic=gap.topic, partition=gap.partition)
            yield Event(gap.mark.time, "sequence-gap", where, facts, (gap.mark.number,))
    numbers = {session.peers.number for session in book.sessions.values() if session.client_id in clients}
    yield from common.traffic(book, lambda number, topic, partition: number in numbers, "writes")
    yield from common.errors(book, lambda one: one.session.client_id in clients and one.api_key == PRODUCE)
    yield from common.causes(cases, lambda who: who.client_id in clients or who.transactional_id in names)


def transactional_ids(book: Ledgers) -> Iterator[Subject]:
    """Yield all transactional ids."""
    for name in sorted(book.producers.transactional):
        one = book.producers.transactional[name]
        yield Subject(name, {"transactions": len(one.transactions)})


def of_transactional_id(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a transactional id."""
    one = book.producers.transactional[name]
    clients = {began.client_id for began in one.begun if began.client_id}
    last: tuple[str, str] | None = None
    for began in one.begun:
        user = began.client_id, began.host
        facts = {
            "client": began.client_id, "transactional_id": one.name, "producer_id": began.producer_id,
            "epoch": began.epoch, "timeout_ns": began.timeout_ms * 1_000_000, "code": began.code,
            "error": error_name(began.code) if began.code else None,
            "fences": last[0] if last is not None and last != user and not began.code else None,
        }  # fmt: skip
        who = Who(began.client_id or None, began.host or None, transactional_id=one.name)
        yield Event(began.mark.end, "transactional-id", who, facts, (began.mark.number,))
        last = user if not began.code else last
    who = Who(transactional_id=one.name)
    for number, each in enumerate(one.transactions, 1):
        facts = {"transaction": number, "transactional_id": one.name}
        yield Event(each.began.time, "transaction", who, facts, (each.began.number,))
        if each.ended is None:
            lasts = book.last_time - each.began.time
            yield Event(book.last_time, "transaction-open", who, {**facts, "for_ns": lasts})
            continue
        ended = {**facts, "committed": each.committed, "by_coordinator": each.by_coordinator,
                 "for_ns": each.ended.end - each.began.time}  # fmt: skip
        yield Event(each.ended.end, "transaction-ends", who, ended, (each.ended.number,))
    yield from common.errors(
        book,
        lambda each: each.api_key in TRANSACTIONAL and (each.subject == name or each.session.client_id in clients),
    )  # fmt: skip
    yield from common.causes(
        cases,
        lambda who: who.transactional_id == name or (who.transactional_id is None and who.client_id in clients),
    )  # fmt: skip


def topics(book: Ledgers) -> Iterator[Subject]:
    """Yield all topics that a client wrote to, read from or requested, or that were not found."""
    names = {name for _, name, _ in book.written} | {name for _, name, _ in book.fetched}
    names |= {name for name, topic in book.clusters.topics.items() if topic.asked or topic.errors}
    counts: dict[str, list[set[str]]] = {name: [set(), set()] for name in names}
    for number, name, _ in book.written:
        counts[name][0].add(book.sessions[number].client_id)
    for number, name, _ in book.fetched:
        counts[name][1].add(book.sessions[number].client_id)
    for name in sorted(names):
        yield Subject(name, {"writers": len(counts[name][0]), "readers": len(counts[name][1])})


def of_topic(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a topic."""
    about, one = Who(topic=name), book.clusters.topics.get(name) or Topic(name)
    for client, seen in one.asked.items():
        yield Event(
            seen.since, "metadata-request", about._replace(client_id=client or None),
            {"client": client, "topic": one.name, "count": seen.count, "for_ns": seen.until - seen.since},
            seen.numbers,
        )  # fmt: skip
    for code, seen in one.errors.items():
        facts = {"topic": one.name, "code": code, "error": error_name(code), "count": seen.count}
        yield Event(seen.first.end if seen.first else 0, "topic-not-found", about, facts, seen.numbers)
    if one.created.first is not None:
        mark = one.created.first
        yield Event(mark.end, "topic-created", about, {"topic": one.name}, (mark.number,))
    if one.found.first is not None:
        mark = one.found.first
        facts = {"topic": one.name, "partitions": len(one.partitions), "late": bool(one.errors)}
        yield Event(mark.end, "topic-found", about, facts, (mark.number,))
    for partition, led in one.partitions.items():
        for before, now in pairwise(led):
            facts = {"topic": one.name, "partition": partition, "leader": now.leader, "before": before.leader,
                     "in_sync": now.in_sync, "in_sync_before": before.in_sync, "replicas": now.replicas}  # fmt: skip
            yield Event(now.time, "leader", about._replace(partition=partition), facts)
    for kind in ("writes", "reads"):
        yield from common.traffic(book, lambda number, topic, partition: topic == name, kind)
    yield from common.errors(book, lambda one: one.subject == name)
    yield from common.causes(cases, lambda who: who.topic == name)
