"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn and WriteTxnMarkers: producer ids and transactions."""

from __future__ import annotations

from typing import Any

from ....exchanges.messages.exchange import Exchange
from ..accounts import Accounts
from ..evidence import Mark
from ..producers import MOST_EVENTS, Began
from ..sessions import KafkaConnection

Body = dict[str, Any]


def begin(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of InitProducerId."""
    name, code = asked.get("transactional_id"), told.get("error_code", 0)
    producer_id, epoch = told.get("producer_id", -1), told.get("producer_epoch", -1)
    timeout = asked.get("transaction_timeout_ms", 0)
    began = Began(mark, session.client_id, session.peers.client[0], producer_id, epoch, timeout, code)
    if producer_id >= 0 and (producer := book.producers.producer(producer_id)) is not None:
        producer.client_id = producer.client_id or session.client_id
        producer.transactional_id = producer.transactional_id or name
        producer.begun.append(began)
        del producer.begun[:-MOST_EVENTS]
    if not name or (txn := book.producers.transactions_of(name)) is None:
        return
    txn.failed(22, code, mark)
    if len(txn.begun) < MOST_EVENTS:
        txn.begun.append(began)
    if producer_id >= 0 and not code and (txn.now is None or txn.now.mark.end < mark.end):
        txn.now = began
        txn.who(producer_id, epoch)
        txn.closed(mark, False, 0, by_coordinator=True)


def add(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of AddPartitionsToTxn, or of AddOffsetsToTxn."""
    old = {key.removeprefix("v3_and_below_"): value for key, value in asked.items() if key != "transactions"}
    codes = {error.code for error in exchange.errors}
    for entry in [old, *(asked.get("transactions") or ())]:
        name = entry.get("transactional_id")
        txn = book.producers.transactions_of(name) if name else None
        if txn is None:
            continue
        for code in codes:
            txn.failed(25 if "group_id" in asked else 24, code, mark)
        if codes or not told:
            continue
        txn.opened(mark)
        txn.who(entry.get("producer_id", -1), entry.get("producer_epoch", -1))


def end(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of EndTxn."""
    name = asked.get("transactional_id")
    if not name or (txn := book.producers.transactions_of(name)) is None:
        return
    code = told.get("error_code", 0)
    txn.failed(26, code, mark)
    if told:
        txn.closed(mark, bool(asked.get("committed")), code)
        if not code:
            txn.who(asked.get("producer_id", -1), asked.get("producer_epoch", -1))
            txn.who(told.get("producer_id", -1), told.get("producer_epoch", -1))


def markers(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of WriteTxnMarkers, by which a coordinator ends transactions."""
    for entry in asked.get("markers") or ():
        producer_id, epoch = entry.get("producer_id", -1), entry.get("producer_epoch", -1)
        committed = bool(entry.get("transaction_result"))
        for txn in book.producers.transactional.values():
            if txn.producer_id != producer_id:
                continue
            txn.who(producer_id, epoch)
            txn.markers.append((mark, committed))
            del txn.markers[:-MOST_EVENTS]
            txn.closed(mark, committed, 0, by_coordinator=True)


READERS = {22: begin, 24: add, 25: add, 26: end, 27: markers}
