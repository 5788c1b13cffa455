"""A producer and a consumer of a Python library in one process, until it is killed: session.py KEY=VALUE...

Keys are those of options.py, and library (kafka-python, aiokafka or librdkafka).
"""

from __future__ import annotations

import asyncio
import time
from threading import Thread
from typing import Any

from options import OPTIONS, context

ID, TOPIC, PAUSE = OPTIONS["id"], OPTIONS["topic"], int(OPTIONS["pause"]) / 1000


def settings() -> dict[str, Any]:
    """Those of kafka-python and aiokafka, which have the same names."""
    return {
        "bootstrap_servers": OPTIONS["bootstrap"],
        "client_id": ID,
        "security_protocol": "SASL_SSL",
        "ssl_context": context(),
        "sasl_mechanism": OPTIONS["mechanism"],
        "sasl_plain_username": OPTIONS["user"],
        "sasl_plain_password": OPTIONS["password"],
    }


def kafka_python() -> None:
    from kafka import KafkaConsumer, KafkaProducer

    def consume() -> None:
        consumer = KafkaConsumer(TOPIC, group_id=ID, fetch_max_wait_ms=100, **settings())
        while True:
            consumer.poll(100)

    Thread(target=consume, daemon=True).start()
    producer = KafkaProducer(**settings())
    while True:
        producer.send(TOPIC, b"value").get(10)
        time.sleep(PAUSE)


async def aiokafka() -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    async def consume() -> None:
        async with AIOKafkaConsumer(TOPIC, group_id=ID, fetch_max_wait_ms=100, **settings()) as consumer:
            async for _ in consumer:
                pass

    consuming = asyncio.create_task(consume())
    async with AIOKafkaProducer(**settings()) as producer:
        while not consuming.done():
            await producer.send_and_wait(TOPIC, b"value")
            await asyncio.sleep(PAUSE)
    await consuming


def librdkafka() -> None:
    from confluent_kafka import Consumer, Producer

    shared = {
        "bootstrap.servers": OPTIONS["bootstrap"],
        "client.id": ID,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": OPTIONS["ca"],
        "sasl.mechanisms": OPTIONS["mechanism"],
        "sasl.username": OPTIONS["user"],
        "sasl.password": OPTIONS["password"],
    }

    def consume() -> None:
        consumer = Consumer({**shared, "group.id": ID, "fetch.wait.max.ms": 100})
        consumer.subscribe([TOPIC])
        while True:
            consumer.poll(0.1)

    Thread(target=consume, daemon=True).start()
    producer = Producer({**shared, "linger.ms": 0})
    while True:
        producer.produce(TOPIC, b"value")
        producer.flush(10)
        time.sleep(PAUSE)


if OPTIONS["library"] == "aiokafka":
    asyncio.run(aiokafka())
else:
    {"kafka-python": kafka_python, "librdkafka": librdkafka}[OPTIONS["library"]]()
