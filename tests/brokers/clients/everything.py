"""kafka-python, aiokafka or confluent-kafka: admin, produce, consume in a group, commit, admin.

`everything.py CLIENT ADDRESSES TOPIC GROUP WANTED` prints JSON: the values consumed, the topics, the commits.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

SENT = 3


def with_confluent(address: str, topic: str, group: str, wanted: int) -> dict[str, Any]:
    from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

    where = {"bootstrap.servers": address}
    admin = AdminClient(where)
    for future in admin.create_topics([NewTopic(f"{topic}-made", 1, 1)]).values():
        if (error := future.exception(30)) is not None and "exists" not in str(error):
            raise error
    producer = Producer(where)
    failed = []
    for number in range(SENT):
        producer.produce(
            topic, f"confluent {number}", key=str(number), on_delivery=lambda error, _: failed.append(error)
        )
    assert producer.flush(30) == 0
    assert failed == [None] * SENT, failed
    consumer = Consumer(where | {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([topic])
    consumed: list[str] = []
    while len(consumed) < wanted:
        messages = consumer.consume(wanted, 40)
        assert messages, consumed
        assert all(message.error() is None for message in messages), messages[0].error()
        consumed += [message.value().decode() for message in messages]
    consumer.commit(asynchronous=False)
    consumer.close()
    topics = list(admin.list_topics(timeout=30).topics)
    groups = [one.group_id for one in admin.list_consumer_groups().result(30).valid]
    described = admin.describe_consumer_groups([group])[group].result(30)
    offsets = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
    latest = admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.latest()})[TopicPartition(topic, 0)].result(30)
    return {
        "consumed": consumed, "topics": topics, "groups": groups, "state": described.state.name,
        "committed": sum(max(one.offset, 0) for one in offsets.topic_partitions), "latest": latest.offset,
    }  # fmt: skip


def with_kafka_python(address: str, topic: str, group: str, wanted: int) -> dict[str, Any]:
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import NewTopic
    from kafka.errors import TopicAlreadyExistsError

    admin = KafkaAdminClient(bootstrap_servers=address)
    with contextlib.suppress(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(f"{topic}-made", 1, 1)])
    producer = KafkaProducer(bootstrap_servers=address)
    for number in range(SENT):
        producer.send(topic, f"kafka-python {number}".encode(), key=str(number).encode()).get(30)
    producer.close()
    consumer = KafkaConsumer(
        topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
        consumer_timeout_ms=40_000,
    )  # fmt: skip
    consumed: list[str] = []
    for message in consumer:
        consumed.append(message.value.decode())
        if len(consumed) >= wanted:
            break
    consumer.commit()
    latest = consumer.end_offsets([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
    consumer.close()
    topics = [one["name"] if isinstance(one, dict) else one for one in admin.list_topics()]
    listed = admin.list_groups() if hasattr(admin, "list_groups") else admin.list_consumer_groups()
    groups = [one["group_id"] if isinstance(one, dict) else one[0] for one in listed]
    described = admin.describe_groups([group]) if hasattr(admin, "describe_groups") else None
    offsets = admin.list_group_offsets({group: None}) if hasattr(admin, "list_group_offsets") else {}
    return {
        "consumed": consumed, "topics": topics, "groups": groups, "state": str(described), "committed": str(offsets),
        "latest": latest,
    }  # fmt: skip


async def with_aiokafka(address: str, topic: str, group: str, wanted: int) -> dict[str, Any]:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    await admin.create_topics([NewTopic(f"{topic}-made", 1, 1)])
    producer = AIOKafkaProducer(bootstrap_servers=address)
    await producer.start()
    for number in range(SENT):
        await producer.send_and_wait(topic, f"aiokafka {number}".encode(), key=str(number).encode())
    await producer.stop()
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False
    )
    await consumer.start()
    consumed: list[str] = []
    async with asyncio.timeout(40):
        async for message in consumer:
            consumed.append(message.value.decode())
            if len(consumed) >= wanted:
                break
    await consumer.commit()
    latest = (await consumer.end_offsets([TopicPartition(topic, 0)]))[TopicPartition(topic, 0)]
    await consumer.stop()
    topics = await admin.list_topics()
    groups = [one[0] for one in await admin.list_consumer_groups()]
    (described,) = await admin.describe_consumer_groups([group])
    offsets = await admin.list_consumer_group_offsets(group)
    await admin.close()
    return {
        "consumed": consumed, "topics": topics, "groups": groups, "state": described.groups[0][2],
        "committed": sum(max(one.offset, 0) for one in offsets.values()), "latest": latest,
    }  # fmt: skip


def main() -> None:
    name, address, topic, group, wanted = sys.argv[1:]
    if name == "aiokafka":
        found = asyncio.run(with_aiokafka(address, topic, group, int(wanted)))
    else:
        client = with_confluent if name == "confluent-kafka" else with_kafka_python
        found = client(address, topic, group, int(wanted))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
