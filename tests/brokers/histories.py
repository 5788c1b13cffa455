"""Topics with a past: every codec was written, transactions came to an end, a group committed, the cleaner cleaned.

`live(broker)` writes them all; they are on disk when the broker has been stopped.
"""

from __future__ import annotations

import asyncio
import time

from confluent_kafka import Consumer, Producer, TopicPartition

from kdbg.live.client.cluster import Cluster
from kdbg.live.client.settings import Settings
from kdbg.protocol import grammars

from .broker import Broker
from .recordsets import body_of, record_set
from .waiting import until

PRODUCE = grammars.api("Produce")
CODECS, COMPACTED, MONEY = "codecs", "compacted", "money"
"""The topics: one batch a codec; few keys, many times; transactions that were committed and aborted."""
OLD_CODECS = ("none", "gzip", "snappy", "lz4")
ROUNDS, SEGMENT_MS = 12, 50
BATCHES_SINCE, OFFSETS_SINCE = (0, 11), (0, 10)
"""Releases with record batches and transactions (KIP-98); with groups that today's librdkafka can be in."""


def format_topic(magic: int) -> str:
    """The topic that a broker of 2.8 keeps in messages of an old format."""
    return f"magic-{magic}"


def live(broker: Broker) -> None:
    """Write all topics that the broker's release can have."""
    newest = 2 if broker.release.number >= BATCHES_SINCE else 1 if broker.release.number >= (0, 10) else 0
    write_codecs(broker, CODECS, newest)
    if (0, 10) < broker.release.number < (3,):
        for magic, version in enumerate(("0.9.0", "0.10.0")):
            broker.create_topic(format_topic(magic), config={"message.format.version": version})
            write_codecs(broker, format_topic(magic), magic)
    if broker.release.number >= OFFSETS_SINCE:
        write_compacted(broker)
        commit_offsets(broker)
    if broker.release.number >= BATCHES_SINCE:
        write_transactions(broker)


def write_codecs(broker: Broker, topic: str, magic: int) -> None:
    """One batch, or one set of messages, with every codec."""
    if topic == CODECS:
        broker.create_topic(topic)
    codecs = (*OLD_CODECS, "zstd") if magic == 2 else OLD_CODECS

    async def produce() -> None:
        async with Cluster(broker.bootstrap, Settings()) as cluster:
            for codec in codecs:
                place = {"index": 0, "records": record_set(f"v{magic}", codec)}
                body = {"acks": -1, "timeout_ms": 10_000, "topic_data": [{"name": topic, "partition_data": [place]}]}
                answer = body_of(await cluster.send(PRODUCE, body, version=(0, 2, 7)[magic]))
                assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0

    asyncio.run(produce())


def write_compacted(broker: Broker) -> None:
    """Rounds of the same two keys and a new one, in segments of their own, which the cleaner has gone over."""
    config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": str(SEGMENT_MS)}
    broker.create_topic(COMPACTED, config=config)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    for number in range(ROUNDS):
        for key in ("again", "and again", f"only in {number}"):
            producer.produce(COMPACTED, f"round {number}", key)
        producer.flush()
        time.sleep(2 * SEGMENT_MS / 1000)  # what comes then begins a new segment
    done = broker.data / "cleaner-offset-checkpoint"
    until(lambda: done.exists() and COMPACTED in done.read_text(), lambda: "the log cleaner does nothing")


def commit_offsets(broker: Broker) -> None:
    """A group that was joined, and committed what it had read."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe([CODECS])
    until(lambda: (found := consumer.poll(0.5)) is not None and not found.error(), lambda: "nothing to consume")
    consumer.commit(asynchronous=False)
    consumer.commit(offsets=[TopicPartition(CODECS, 0, 3)], asynchronous=False)
    consumer.close()


def write_transactions(broker: Broker) -> None:
    """One committed, one aborted, one left open."""
    broker.create_topic(MONEY)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "teller", "linger.ms": 0})
    producer.init_transactions()
    for number, end in enumerate((producer.commit_transaction, producer.abort_transaction, producer.flush)):
        producer.begin_transaction()
        producer.produce(MONEY, f"transfer {number}", "from")
        producer.produce(MONEY, None, "to", headers=[("trace", b"\x01")])
        producer.flush()
        end()
