"""Talk of former times: message sets of magic 0 and 1, early versions of the group APIs, SASL without headers."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import TopicPartition

from recording import old_client
from recording.api_keys import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SASL_HANDSHAKE,
    SYNC_GROUP,
)
from recording.librdkafka import Cluster, consumer, producer, read, send
from recording.mock_cluster import MockCluster
from recording.network import FIRST_BROKER_PORT
from recording.old_broker import OldBroker
from recording.scripted_broker import api_versions, scripted_broker
from recording.tcpdump import recording
from recording.wire_bytes import array, string

OLD_CODECS = ("none", "gzip", "snappy", "lz4")
VERSIONS_OF_0_11 = {
    PRODUCE: 3,
    FETCH: 4,
    LIST_OFFSETS: 1,
    METADATA: 2,
    OFFSET_COMMIT: 2,
    OFFSET_FETCH: 1,
    FIND_COORDINATOR: 0,
    JOIN_GROUP: 1,
    HEARTBEAT: 0,
    LEAVE_GROUP: 0,
    SYNC_GROUP: 0,
}


def old_versions(out: Path) -> None:
    """The three record formats: brokers like 0.9 (magic 0), 0.10 (magic 1) and 0.11 (magic 2), with a group."""
    port = FIRST_BROKER_PORT
    with MockCluster() as cluster, recording(out, [*cluster.ports, port + 1, port + 2]):
        _message_sets(port + 1, "magic0", produce=1, fetch=1)
        _message_sets(port + 2, "magic1", produce=2, fetch=3)
        _first_batches(cluster)


def _message_sets(port: int, name: str, *, produce: int, fetch: int) -> None:
    topics = {codec: f"{name}-{codec}" for codec in OLD_CODECS}
    broker = OldBroker(port, list(topics.values()), records=3, produce=produce, fetch=fetch)
    with scripted_broker(port, broker.answers()):
        address = Cluster(f"127.0.0.1:{port}")
        for codec, topic in topics.items():
            _send_three(address, topic, codec)
        with consumer(address, f"{name}-reader", "readers") as reader:
            reader.assign([TopicPartition(topic, 0, 0) for topic in topics.values()])
            read(reader, 3 * len(topics))


def _first_batches(cluster: MockCluster) -> None:
    cluster.create_topic("magic2")
    cluster.limit_versions(VERSIONS_OF_0_11)
    cluster.set_rebalance_delay(0)
    for codec in OLD_CODECS:
        _send_three(cluster, "magic2", codec)
    with consumer(cluster, "magic2-reader", "readers") as reader:
        reader.subscribe(["magic2"])
        read(reader, 3 * len(OLD_CODECS))
        reader.commit(asynchronous=False)


def _send_three(cluster: Cluster | MockCluster, topic: str, codec: str) -> None:
    sender = producer(cluster, f"{topic}-sender", compression_type=codec, linger_ms=50)
    send(sender, topic, *(f"{codec} {number} " + "abc" * 20 for number in range(3)), key=codec)


def sasl_plain_raw(out: Path) -> None:
    """SaslHandshake v0, a bare token, an empty one back, then Kafka as usual; then a wrong password, and the end."""
    port = FIRST_BROKER_PORT
    versions = [(PRODUCE, 0, 2), (FETCH, 0, 2), (METADATA, 0, 1), (SASL_HANDSHAKE, 0, 0), (API_VERSIONS, 0, 0)]
    answers = {
        **OldBroker(port, ["secrets"], records=1, produce=2, fetch=2).answers(),
        (SASL_HANDSHAKE, 0): lambda request: b"\0\0" + array([string("PLAIN")]),
        (API_VERSIONS, 0): lambda request: api_versions(*versions),
    }
    with recording(out, [port]), scripted_broker(port, answers, ("alice", "correct-horse")):
        for password in ("correct-horse", "wrong-horse"):
            old_client.run("login", f"127.0.0.1:{port}", "alice", password)
