"""Record a benchmark capture: `python tests/benchmarks/record.py small|big OUT.pcap [--n N]`.

small  N Produce requests of one short record each, and a consumer fetching them: many packets, few bytes in each
       (N = 72,000 makes about 187,000 packets and 40 MB).
big    N records of about 1 KB of JSON in batches of up to 900, fetched by one consumer: few messages, long ones, in
       loopback frames of up to 64 KB (N = 103,000 makes a file of about 210 MB, every record in it twice).

The client is librdkafka, the broker is its mock cluster, held to the newest versions that tshark 4.0 decodes, so that
kdbg and tshark are measured on the same work. Needs root and tcpdump.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording.mock_cluster import MockCluster
from recording.network import enter_private_network
from recording.tcpdump import recording

NEWEST_OF_TSHARK_4_0 = {
    0: 8,  # Produce
    1: 11,  # Fetch
    2: 5,  # ListOffsets
    3: 9,  # Metadata
    8: 7,  # OffsetCommit
    10: 3,  # FindCoordinator
    18: 2,  # ApiVersions
    22: 2,  # InitProducerId
}
TOPIC, PARTITIONS = "bench", 4
BATCH = 900
LEAD = 6_000  # how many records of 1 KB the producer may be ahead of the consumer: the mock keeps 5 MB a partition
SMALL_CONSUMER: dict[str, Any] = {"fetch.wait.max.ms": 5}
BIG_CONSUMER: dict[str, Any] = {"fetch.message.max.bytes": 1 << 20, "queued.max.messages.kbytes": 1 << 16}
SMALL_PRODUCER: dict[str, Any] = {"linger.ms": 0, "batch.num.messages": 1, "max.in.flight": 5, "acks": 1}
BIG_PRODUCER: dict[str, Any] = {"linger.ms": 100, "batch.num.messages": BATCH, "batch.size": 1_000_000, "acks": "all"}


class Reader(threading.Thread):
    """A consumer that counts what it reads, until stopped."""

    def __init__(self, bootstrap: str, options: dict[str, Any]) -> None:
        super().__init__()
        self.records = 0
        self._stop_wanted = threading.Event()
        names = {"bootstrap.servers": bootstrap, "group.id": "bench", "client.id": "bench-consumer"}
        self._consumer = Consumer({**names, "enable.auto.commit": False, **options})

    def run(self) -> None:
        self._consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
        while not self._stop_wanted.is_set():
            self.records += sum(1 for message in self._consumer.consume(1000, 0.2) if not message.error())
        self._consumer.close()

    def is_behind(self, sent: int) -> bool:
        return sent - self.records > LEAD

    def stop(self) -> None:
        self._stop_wanted.set()
        self.join()


def produce_small(producer: Producer, n: int, reader: Reader) -> None:
    for number in range(n):
        value = f'{{"id":{number},"v":"small"}}'
        producer.produce(TOPIC, key=str(number), value=value, partition=number % PARTITIONS)
        producer.poll(0)
        wait_while(lambda: len(producer) > 500, producer)


def produce_big(producer: Producer, n: int, reader: Reader) -> None:
    values = list(json_values(2000))
    for number in range(n):
        key, partition = f"k{number % 1000}", number // BATCH % PARTITIONS
        producer.produce(TOPIC, key=key, value=values[number % len(values)], partition=partition)
        if number % BATCH == 0:
            wait_while(partial(reader.is_behind, number), producer)


def json_values(count: int) -> Iterator[str]:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789 "
    for _ in range(count):
        user, at = f"user-{random.randrange(10_000)}", 1_700_000_000_000 + random.randrange(10**9)
        text = "".join(random.choices(letters, k=910))
        yield json.dumps({"id": random.getrandbits(40), "user": user, "ts": at, "payload": text})


def wait_while(busy: Callable[[], bool], producer: Producer, limit: float = 120) -> None:
    end = time.monotonic() + limit
    while busy():
        producer.poll(0.005)
        if time.monotonic() > end:
            raise TimeoutError("the consumer doesn't keep up: the mock has dropped records it hadn't read")


def record(kind: str, out: Path, n: int, versions: Mapping[int, int] = NEWEST_OF_TSHARK_4_0) -> None:
    """Record a capture of n records, with the mock cluster's APIs limited to these versions."""
    if kind == "small":
        produce, producer_options, consumer_options = produce_small, SMALL_PRODUCER, SMALL_CONSUMER
    else:
        produce, producer_options, consumer_options = produce_big, BIG_PRODUCER, BIG_CONSUMER
    with MockCluster() as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        cluster.limit_versions(versions)
        with recording(out, cluster.ports, buffer_mb=400):
            reader = Reader(cluster.bootstrap, consumer_options)
            reader.start()
            names = {"bootstrap.servers": cluster.bootstrap, "client.id": "bench-producer", "log_level": 2}
            producer = Producer({**names, **producer_options})
            produce(producer, n, reader)
            producer.flush(60)
            wait_while(lambda: reader.records < n, producer, limit=30)
            reader.stop()
        print(f"{out}: {out.stat().st_size:,} bytes, port {cluster.ports[0]}, {reader.records:,} records read back")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["small", "big"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--n", type=int, help="records (default 72,000 small or 103,000 big)")
    options = parser.parse_args()
    random.seed(2)
    enter_private_network()
    record(options.kind, options.out, options.n or {"small": 72_000, "big": 103_000}[options.kind])


if __name__ == "__main__":
    main()
