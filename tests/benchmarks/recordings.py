"""Traffic of more kinds than record.py's two, by real clients: `python tests/benchmarks/recordings.py NAME OUT.pcap`.

none, gzip, snappy, lz4, zstd
          40,000 records of some 170 bytes, the same under every codec, produced by librdkafka in batches of 8 and read
          back batch by batch
newest    what `record.py small` records, 20,000 of it, in the newest versions that librdkafka and its mock cluster
          speak: all flexible, and Fetch by topic id
java      the same by Apache Kafka's own client and broker, which know topic ids in Produce, too
topics    a client that asks again and again for the metadata of 1,000 topics
wide      a consumer of 500 topics; each of them gets a record now and then
groups    six consumers in three groups, with heartbeats, that commit behind every few records

Needs root and tcpdump; java and topics also Java, and Kafka's jars as tests/brokers has them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

sys.path.insert(0, str(Path(__file__).parents[1]))
from record import NEWEST_OF_TSHARK_4_0, TOPIC, record
from recording import real
from recording.librdkafka import PATIENCE, create_topics, wait_until
from recording.mock_cluster import MockCluster
from recording.network import enter_private_network
from recording.tcpdump import recording

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS, BATCH, AHEAD = 40_000, 8, 100
"""Of the captures of codecs; so many batches the producer is ahead of the consumer."""
SMALL = 20_000
TOPICS, ASKED = 1_000, 100
WIDE, ROUNDS = 500, 20
GROUPS, MEMBERS, COMMITTED = 3, 2, 6_000
KAFKA = "4"
BUFFER_MB = 400


@contextmanager
def recorded(out: Path, topics: dict[str, int]) -> Iterator[str]:
    """A mock cluster with topics of so many partitions, and its address; all that is said to it is recorded."""
    with MockCluster() as cluster:
        for name, partitions in topics.items():
            cluster.create_topic(name, partitions)
        cluster.limit_versions(NEWEST_OF_TSHARK_4_0)
        with recording(out, cluster.ports, buffer_mb=BUFFER_MB):
            yield cluster.bootstrap


class Reader:
    """A consumer that counts what it reads; options are librdkafka's."""

    def __init__(self, bootstrap: str, group: str = "bench", **options: Any) -> None:
        names = {"bootstrap.servers": bootstrap, "group.id": group, "client.id": "bench-consumer", "log_level": 2}
        habits = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 5}
        self.consumer = Consumer({**names, **habits, **dotted(options)})
        self.records = 0

    def read(self, most: int = 1_000) -> None:
        self.records += sum(not message.error() for message in self.consumer.consume(most, 0.2))

    def read_on(self, wanted: int) -> None:
        """Until so many have been read in all."""
        wait_until(lambda: self.records >= wanted, self.read)


def producer(bootstrap: str, **options: Any) -> Producer:
    names = {"bootstrap.servers": bootstrap, "client.id": "bench-producer", "log_level": 2}
    return Producer({**names, **dotted(options)})


def dotted(options: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): option for name, option in options.items()}


def codec(out: Path, name: str) -> None:
    """No request and no answer has more than one batch, so that all codecs' captures hold the same messages."""
    random.seed(4)
    with recorded(out, {TOPIC: 1}) as bootstrap:
        writer = producer(bootstrap, linger_ms=1_000, batch_num_messages=BATCH, compression_type=name)
        reader = Reader(bootstrap, fetch_message_max_bytes=1, fetch_wait_max_ms=100)
        reader.consumer.assign([TopicPartition(TOPIC, 0, 0)])
        for start in range(0, RECORDS, BATCH * AHEAD):
            for number in range(start, start + BATCH * AHEAD):
                writer.produce(TOPIC, order(number), f"customer-{number % 100}")
            writer.flush(PATIENCE)
            reader.read_on(start + BATCH * AHEAD)
        reader.consumer.close()


def order(number: int) -> str:
    """A record that a codec can make something of."""
    items = [{"sku": f"A-{random.randrange(500):04}", "count": random.randrange(1, 5)} for _ in range(3)]
    return json.dumps({"order": number, "currency": "EUR", "status": "created", "items": items})


def newest(out: Path) -> None:
    record("small", out, SMALL, versions={})


def java(out: Path) -> None:
    with real.kafka(KAFKA) as cluster:
        create_topics(cluster.brokers[0], TOPIC)
        with recording(out, real.ports(cluster), buffer_mb=BUFFER_MB):
            real.run_java(cluster, "OneByOne", TOPIC, str(SMALL))


def regions(count: int) -> list[str]:
    """Names of topics; the mock cluster makes a topic, of four partitions, when a producer asks for it."""
    return [f"orders-of-region-{number:04}" for number in range(count)]


def topics(out: Path) -> None:
    """The mock cluster's answers of these versions have bytes too many, a real broker's have not."""
    with real.kafka(KAFKA) as cluster:
        create_topics(cluster.brokers[0], *regions(TOPICS))
        with recording(out, real.ports(cluster), buffer_mb=BUFFER_MB):
            operator = AdminClient({"bootstrap.servers": cluster.bootstrap, "client.id": "operator", "log_level": 2})
            for _ in range(ASKED):
                operator.list_topics(timeout=PATIENCE)


def wide(out: Path) -> None:
    with recorded(out, {}) as bootstrap:
        writer, reader = producer(bootstrap, linger_ms=5), Reader(bootstrap, fetch_wait_max_ms=100)
        for number in range(ROUNDS):
            for name in regions(WIDE):
                writer.produce(name, order(number), partition=0)
            writer.flush(PATIENCE)
            if not number:
                reader.consumer.assign([TopicPartition(name, 0, 0) for name in regions(WIDE)])
            reader.read_on((number + 1) * WIDE)
        reader.consumer.close()


def groups(out: Path) -> None:
    with recorded(out, {TOPIC: 4}) as bootstrap:
        writer = producer(bootstrap)
        often: dict[str, Any] = {"heartbeat_interval_ms": 10, "session_timeout_ms": 6_000}
        members = [Reader(bootstrap, f"readers-{number % GROUPS}", **often) for number in range(GROUPS * MEMBERS)]
        for member in members:
            member.consumer.subscribe([TOPIC])
        for number in range(COMMITTED):
            writer.produce(TOPIC, order(number), partition=number % 4)
        writer.flush(PATIENCE)
        wait_until(lambda: sum(member.records for member in members) >= COMMITTED * GROUPS, partial(commit, members))
        for member in members:
            member.consumer.close()


def commit(members: list[Reader]) -> None:
    """Let each read a few records, and commit behind them."""
    for member in members:
        before = member.records
        member.read(5)
        if member.records > before:
            member.consumer.commit(asynchronous=False)


RECORDINGS: dict[str, Callable[[Path], None]] = {
    **{name: partial(codec, name=name) for name in CODECS},
    "newest": newest, "java": java, "topics": topics, "wide": wide, "groups": groups,
}  # fmt: skip
OF_BROKERS = {"java", "topics"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=RECORDINGS)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    if options.name in OF_BROKERS:
        real.install_kafka(KAFKA)
    enter_private_network()
    RECORDINGS[options.name](options.out)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
