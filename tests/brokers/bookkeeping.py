"""Clients whose groups, offsets, producers and transactions stay as they are while somebody asks about them.

`python -m tests.brokers.bookkeeping BOOTSTRAP` does all of it, prints READY, and lives on until its input ends. A
second word, "older", leaves out the group protocol that brokers before 4.0 do not have.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

PARTITIONS = 3
TOPICS = ("stock", "tills", "returns")
RECORDS = 5
SECONDS = 60


def create(where: str) -> None:
    """Make the topics."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": where, "client.id": "maker"})
    for done in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in TOPICS]).values():
        done.result(SECONDS)


def producer(where: str, name: str, **more: Any) -> Any:
    """Return an idempotent producer of librdkafka."""
    from confluent_kafka import Producer

    told = {"bootstrap.servers": where, "client.id": name, "enable.idempotence": True, "linger.ms": 0}
    return Producer(told | {key.replace("_", "."): value for key, value in more.items()})


def fill(made: Any, topic: str, records: int = RECORDS) -> None:
    """Write records to each partition, one batch after the other."""
    for number in range(records):
        for partition in range(PARTITIONS):
            made.produce(topic, b"%d" % number, partition=partition)
        assert made.flush(SECONDS) == 0


class Member:
    """A consumer of librdkafka in a thread of its own; it reads until it is told to stop.

    `assigned` and `read` are how many partitions it has, and how many records it read and committed.
    """

    def __init__(self, where: str, group: str, name: str, topic: str, **more: Any) -> None:
        from confluent_kafka import Consumer

        told = {"bootstrap.servers": where, "client.id": name, "group.id": group, "auto.offset.reset": "earliest",
                "enable.auto.commit": False}  # fmt: skip
        self._over = threading.Event()
        self.consumer: Any = Consumer(told | {key.replace("_", "."): value for key, value in more.items()})
        self.consumer.subscribe([topic])
        self.read = self.assigned = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            message = self.consumer.poll(0.1)
            self.assigned = len(self.consumer.assignment())
            if message is not None and message.error() is None:
                self.read += 1
                self.consumer.commit(message=message, asynchronous=False)

    def stop(self, *, leave: bool) -> None:
        """Read no more; leave the group, or stay in it."""
        self._over.set()
        self._thread.join(SECONDS)
        if leave:
            self.consumer.close()


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something to be true."""
    end = time.monotonic() + SECONDS
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.1)


def groups(where: str, *, newer: bool) -> list[Any]:
    """Start groups of the protocols, and return whom to keep alive."""
    settings: dict[str, dict[str, Any]] = {
        "classic": {"partition_assignment_strategy": "range", "session_timeout_ms": 20000},
        "cooperative": {"partition_assignment_strategy": "cooperative-sticky", "session_timeout_ms": 20000},
        **({"newer": {"group_protocol": "consumer"}} if newer else {}),
    }
    kept = []
    for group, told in settings.items():
        first = Member(where, group, f"{group}-1", "stock", **told)
        until(lambda one=first: one.assigned == PARTITIONS, f"{group}: one has all")  # type: ignore[misc]
        second = Member(where, group, f"{group}-2", "stock", group_instance_id=f"{group}-fixed", **told)
        until(lambda one=second: one.assigned > 0, f"{group}: two share")  # type: ignore[misc]
        until(lambda one=first, two=second: one.assigned + two.assigned == PARTITIONS, group)  # type: ignore[misc]
        kept += [first, second]
        gone = Member(where, f"{group}-left", f"{group}-gone", "stock", **told)
        until(lambda one=gone: one.read == PARTITIONS * RECORDS, f"{group}: all is read")  # type: ignore[misc]
        gone.stop(leave=True)
    until(lambda: sum(one.read for one in kept) >= len(settings) * PARTITIONS * RECORDS, "all is read")
    return kept


def alone(where: str) -> None:
    """Commit the offsets of a group that nobody joins."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": where, "client.id": "loner", "group.id": "nobody"})
    consumer.commit(offsets=[TopicPartition("stock", 1, 4, "by hand")], asynchronous=False)
    consumer.close()


