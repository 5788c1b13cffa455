"""What stands inside messages: requests that a broker forwards to the controller, metrics that clients push."""

from __future__ import annotations

import time
from pathlib import Path

from brokers import console
from brokers.settings import CONTROLLER
from confluent_kafka import KafkaError

from recording import real
from recording.librdkafka import Cluster, create_topics, producer, send
from recording.tcpdump import recording

ALICE = ("--entity-type", "users", "--entity-name", "alice", "--add-config", "SCRAM-SHA-256=[password=correct-horse]")
METRICS = "[org.apache.kafka.producer.connection,org.apache.kafka.producer.request,org.apache.kafka.producer.node]"
EACH_SECOND = ("--entity-type", "client-metrics", "--entity-name", "all")
EACH_SECOND += ("--add-config", f"interval.ms=1000,metrics={METRICS}")


def envelope(out: Path) -> None:
    """A topic, the same again, and a user with a password: the broker can do none of it and asks the controller."""
    with real.kafka("3.9") as cluster:
        broker = cluster.brokers[0]
        controller = int(broker.listener(CONTROLLER).rpartition(":")[2])
        with recording(out, [*real.ports(cluster), controller]):
            create_topics(cluster, "orders", config={"retention.ms": "86400000"})
            create_topics(cluster, "orders", refused=KafkaError.TOPIC_ALREADY_EXISTS)
            broker.run("ConfigCommand", "--bootstrap-server", cluster.bootstrap, "--alter", *ALICE)


def telemetry(out: Path) -> None:
    """Metrics that a producer of librdkafka pushes each second, and one of Java when it closes."""
    with real.plugin("4.4", "MetricsSink"), real.kafka("4.4") as cluster:
        broker = cluster.brokers[0]
        broker.create_topic("orders")
        broker.run("ConfigCommand", "--bootstrap-server", cluster.bootstrap, "--alter", *EACH_SECOND)
        with recording(out, real.ports(cluster)):
            console.produce(broker, "orders", "tea", "pots")
            shop = producer(Cluster(cluster.bootstrap), "shop", enable_metrics_push=True)
            send(shop, "orders", "cups")
            time.sleep(2.5)


def sasl_tokens(out: Path) -> None:
    """OAUTHBEARER with an extension, then with the token has expired; SCRAM with a delegation token."""
    with real.kafka("3.9", secure=True) as cluster:
        address = cluster.brokers[0].listener("SASL_PLAINTEXT")
        with recording(out, [int(address.rpartition(":")[2])]):
            real.run_java(cluster, "Tokens", address)
