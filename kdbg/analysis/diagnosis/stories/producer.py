"""The stories of a producer, by its id (a number) or by the id of a client that writes, and of a transactional id."""

from __future__ import annotations

from collections.abc import Iterator

from ....protocol.grammars.errors import error_name
from ...ledgers import Ledgers
from ...ledgers.producers import Producer, Transactional
from ..case import Case, Who
from . import common
from .event import Event, Story, Subject

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
    for each in ids:
        yield from producer_events(each)
    numbers = {session.peers.number for session in book.sessions.values() if session.client_id in clients}
    yield from common.traffic(book, lambda number, topic, partition: number in numbers, "writes")
    yield from common.errors(book, lambda one: one.session.client_id in clients and one.api_key == PRODUCE)
    yield from common.causes(cases, lambda who: who.client_id in clients or who.transactional_id in names)
    yield common.end(book)


def producer_events(producer: Producer) -> Iterator[Event]:
    """Yield what happened to a producer id."""
    about = Who(producer.client_id or None, transactional_id=producer.transactional_id)
    for began in producer.begun:
        facts = {"client": began.client_id, "producer_id": began.producer_id, "epoch": began.epoch, "code": began.code,
                 "transactional_id": producer.transactional_id}  # fmt: skip
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


producer: Story = Story("producer", producers, of_producer)


def transactional_ids(book: Ledgers) -> Iterator[Subject]:
    """Yield all transactional ids."""
    for name in sorted(book.producers.transactional):
        one = book.producers.transactional[name]
        yield Subject(name, {"transactions": len(one.transactions)})


def of_transactional_id(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a transactional id."""
    one = book.producers.transactional[name]
    clients = {began.client_id for began in one.begun if began.client_id}
    yield from users(one)
    yield from transactions(one, book.last_time)
    yield from common.errors(
        book,
        lambda each: each.api_key in TRANSACTIONAL and (each.subject == name or each.session.client_id in clients),
    )  # fmt: skip
    yield from common.causes(
        cases,
        lambda who: who.transactional_id == name or (who.transactional_id is None and who.client_id in clients),
    )  # fmt: skip
    yield common.end(book)


def users(one: Transactional) -> Iterator[Event]:
    """Yield who began to use the id."""
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


def transactions(one: Transactional, until: int) -> Iterator[Event]:
    """Yield each transaction: where it begins, and how it ends."""
    who = Who(transactional_id=one.name)
    for number, each in enumerate(one.transactions, 1):
        facts = {"transaction": number, "transactional_id": one.name}
        yield Event(each.began.time, "transaction", who, facts, (each.began.number,))
        if each.ended is None:
            yield Event(until, "transaction-open", who, {**facts, "for_ns": until - each.began.time})
            continue
        ended = {**facts, "committed": each.committed, "by_coordinator": each.by_coordinator,
                 "for_ns": each.ended.end - each.began.time}  # fmt: skip
        yield Event(each.ended.end, "transaction-ends", who, ended, (each.ended.number,))


transaction: Story = Story("transaction", transactional_ids, of_transactional_id)
