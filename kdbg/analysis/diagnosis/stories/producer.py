"""The story of a producer, by its id (a number) or by the id of a client that writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..case import Case, Who
from . import common
from .event import Event, Story, Subject

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.producers import Producer

PRODUCE = 0


def subjects(book: Ledgers) -> Iterator[Subject]:
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


def events(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a producer."""
    known = book.producers.by_id
    one = known.get(int(name)) if name.isascii() and name.isdigit() else None
    ids = [one] if one is not None else [each for each in known.values() if each.client_id == name]
    clients = {each.client_id for each in ids if each.client_id} or {name}
    names = {each.transactional_id for each in ids if each.transactional_id}
    for each in ids:
        yield from of(each)
    numbers = {session.peers.number for session in book.sessions.values() if session.client_id in clients}
    yield from common.traffic(book, lambda number, topic, partition: number in numbers, "writes")
    yield from common.errors(book, lambda one: one.session.client_id in clients and one.api_key == PRODUCE)
    yield from common.causes(cases, lambda who: who.client_id in clients or who.transactional_id in names)
    yield common.end(book)


def of(producer: Producer) -> Iterator[Event]:
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


story: Story = Story("producer", subjects, events)
