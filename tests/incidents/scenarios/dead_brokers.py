"""Brokers that die and stay dead: one of three, and two of three."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from functools import partial

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from ..clusters import DISKS, LOG_DIRS
from ..foreign import java_client
from ..incident import Incident, Packets, Shown
from ..stage import PATIENCE, Stage, ended
from .administration import script, tried
from .groups import SHORT, alive, polled

FIRST, SECOND, THIRD = "127.0.0.21:9092", "127.0.0.22:9092", "127.0.0.23:9092"
DISK = "127.0.0.91:9092"
CLIENTS = "tcp and not port 9990 and host 127.0.0.1"
"""What clients send and receive; the brokers' own requests are left out."""


def one_killed(stage: Stage, down: bool = True) -> None:
    """A broker is killed; others lead its partitions then, and clients try to reach it until the end."""
    stage.topic("orders", replicas=[[2, 1], [3, 2]])
    options = SHORT | {"session_timeout_ms": 10_000, "topic_metadata_refresh_interval_ms": 1000}
    with (
        stage.recording(CLIENTS),
        stage.producer("order-api", retry_backoff_ms=300, topic_metadata_refresh_interval_ms=1000) as writer,
        stage.consumer("order-mailer", "order-mailers", "orders", **options) as reader,
    ):
        alive(writer, reader, topic="orders", seconds=3)
        stage.fails_now()
        if down:
            stage.cluster.brokers[1].kill()
        alive(writer, reader, topic="orders", seconds=11)
        writer.flush(PATIENCE)


def one_killed_under_java(stage: Stage, down: bool = True) -> None:
    stage.topic("bills", replicas=[[2, 1], [3, 2]])
    told = {"bootstrap.servers": stage.bootstrap, "do.pause": 200, "metadata.max.age.ms": 2000}
    told |= {"request.timeout.ms": 9000, "delivery.timeout.ms": 20_000, "max.block.ms": 20_000}
    with stage.recording(CLIENTS):
        writer = java_client("produce", "bills", told | {"client.id": "bill-run", "do.count": 50})
        time.sleep(5)
        stage.fails_now()
        if down:
            stage.cluster.brokers[1].kill()
        ended(writer)


def quorum_lost(stage: Stage, down: bool = True) -> None:
    """Two of three controllers are gone: nothing that changes metadata can be done."""
    stage.topic("orders", replicas=[[1, 2]])
    stage.no_topic("orders-2026")
    admin = script("deploy-job", stage.bootstrap)
    traffic = "tcp and not port 9990 and host 127.0.0.21"  # what is left tries to reach the others too often
    with stage.recording(traffic), stage.producer("order-api", acks="all", socket_timeout_ms=4000) as writer:
        writer.produce("orders", "order 0")
        writer.flush(PATIENCE)
        stage.fails_now()
        if down:
            for broker in stage.cluster.brokers[1:]:
                broker.kill()
        for number in range(3):
            made = admin.create_topics([NewTopic("orders-2026", 1, 1)], operation_timeout=2, request_timeout=3)
            writer.produce("orders", f"order {number + 1}")
            with suppress(KafkaException):
                made["orders-2026"].result(PATIENCE)
            writer.flush(3)
            polled(seconds=0.3)


def disk_lost(stage: Stage) -> None:
    """One of a broker's two log directories goes away, as with a volume that is unmounted."""
    admin = script("setup", DISK)
    names = [f"meter-{number}" for number in range(4)]
    tried(admin.create_topics([NewTopic(name, 1, 1, config={"segment.ms": "500"}) for name in names]))
    time.sleep(2)
    (name, *_) = [name for name in names if (LOG_DIRS[1] / f"{name}-0").is_dir()]
    with stage.recording(), stage.producer("meter-hub", linger_ms=0, retry_backoff_ms=300) as writer:
        for number in range(24):
            if number == 6:
                stage.fails_now()
                shutil.rmtree(LOG_DIRS[1])
            writer.produce(name, f"reading {number}")
            writer.poll(0)
            time.sleep(0.3)
        writer.flush(3)


INCIDENTS = (
    Incident(
        "broker-killed-librdkafka", "broker-down", "three", one_killed, {"broker": SECOND},
        (Packets("R", address="127.0.0.22", at_least=4), Shown("Produce", client_id="order-api", at_least=10)),
        "start the broker again", partial(one_killed, down=False),
    ),
    Incident(
        "broker-killed-java", "broker-down", "three", one_killed_under_java, {"broker": SECOND},
        (Packets("R", address="127.0.0.22", at_least=3), Shown("Produce", client_id="bill-run", at_least=10)),
        "start the broker again", partial(one_killed_under_java, down=False),
    ),
    Incident(
        "log-directory-lost", "log-directory-failed", DISKS, disk_lost, {"client_id": "meter-hub", "broker": DISK},
        (Shown("Produce", "KAFKA_STORAGE_ERROR", client_id="meter-hub"),), "bring the volume back, restart the broker",
    ),
    Incident(
        "controllers-without-majority", "controller-quorum-lost", "three", quorum_lost,
        {"client_id": ["deploy-job", "order-api"], "broker": [FIRST, SECOND, THIRD]},
        (Shown("Produce", client_id="order-api", unanswered=True),),
        "start the other brokers again", partial(quorum_lost, down=False),
    ),
)  # fmt: skip
