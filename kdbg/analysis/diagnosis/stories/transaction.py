"""The story of a transactional id: who uses it, each transaction, how it ended, who was fenced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.grammars.errors import error_name
from ..case import Case, Who
from . import common
from .event import Event, Story, Subject

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.producers import Transactional

APIS = frozenset({0, 22, 24, 25, 26, 27, 28})
"""Produce, InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers, TxnOffsetCommit."""


def subjects(book: Ledgers) -> Iterator[Subject]:
    """Yield all transactional ids."""
    for name in sorted(book.producers.transactional):
        one = book.producers.transactional[name]
        yield Subject(name, {"transactions": len(one.transactions)})


def events(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a transactional id."""
    one = book.producers.transactional[name]
    clients = {began.client_id for began in one.begun if began.client_id}
    yield from users(one)
    yield from transactions(one, book.last_time)
    yield from common.errors(
        book,
        lambda failure: failure.api_key in APIS and (failure.subject == name or failure.session.client_id in clients),
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


story: Story = Story("transaction", subjects, events)
