"""The same errand with clients that share no code with librdkafka."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from recording.mock_cluster import MockCluster
from recording.tcpdump import recording

TOPIC = "letters"
LETTERS = [(f"sender-{number % 2}", f"letter {number}: " + "dear reader, " * 8) for number in range(4)]
HEADERS = [("stamp", b"1"), ("empty", b"")]
SEND_OPTIONS: dict[str, Any] = {"compression_type": "gzip", "linger_ms": 20}
AGE = (2, 3)  # of the broker; told of a newer one, kafka-python starts with ApiVersions v3, where the mock errs
READ_OPTIONS: dict[str, Any] = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 100}


def kafka_python(out: Path) -> None:
    """kafka-python 3: a gzip producer, a consumer group that commits."""
    with _cluster() as cluster, recording(out, cluster.ports):
        common = {"bootstrap_servers": cluster.bootstrap, "api_version": AGE}
        _kafka_python_sends(common)
        _kafka_python_reads(common)


def _kafka_python_sends(common: dict[str, Any]) -> None:
    from kafka import KafkaProducer

    sender = KafkaProducer(**common, **SEND_OPTIONS, client_id="letterbox")
    for key, value in LETTERS:
        sender.send(TOPIC, value.encode(), key=key.encode(), headers=HEADERS)
    sender.flush()
    sender.close()


def _kafka_python_reads(common: dict[str, Any]) -> None:
    from kafka import KafkaConsumer

    reader = KafkaConsumer(TOPIC, **common, **READ_OPTIONS, client_id="postman", group_id="delivery")
    for _ in LETTERS:
        next(reader)
    reader.commit()
    reader.close()


def aiokafka(out: Path) -> None:
    """aiokafka: the same."""
    with _cluster() as cluster, recording(out, cluster.ports):
        asyncio.run(_aiokafka(cluster.bootstrap))


async def _aiokafka(bootstrap: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    async with AIOKafkaProducer(bootstrap_servers=bootstrap, client_id="letterbox", **SEND_OPTIONS) as sender:
        sent = [await sender.send(TOPIC, value.encode(), key.encode(), headers=HEADERS) for key, value in LETTERS]
        await asyncio.gather(*sent)
    reading = {"bootstrap_servers": bootstrap, "client_id": "postman", "group_id": "delivery", **READ_OPTIONS}
    async with AIOKafkaConsumer(TOPIC, **reading) as reader:
        for _ in LETTERS:
            await reader.getone()
        await reader.commit()


def _cluster() -> MockCluster:
    cluster = MockCluster()
    cluster.create_topic(TOPIC, partitions=2)
    cluster.set_rebalance_delay(0)
    return cluster
