"""What Kafka keeps in topics of its own: copied from broker to broker, so that no client has to read it."""

from __future__ import annotations

from pathlib import Path

from brokers.settings import CONTROLLER

from recording import real
from recording.librdkafka import HasBootstrap, consumer, create_topics, producer, read, send
from recording.tcpdump import recording


def internal_topics(out: Path) -> None:
    """Two brokers that keep two copies: a topic is made, a transaction ends, a group commits what it has read."""
    with real.kafka("4.4", nodes=2) as cluster:
        controllers = [int(broker.listener(CONTROLLER).rpartition(":")[2]) for broker in cluster.brokers]
        with recording(out, [*real.ports(cluster), *controllers]):
            _pay(cluster, "payments")


def _pay(cluster: HasBootstrap, topic: str) -> None:
    create_topics(cluster, topic)
    till = producer(cluster, "till-1", transactional_id=f"till-{topic}")
    till.init_transactions()
    till.begin_transaction()
    send(till, topic, "3 euro", "4 euro")
    till.commit_transaction()
    with consumer(cluster, "bookkeeper-1", f"books-of-{topic}") as bookkeeper:
        bookkeeper.subscribe([topic])
        read(bookkeeper, 2)
        bookkeeper.commit(asynchronous=False)