def python(where: str) -> list[Any]:
    """Start a group of kafka-python, and write with its producer."""
    from kafka import KafkaConsumer, KafkaProducer

    consumer = KafkaConsumer(
        "stock", bootstrap_servers=where, client_id="snake", group_id="snakes", auto_offset_reset="earliest",
        enable_auto_commit=False,
    )  # fmt: skip
    over = threading.Event()
    found: list[int] = []

    def read() -> None:
        while not over.is_set():
            if any(consumer.poll(200).values()):
                consumer.commit()
                found.append(1)

    threading.Thread(target=read, daemon=True).start()
    until(lambda: bool(found), "kafka-python reads")
    made = KafkaProducer(bootstrap_servers=where, client_id="snake-maker", enable_idempotence=True)
    for number in range(RECORDS):
        made.send("tills", b"%d" % number, partition=number % PARTITIONS).get(SECONDS)
    return [consumer, made]


def transactions(where: str) -> list[Any]:
    """Write in transactions: committed, aborted, left open, and offsets with them."""
    from confluent_kafka import TopicPartition

    kept = []
    for name, ends in (("committed", (True, True)), ("aborted", (True, False)), ("open", (True, None))):
        made = producer(where, f"{name}-client", transactional_id=name, transaction_timeout_ms=600000)
        made.init_transactions(SECONDS)
        for end in ends:
            made.begin_transaction()
            fill(made, "tills", 2)
            reader = Member(where, f"{name}-sums", f"{name}-reader", "returns")
            until(lambda one=reader: one.assigned > 0, name)  # type: ignore[misc]
            reader.stop(leave=False)
            offset = TopicPartition("stock", 0, 3 if end else 4)
            made.send_offsets_to_transaction([offset], reader.consumer.consumer_group_metadata(), SECONDS)
            reader.consumer.close()
            if end is not None:
                (made.commit_transaction if end else made.abort_transaction)(SECONDS)
        kept.append(made)
    idle = producer(where, "idle-client", transactional_id="idle", transaction_timeout_ms=600000)
    idle.init_transactions(SECONDS)
    plain = producer(where, "plain")
    fill(plain, "stock", 1)
    return [*kept, idle, plain]


async def aio(where: str, ready: Callable[[], None], over: threading.Event) -> None:
    """Do the like with aiokafka, and stay until it is over."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    consumer = AIOKafkaConsumer(
        "stock", bootstrap_servers=where, client_id="eel", group_id="eels", auto_offset_reset="earliest",
        enable_auto_commit=False,
    )  # fmt: skip
    await consumer.start()
    await consumer.getone()
    await consumer.commit()
    made = AIOKafkaProducer(
        bootstrap_servers=where, client_id="eel-maker", transactional_id="eel-transactions",
        transaction_timeout_ms=500000,
    )  # fmt: skip
    await made.start()
    for number in range(3):
        await made.begin_transaction()
        await made.send_and_wait("returns", b"fish", partition=number)
        await made.send_offsets_to_transaction({TopicPartition("tills", number): number + 1}, "eel-sums")
        await (made.abort_transaction() if number == 1 else made.commit_transaction())
    ready()
    while not over.is_set():
        await asyncio.sleep(0.1)
    await consumer.stop()
    await made.stop()


def main(where: str, *, newer: bool = True) -> None:
    """Do it all; wait for the input to end."""
    create(where)
    print("TOPICS", flush=True)
    first = producer(where, "first")
    fill(first, "stock")
    over, done = threading.Event(), threading.Event()
    swimming = threading.Thread(target=lambda: asyncio.run(aio(where, done.set, over)), daemon=True)
    swimming.start()
    alone(where)
    kept = [first, *groups(where, newer=newer), *python(where), *transactions(where)]
    if not done.wait(SECONDS):
        raise TimeoutError("aiokafka")
    time.sleep(7)  # for a heartbeat of the newer protocol, every five seconds
    print("READY", len(kept), flush=True)
    sys.stdin.read()
    over.set()
    swimming.join(SECONDS)


if __name__ == "__main__":
    main(sys.argv[1], newer="older" not in sys.argv)
