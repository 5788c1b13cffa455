"""Short calls around confluent-kafka (librdkafka), for scenarios that should read like what they record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

PATIENCE = 20.0  # seconds; every scenario is done long before
QUIET = {"enable.metrics.push": False, "log_level": 2}


class HasBootstrap(Protocol):
    """What a client needs to know of a cluster."""

    @property
    def bootstrap(self) -> str: ...


class Cluster(NamedTuple):
    """Brokers that are no mock cluster."""

    bootstrap: str


def producer(cluster: HasBootstrap, client_id: str, **options: Any) -> Producer:
    """A producer; options are librdkafka's, with underscores for dots."""
    return Producer({"bootstrap.servers": cluster.bootstrap, "client.id": client_id, **QUIET, **_dotted(options)})


@contextmanager
def consumer(cluster: HasBootstrap, client_id: str, group: str, **options: Any) -> Iterator[Consumer]:
    """A consumer that reads from the start, commits only when told, and is closed on leaving `with`."""
    names = {"bootstrap.servers": cluster.bootstrap, "client.id": client_id, "group.id": group}
    habits = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "fetch.wait.max.ms": 100}
    made = Consumer({**names, **habits, **QUIET, **_dotted(options)})
    try:
        yield made
    finally:
        made.close()


def create_topics(
    cluster: HasBootstrap,
    *names: str,
    partitions: int = 1,
    leaders: Sequence[int] | None = None,
    config: dict[str, str] | None = None,
    refused: int | None = None,
) -> None:
    """On real brokers; with one replica, or (a topic of one partition) with these, of which the first leads."""
    placed: dict[str, Any] = {"num_partitions": partitions, "replication_factor": 1}
    if leaders is not None:
        placed = {"replica_assignment": [list(leaders)], "num_partitions": 1}
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "client.id": "operator", **QUIET})
    for done in admin.create_topics([NewTopic(name, **placed, config=config or {}) for name in names]).values():
        try:
            done.result(PATIENCE)
        except KafkaException as problem:
            if problem.args[0].code() != refused:
                raise


def send(to: Producer, topic: str, *values: str | bytes | None, **options: Any) -> None:
    """Produce these values as one batch, if the producer's linger allows, and wait until they're answered."""
    for value in values:
        to.produce(topic, value, **options)
    to.flush(PATIENCE)


def read(consumer: Consumer, count: int) -> list[Message]:
    """The next count records; errors the client tells of on the way are passed over."""
    records: list[Message] = []
    wait_until(lambda: len(records) >= count, lambda: _take(consumer, records))
    return records


def wait_until(done: Callable[[], bool], meanwhile: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        meanwhile()
        if time.monotonic() > end:
            raise TimeoutError("a scenario waits for something that doesn't happen")


def _take(consumer: Consumer, records: list[Message]) -> None:
    message = consumer.poll(0.1)
    if message is not None and message.error() is None:
        records.append(message)


def _dotted(options: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in options.items()}
