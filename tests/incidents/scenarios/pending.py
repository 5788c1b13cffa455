"""Transactions that cannot go on, and what waits for them; share groups whose records come back."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial

from confluent_kafka import KafkaException

from ..foreign import java_client
from ..handmade import handmade
from ..incident import Incident, Shown
from ..stage import PATIENCE, Stage, ended
from .groups import SHORT, polled

ONE, NARROW = "127.0.0.11:9092", "127.0.0.81:9092"


def ends_nothing(stage: Stage, begins: bool = False) -> None:
    """A client made by hand that commits a transaction which it has not begun."""
    stage.topic("escrow")
    with stage.recording(), handmade("escrow-tool", ONE) as client:
        client.ask("ApiVersions", 0)
        client.ask("FindCoordinator", 1, key="escrow-9", key_type=1)
        told = client.ask("InitProducerId", 1, transactional_id="escrow-9", transaction_timeout_ms=30_000)
        who = {"transactional_id": "escrow-9", **{key: told[key] for key in ("producer_id", "producer_epoch")}}
        for _ in range(4):
            if begins:
                parts = [{"name": "escrow", "partitions": [0]}]
                client.ask("AddPartitionsToTxn", 1, **_v3(who), v3_and_below_topics=parts)
            client.ask("EndTxn", 1, **who, committed=True)
            time.sleep(0.5)


def _v3(who: dict[str, object]) -> dict[str, object]:
    return {f"v3_and_below_{name}": value for name, value in who.items()}


def expired(stage: Stage, pause: float = 6.0) -> None:
    """A producer whose transactional id is expired (transactional.id.expiration.ms) while it pauses."""
    stage.topic("rents")
    with stage.recording(), stage.producer("rent-run", transactional_id="rents-1") as writer:
        writer.init_transactions(PATIENCE)
        for number in range(3):
            with suppress(KafkaException):
                writer.begin_transaction()
                writer.produce("rents", f"rent {number}")
                writer.flush(3)
                writer.commit_transaction(3)
            stage.fails_now()
            time.sleep(pause if number < 2 else 0)


def unstable(stage: Stage, commits: bool = False) -> None:
    """Offsets in a transaction that does not end: who comes next in the group may not read them, and waits."""
    stage.topic("carts")
    stage.topic("totals")
    stage.fill("carts", *(f"cart {number}" for number in range(6)))
    options = {"transactional_id": "totals-1", "transaction_timeout_ms": 60_000}
    with stage.recording(), stage.producer("cart-total", **options) as writer:
        with stage.consumer("cart-total-a", "cart-totals", "carts", **SHORT) as reader:
            polled(reader, seconds=2)
            writer.init_transactions(PATIENCE)
            writer.begin_transaction()
            writer.produce("totals", "total 1")
            where = reader.position(reader.assignment())
            writer.send_offsets_to_transaction(where, reader.consumer_group_metadata(), PATIENCE)
            writer.flush(PATIENCE)
            if commits:
                writer.commit_transaction(PATIENCE)
        stage.fails_now()
        with stage.consumer("cart-total-b", "cart-totals", "carts", **SHORT) as reader:
            polled(reader, seconds=5)


def shared(stage: Stage, *, ack: str = "ACCEPT", work: int = 0, count: int = 3, address: str = ONE) -> None:
    """A share consumer of Java's, that acknowledges each record in one way, after so long (ms)."""
    stage.topic("jobs")
    settings = {
        "bootstrap.servers": address, "client.id": "job-runner", "group.id": "job-runners", "do.seconds": 12,
        "do.ack": ack, "do.work": work,
    }  # fmt: skip
    begin = "share.auto.offset.reset=earliest"
    stage.configure("--entity-type", "groups", "--entity-name", "job-runners", add=begin)
    with stage.recording(), stage.producer("job-queue") as writer:
        process = java_client("share", "jobs", settings)
        time.sleep(4)
        for number in range(count):
            writer.produce("jobs", f"job {number}")
        writer.flush(PATIENCE)
        stage.fails_now()
        ended(process)


WHO = {"client_id": "job-runner", "group": "job-runners", "topic": "jobs"}
INCIDENTS = (
    Incident(
        "commit-without-transaction", "error-response", "one", ends_nothing,
        {"client_id": "escrow-tool", "transactional_id": "escrow-9"},
        (Shown("EndTxn", "INVALID_TXN_STATE", client_id="escrow-tool", at_least=4),),
        "begin a transaction, then end it", partial(ends_nothing, begins=True),
    ),
    Incident(
        "transactional-id-expired", "transactional-id-expired", "narrow", expired,
        {"client_id": "rent-run", "transactional_id": "rents-1"},
        (Shown("AddPartitionsToTxn", "INVALID_PRODUCER_ID_MAPPING", client_id="rent-run"),),
        "transactional.id.expiration.ms, or a new producer", partial(expired, pause=0.5),
    ),
    Incident(
        "offsets-of-an-open-transaction", "error-response", "one", unstable,
        {"client_id": ["cart-total-b", "cart-total"], "group": "cart-totals"},
        (Shown("OffsetFetch", "UNSTABLE_OFFSET_COMMIT", client_id="cart-total-b", at_least=3),),
        "end the transaction; a shorter transaction.timeout.ms", partial(unstable, commits=True),
    ),
    Incident(
        "share-records-released-for-ever", "share-records-released", "one", partial(shared, ack="RELEASE"), WHO,
        (Shown("ShareFetch", client_id="job-runner", at_least=4),), "accept or reject what cannot be handled",
        partial(shared, ack="ACCEPT"),
    ),
    Incident(
        "share-lock-too-short", "share-lock-expired", "narrow",
        partial(shared, work=1800, count=4, address=NARROW), WHO,
        (Shown("ShareAcknowledge", "INVALID_RECORD_STATE", client_id="job-runner"),),
        "group.share.record.lock.duration.ms, or less work", partial(shared, work=50, count=4, address=NARROW),
    ),
)  # fmt: skip
