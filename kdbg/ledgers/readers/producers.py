"""InitProducerId, AddPartitionsToTxn, EndTxn, TxnOffsetCommit and WriteTxnMarkers: producer ids and transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..producers import MOST_EVENTS, Began

if TYPE_CHECKING:
    from ...messages.exchange import Exchange
    from ..accounts import Accounts
    from ..marks import Mark
    from ..sessions import Session

Body = dict[str, Any]


def begin(book: Accounts, session: Session, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of InitProducerId."""
    name, code = asked.get("transactional_id"), told.get("error_code", 0)
    producer_id, epoch = told.get("producer_id", -1), told.get("producer_epoch", -1)
    if producer_id >= 0 and (producer := book.producers.producer(producer_id)) is not None:
        producer.client_id = producer.client_id or session.client_id
        producer.transactional_id = producer.transactional_id or name
        producer.begun.append(
            Began(mark, session.client_id, session.peers.client[0], producer_id, epoch,
                  asked.get("transaction_timeout_ms", 0), code)
        )  # fmt: skip
        del producer.begun[:-MOST_EVENTS]
    if not name or (txn := book.producers.transactions_of(name)) is None:
        return
    txn.failed(22, code, mark)
    if len(txn.begun) < MOST_EVENTS:
        timeout = asked.get("transaction_timeout_ms", 0)
        txn.begun.append(Began(mark, session.client_id, session.peers.client[0], producer_id, epoch, timeout, code))
    txn.last = mark


def add(book: Accounts, session: Session, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of AddPartitionsToTxn, or of AddOffsetsToTxn."""
    names = [asked.get("transactional_id") or asked.get("v3_and_below_transactional_id")]
    names += [entry.get("transactional_id") for entry in asked.get("transactions") or ()]
    codes = {error.code for error in exchange.errors}
    for name in filter(None, names):
        txn = book.producers.transactions_of(name)
        if txn is None:
            continue
        for code in codes:
            txn.failed(24, code, mark)
        if not codes and told:
            txn.opened(mark)
        txn.last = mark


def end(book: Accounts, session: Session, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of EndTxn."""
    name = asked.get("transactional_id")
    if not name or (txn := book.producers.transactions_of(name)) is None:
        return
    code = told.get("error_code", 0)
    txn.failed(26, code, mark)
    if told:
        txn.closed(mark, bool(asked.get("committed")), code)
    txn.last = mark


def commit(book: Accounts, session: Session, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of TxnOffsetCommit."""
    name = asked.get("transactional_id")
    if not name or (txn := book.producers.transactions_of(name)) is None:
        return
    for error in exchange.errors:
        txn.failed(28, error.code, mark)
    txn.last = mark


def markers(book: Accounts, session: Session, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of WriteTxnMarkers, by which a coordinator ends transactions."""
    ids = {entry.get("producer_id"): bool(entry.get("transaction_result")) for entry in asked.get("markers") or ()}
    for txn in book.producers.transactional.values():
        for began in txn.begun[-1:]:
            if began.producer_id in ids:
                committed = ids[began.producer_id]
                txn.markers.append((mark, committed))
                del txn.markers[:-MOST_EVENTS]
                txn.closed(mark, committed, 0, by_coordinator=True)


READERS = {22: begin, 24: add, 25: add, 26: end, 27: markers, 28: commit}
