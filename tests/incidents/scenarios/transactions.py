"""Transactions that are left open, take too long, or are somebody else's."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from functools import partial

from confluent_kafka import KafkaException, Producer

from ..foreign import java_client
from ..incident import Incident, Shown
from ..stage import PATIENCE, Stage, ended

ONE = "127.0.0.11:9092"


def left_open(stage: Stage, commits: bool = False) -> None:
    """One writes in a transaction and hangs; another goes on writing, and who reads what is committed gets nothing."""
    stage.topic("settlements")
    options = {"isolation_level": "read_committed", "fetch_wait_max_ms": 300}
    with (
        ExitStack() as later,
        stage.recording(),
        stage.producer("settle-web") as other,
        stage.consumer("settle-report", "settle-reports", "settlements", **options) as reader,
    ):
        hanging = {"transactional_id": "settle-7", "transaction_timeout_ms": 600_000}
        hangs = later.enter_context(stage.producer("settle-batch", **hanging))  # its end would abort the transaction
        hangs.init_transactions(PATIENCE)
        hangs.begin_transaction()
        hangs.produce("settlements", "7.00")
        hangs.flush(PATIENCE)
        stage.fails_now()
        if commits:
            hangs.commit_transaction(PATIENCE)
        for number in range(15):
            other.produce("settlements", f"{number}.00")
            other.flush(PATIENCE)
            reader.poll(0.4)


def left_open_in_java(stage: Stage, hold: int = 60_000) -> None:
    """The same with Java's producer, which the machine's end takes away in the midst of it."""
    stage.topic("refunds")
    settings = {
        "bootstrap.servers": ONE, "client.id": "refund-job", "transactional.id": "refunds-1", "do.count": 1,
        "transaction.timeout.ms": 600_000, "do.hold": hold,
    }  # fmt: skip
    options = {"isolation_level": "read_committed", "fetch_wait_max_ms": 300}
    with (
        stage.recording(),
        stage.producer("refund-web") as other,
        stage.consumer("refund-report", "refund-reports", "refunds", **options) as reader,
    ):
        process = java_client("transact", "refunds", settings)
        for number in range(18):
            reader.poll(0.4)
            if number > 5:
                other.produce("refunds", f"{number}.00")
                other.flush(PATIENCE)
        process.kill()
        process.wait()


def too_slow(stage: Stage, timeout: int = 1000) -> None:
    stage.topic("clearing")
    with (
        stage.recording(),
        stage.producer("slow-settle", transactional_id="settle-2", transaction_timeout_ms=timeout) as writer,
    ):
        writer.init_transactions(PATIENCE)
        writer.begin_transaction()
        writer.produce("clearing", "first half")
        writer.flush(PATIENCE)
        stage.fails_now()
        time.sleep(4)
        with suppress(KafkaException):
            writer.produce("clearing", "second half")
            writer.flush(3)
            writer.commit_transaction(3)


def too_slow_in_java(stage: Stage, timeout: int = 1000) -> None:
    stage.topic("clearing")
    settings = {
        "bootstrap.servers": ONE, "client.id": "invoice-run", "transactional.id": "invoices-1", "do.count": 1,
        "transaction.timeout.ms": timeout, "do.hold": 4000,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("transact", "clearing", settings))


def shared(stage: Stage, ids: tuple[str, str] = ("payments", "payments")) -> None:
    """Two processes with one transactional id: whoever begins fences the other."""
    stage.topic("payments")
    with (
        stage.recording(),
        stage.producer("pay-1", transactional_id=ids[0], transaction_timeout_ms=20_000) as one,
        stage.producer("pay-2", transactional_id=ids[1], transaction_timeout_ms=20_000) as two,
    ):
        one.init_transactions(PATIENCE)
        _paid(one, "by 1")
        stage.fails_now()
        two.init_transactions(PATIENCE)
        _paid(two, "by 2")
        for _ in range(2):
            with suppress(KafkaException):
                _paid(one, "by 1, again")
            _paid(two, "by 2, again")


def shared_in_java(stage: Stage, ids: tuple[str, str] = ("booker", "booker")) -> None:
    stage.topic("bookings")
    told = {"bootstrap.servers": ONE, "transaction.timeout.ms": 20_000, "do.count": 12, "do.pause": 400}
    with stage.recording():
        first = java_client("transact", "bookings", told | {"client.id": "book-a", "transactional.id": ids[0]})
        time.sleep(2)
        stage.fails_now()
        ended(java_client("transact", "bookings", told | {"client.id": "book-b", "transactional.id": ids[1]}))
        ended(first)


def _paid(writer: Producer, what: str) -> None:
    writer.begin_transaction()
    writer.produce("payments", what)
    writer.flush(3)
    writer.commit_transaction(3)


def beyond_the_most(stage: Stage, timeout: int = 3_600_000) -> None:
    """A timeout above transaction.max.timeout.ms (900,000)."""
    stage.topic("escrow")
    with (
        stage.recording(),
        suppress(KafkaException),
        stage.producer("escrow-job", transactional_id="escrow-1", transaction_timeout_ms=timeout) as writer,
    ):
        writer.init_transactions(4)
        writer.begin_transaction()
        writer.produce("escrow", "1.00")
        writer.commit_transaction(4)


def beyond_the_most_in_java(stage: Stage, timeout: int = 3_600_000) -> None:
    stage.topic("escrow")
    settings = {
        "bootstrap.servers": ONE, "client.id": "vault-keeper", "transactional.id": "vault-1", "do.count": 1,
        "transaction.timeout.ms": timeout,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("transact", "escrow", settings))


HELD = "response.responses.exists(r, r.partitions.exists(p, p.last_stable_offset < p.high_watermark))"
INCIDENTS = (
    Incident(
        "transaction-left-open", "hanging-transaction", "one", left_open,
        {"client_id": "settle-batch", "transactional_id": "settle-7", "topic": "settlements"},
        (Shown("InitProducerId", client_id="settle-batch"),
         Shown("Fetch", client_id="settle-report", where=HELD, at_least=5)),
        "end it: commit, abort, or kafka-transactions abort", partial(left_open, commits=True),
    ),
    Incident(
        "transaction-left-open-java", "hanging-transaction", "one", left_open_in_java,
        {"client_id": "refund-job", "transactional_id": "refunds-1", "topic": "refunds"},
        (Shown("InitProducerId", client_id="refund-job"),
         Shown("Fetch", client_id="refund-report", where=HELD, at_least=5)),
        "end it: commit, abort, or kafka-transactions abort", partial(left_open_in_java, hold=0),
    ),
    Incident(
        "transaction-timed-out-librdkafka", "transaction-timed-out", "one", too_slow,
        {"client_id": "slow-settle", "transactional_id": "settle-2"},
        (Shown("InitProducerId", client_id="slow-settle"), Shown("Produce", "INVALID_PRODUCER_EPOCH")),
        "transaction.timeout.ms, or shorter transactions", partial(too_slow, timeout=60_000),
    ),
    Incident(
        "transaction-timed-out-java", "transaction-timed-out", "one", too_slow_in_java,
        {"client_id": "invoice-run", "transactional_id": "invoices-1"},
        (Shown("InitProducerId", client_id="invoice-run"), Shown("Produce", "INVALID_PRODUCER_EPOCH")),
        "transaction.timeout.ms, or shorter transactions", partial(too_slow_in_java, timeout=60_000),
    ),
    Incident(
        "transactional-id-of-two", "transactional-id-shared", "one", shared,
        {"client_id": ["pay-1", "pay-2"], "transactional_id": "payments"},
        (Shown("AddPartitionsToTxn", "INVALID_PRODUCER_EPOCH", client_id="pay-1"),
         Shown("InitProducerId", client_id="pay-2")),
        "a transactional.id for each process", partial(shared, ids=("payments-1", "payments-2")),
    ),
    Incident(
        "transactional-id-of-two-java", "transactional-id-shared", "one", shared_in_java,
        {"client_id": ["book-a", "book-b"], "transactional_id": "booker"},
        (Shown("EndTxn", "PRODUCER_FENCED", client_id="book-a"), Shown("InitProducerId", client_id="book-b")),
        "a transactional.id for each process", partial(shared_in_java, ids=("booker-a", "booker-b")),
    ),
    Incident(
        "transaction-timeout-beyond-the-most", "invalid-transaction-timeout", "one", beyond_the_most,
        {"client_id": "escrow-job", "transactional_id": "escrow-1"},
        (Shown("InitProducerId", "INVALID_TRANSACTION_TIMEOUT", client_id="escrow-job"),),
        "transaction.timeout.ms at most the broker's transaction.max.timeout.ms",
        partial(beyond_the_most, timeout=60_000),
    ),
    Incident(
        "transaction-timeout-beyond-the-most-java", "invalid-transaction-timeout", "one", beyond_the_most_in_java,
        {"client_id": "vault-keeper", "transactional_id": "vault-1"},
        (Shown("InitProducerId", "INVALID_TRANSACTION_TIMEOUT", client_id="vault-keeper"),),
        "transaction.timeout.ms at most the broker's transaction.max.timeout.ms",
        partial(beyond_the_most_in_java, timeout=60_000),
    ),
)  # fmt: skip
