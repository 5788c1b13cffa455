"""What goes right: librdkafka producers and consumers against the mock cluster."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from recording.api_keys import METADATA
from recording.librdkafka import HasBootstrap, consumer, producer, read, send, wait_until
from recording.mock_cluster import MockCluster
from recording.tcpdump import recording

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def first_contact(out: Path) -> None:
    """A shop sends three orders, its billing group fetches and commits them: the shortest complete story."""
    with MockCluster() as cluster:
        cluster.create_topic("orders")
        cluster.set_rebalance_delay(0)
        cluster.set_round_trip(1, 2)
        cluster.limit_versions({METADATA: 8})  # from 9 on the mock's answer has a byte too many
        with recording(out, cluster.ports):
            shop = producer(cluster, "shop")
            for number, (customer, item) in enumerate([("ada", "teapot"), ("grace", "compass"), ("ada", "lamp")], 1001):
                value = json.dumps({"order": number, "item": item, "quantity": 1})
                send(shop, "orders", value, key=customer, headers={"trace": f"{number:08x}", "source": "web"})
            with consumer(cluster, "billing-1", "billing") as billing:
                billing.subscribe(["orders"])
                read(billing, 3)
                billing.commit(asynchronous=False)


def codecs(out: Path) -> None:
    """One producer a codec, with null and empty keys and values and all kinds of headers; one consumer for all."""
    with MockCluster() as cluster:
        for codec in CODECS:
            cluster.create_topic(f"parcels-{codec}")
        with recording(out, cluster.ports):
            for codec in CODECS:
                send_parcels(cluster, codec, f"parcels-{codec}")
            with consumer(cluster, "sorting-office", "sorting") as office:
                office.assign([TopicPartition(f"parcels-{codec}", 0, 0) for codec in CODECS])
                read(office, 6 * len(CODECS))


def send_parcels(cluster: HasBootstrap, codec: str, topic: str) -> None:
    sender = producer(cluster, f"sender-{codec}", compression_type=codec, linger_ms=50)
    sender.produce(topic, "fragile " * 40, key="parcel-1")
    sender.produce(topic, "this side up " * 40, key=None)
    sender.produce(topic, None, key="parcel-3")  # a tombstone
    sender.produce(topic, None, key=None)
    sender.produce(topic, "", key="", headers=[("empty", b""), ("null", None), ("twice", b"1"), ("twice", b"2")])
    sender.produce(topic, bytes(range(256)), key="größe-6", headers={"unit": "cm³"}, timestamp=1_700_000_000_000)
    sender.flush()


def group_rebalance(out: Path) -> None:
    """One member has all four partitions, a second one joins, then the first leaves: three generations."""
    with MockCluster() as cluster:
        cluster.create_topic("rides", partitions=4)
        cluster.set_rebalance_delay(100)
        prompt = {"heartbeat_interval_ms": 200, "session_timeout_ms": 2000}  # the mock waits for members almost as long
        with recording(out, cluster.ports), consumer(cluster, "driver-b", "drivers", **prompt) as second:
            with consumer(cluster, "driver-a", "drivers", **prompt) as first:
                first.subscribe(["rides"])
                _wait_for_partitions(4, first)
                second.subscribe(["rides"])
                _wait_for_partitions(2, second, first)
            _wait_for_partitions(4, second)


def _wait_for_partitions(count: int, member: Consumer, *others: Consumer) -> None:
    """Until a member owns count partitions; members take part in a rebalance only while they're polled."""
    wait_until(lambda: len(member.assignment()) == count, lambda: [each.poll(0.05) for each in (member, *others)])


def transactions(out: Path) -> None:
    """An idempotent producer; a transactional one that commits, aborts and commits; a read_committed consumer.

    The mock ends a transaction with a control record, as brokers do, but leaves its CRC zero; and as it names no
    aborted transactions in its answers, the consumer is given the aborted records too.
    """
    with MockCluster() as cluster:
        cluster.create_topic("transfers")
        with recording(out, cluster.ports):
            send(producer(cluster, "ledger-idempotent", enable_idempotence=True), "transfers", "a", "b")
            ledger = producer(cluster, "ledger", transactional_id="ledger-7")
            ledger.init_transactions()
            for number, keep in enumerate([True, False, True]):
                ledger.begin_transaction()
                send(ledger, "transfers", f"debit {number}", f"credit {number}", key=f"transfer-{number}")
                if keep:
                    ledger.commit_transaction()
                else:
                    ledger.abort_transaction()
            with consumer(cluster, "auditor", "audit", isolation_level="read_committed") as auditor:
                auditor.assign([TopicPartition("transfers", 0, 0)])
                read(auditor, 8)


def pipelined_acks0(out: Path) -> None:
    """60 requests in flight over a slow line, answered in order; then 20 with acks=0, which nobody answers."""
    with MockCluster() as cluster:
        cluster.create_topic("ticks")
        cluster.set_round_trip(1, 40)
        with recording(out, cluster.ports):
            one_a_batch = {"batch_num_messages": 1, "linger_ms": 0}
            fast = producer(cluster, "ticker", max_in_flight=100, **one_a_batch)
            fast.list_topics("ticks")  # connected, before the first record
            send(fast, "ticks", *(f"tick {number}" for number in range(60)))
            send(producer(cluster, "ticker-acks0", acks=0, **one_a_batch), "ticks", *(f"tock {n}" for n in range(20)))


def simple(out: Path, values: list[str], *, nanoseconds: bool = False, **reading: Any) -> None:
    """Values produced one by one and fetched again: for captures whose point is the capture, not the talk."""
    with MockCluster() as cluster:
        cluster.create_topic("readings")
        with recording(out, cluster.ports, nanoseconds=nanoseconds):
            sensor = producer(cluster, "sensor")
            for value in values:
                send(sensor, "readings", value, key="sensor-1")
            with consumer(cluster, "plotter", "plotters", **reading) as plotter:
                plotter.assign([TopicPartition("readings", 0, 0)])
                read(plotter, len(values))
                time.sleep(0.2)
