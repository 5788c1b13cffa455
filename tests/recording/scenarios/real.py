"""Real Apache Kafka of every generation, with real clients: what its brokers answer, and say to each other."""

from __future__ import annotations

import time
from pathlib import Path

from brokers import console
from brokers.broker import Broker
from confluent_kafka import Consumer, KafkaError, TopicPartition

from recording import old_client, real
from recording.librdkafka import Cluster, consumer, create_topics, producer, read, send, wait_until
from recording.scenarios.everyday import CODECS, send_parcels
from recording.tcpdump import recording

PASSWORDS = ("correct-horse", "wrong-horse")
RECOMPRESSED = "parcels-recompressed"


def kafka_0_8(out: Path) -> None:
    """The Scala producer and consumer of the time, offsets kept by Kafka; kafka-python, offsets kept in ZooKeeper."""
    with real.kafka("0.8") as cluster, recording(out, real.ports(cluster)):
        broker = cluster.brokers[0]
        broker.create_topic("orders")
        for codec in ("gzip", "snappy"):
            console.produce(broker, "orders", f"{codec} tea", f"{codec} pots", options=("--compression-codec", codec))
        properties = _properties(cluster.home, {"group.id": "billing", **OFFSETS_IN_KAFKA})
        console.consume(broker, "orders", 4, ("--consumer.config", properties))
        for release in ("0.8.1", "0.8.2"):
            old_client.run("group", cluster.bootstrap, release)


IDEMPOTENT = "enable.idempotence=true"
OFFSETS_IN_KAFKA = {"offsets.storage": "kafka", "dual.commit.enabled": "false"}


def kafka_0_10(out: Path) -> None:
    """Java's new consumer of the time in a group of one, after its producer with lz4; then librdkafka likewise."""
    with real.kafka("0.10") as cluster, recording(out, real.ports(cluster)):
        broker = cluster.brokers[0]
        broker.create_topic("orders")
        console.produce(broker, "orders", "tea", "pots", options=("--compression-codec", "lz4"))
        prompt = {"group.id": "billing", "heartbeat.interval.ms": "300", "auto.offset.reset": "earliest"}
        properties = _properties(cluster.home, prompt)
        console.consume(broker, "orders", 9, ("--consumer.config", properties, "--timeout-ms", "2000"))
        for codec in ("none", "gzip", "snappy", "lz4"):
            sender = producer(Cluster(cluster.bootstrap), f"sender-{codec}", compression_type=codec, linger_ms=50)
            send(sender, "parcels", *(f"{codec} {number} " + "abc" * 20 for number in range(3)), key=codec)
        with consumer(Cluster(cluster.bootstrap), "office-1", "office", heartbeat_interval_ms=300) as office:
            office.subscribe(["parcels"])
            read(office, 12)
            office.commit(asynchronous=False)
            office.poll(1)


def kafka_2_8(out: Path) -> None:
    """Kafka's own tools: an idempotent producer, a static member, then the group described and records deleted."""
    with real.kafka("2.8") as cluster, recording(out, real.ports(cluster)):
        broker = cluster.brokers[0]
        broker.create_topic("orders")
        zstd = ("--compression-codec", "zstd", "--request-required-acks", "all", "--producer-property", IDEMPOTENT)
        console.produce(broker, "orders", "tea", "pots", "cups", options=zstd)
        static = {"group.id": "billing", "group.instance.id": "billing-1", "heartbeat.interval.ms": "300"}
        properties = _properties(cluster.home, static)
        console.consume(broker, "orders", 9, ("--consumer.config", properties, "--timeout-ms", "2000"))
        where = ("--bootstrap-server", cluster.bootstrap)
        broker.run("ConsumerGroupCommand", *where, "--describe", "--group", "billing")
        retention = ("--entity-type", "topics", "--entity-name", "orders", "--add-config", "retention.ms=86400000")
        broker.run("ConfigCommand", *where, "--alter", *retention)
        _delete_records(broker, cluster.home)


def _delete_records(broker: Broker, home: Path) -> None:
    up_to = home / "delete.json"
    up_to.write_text('{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 1}]}')
    broker.run("DeleteRecordsCommand", "--bootstrap-server", broker.bootstrap, "--offset-json-file", str(up_to))


def rebalance(out: Path) -> None:
    """Java's consumers, cooperative-sticky: one member, two, one."""
    with real.kafka("3.9") as cluster:
        create_topics(cluster, "rides", partitions=4)
        with recording(out, real.ports(cluster)):
            real.run_java(cluster, "Rebalance")


def transactions(out: Path) -> None:
    """Java's exactly-once loop with the second kind of transactions, librdkafka's with the first."""
    with real.kafka("4.4") as cluster:
        create_topics(cluster, "orders", "transfers")
        with recording(out, real.ports(cluster)):
            real.run_java(cluster, "Transactions")
            _librdkafka_transactions(Cluster(cluster.bootstrap))


def _librdkafka_transactions(cluster: Cluster) -> None:
    ledger = producer(cluster, "ledger-c", transactional_id="ledger-8")
    ledger.init_transactions()
    with consumer(cluster, "bookkeeper-c", "bookkeepers", isolation_level="read_committed") as keeper:
        keeper.assign([TopicPartition("transfers", 0, 0)])
        read(keeper, 4)
        ledger.begin_transaction()
        send(ledger, "transfers", "debit 5", "credit 5")
        offsets = keeper.position([TopicPartition("transfers", 0)])
        ledger.send_offsets_to_transaction(offsets, keeper.consumer_group_metadata())
        ledger.commit_transaction()
        ledger.begin_transaction()
        send(ledger, "transfers", "debit 6")
        ledger.abort_transaction()
        read(keeper, 2)


def new_group(out: Path) -> None:
    """The group protocol of KIP-848: a member of librdkafka has four partitions, one of Java's takes two and leaves."""
    with real.kafka("4.4") as cluster:
        create_topics(cluster, "rides", partitions=4)
        here = Cluster(cluster.bootstrap)
        kind = {"group_protocol": "consumer", "fetch_wait_max_ms": 500}
        with recording(out, real.ports(cluster)), consumer(here, "driver-a", "drivers", **kind) as a:
            a.subscribe(["rides"])
            send(producer(here, "dispatcher"), "rides", *(f"to station {number}" for number in range(4)))
            read(a, 4)
            a.commit(asynchronous=False)
            _wait_for(a, 4)
            other = real.start_java(cluster, "NewGroupMember")
            wait_until(lambda: other.poll() is not None, lambda: a.poll(0.1))
            _wait_for(a, 4)
        if other.returncode:
            raise RuntimeError("NewGroupMember.java failed")


def _wait_for(member: Consumer, count: int) -> None:
    wait_until(lambda: len(member.assignment()) == count, lambda: member.poll(0.1))


def share_group(out: Path) -> None:
    """A share group of one Java member: records accepted, released, rejected."""
    with real.kafka("4.4") as cluster:
        create_topics(cluster, "jobs")
        with recording(out, real.ports(cluster)):
            real.run_java(cluster, "ShareGroup")


def codecs(out: Path) -> None:
    """One producer a codec, one consumer for all; and a topic whose broker turns gzip into zstd of its own."""
    with real.kafka("4.4") as cluster, recording(out, real.ports(cluster)):
        here = Cluster(cluster.bootstrap)
        topics = [f"parcels-{codec}" for codec in CODECS]
        create_topics(here, *topics)
        create_topics(here, RECOMPRESSED, config={"compression.type": "zstd"})
        for codec, topic in zip(CODECS, topics, strict=True):
            send_parcels(here, codec, topic)
        send_parcels(here, "gzip", RECOMPRESSED)
        with consumer(here, "sorting-office", "sorting") as office:
            office.assign([TopicPartition(topic, 0, 0) for topic in (*topics, RECOMPRESSED)])
            read(office, 6 * (len(topics) + 1))


def errors(out: Path) -> None:
    """Three brokers: a leader that moved, a record too large, topics that are not there or there already, a member
    expelled, an offset out of range; and what the brokers say to each other meanwhile."""
    with real.kafka("4.4", nodes=3) as cluster:
        here = Cluster(cluster.bootstrap)
        create_topics(here, "orders", leaders=[1, 2], config={"max.message.bytes": "1000"})
        with recording(out, real.ports(cluster)):
            shop = producer(here, "shop", retry_backoff_ms=50)
            send(shop, "orders", "order 1")
            real.run_java(cluster, "Trouble", "leader")
            send(shop, "orders", "order 2, first to the old leader")
            send(shop, "orders", "order 3, too large: " + "x" * 2000)
            create_topics(here, "orders", refused=KafkaError.TOPIC_ALREADY_EXISTS)
            create_topics(here, "no/such/name", refused=KafkaError.TOPIC_EXCEPTION)
            with consumer(here, "billing-1", "billing", heartbeat_interval_ms=300) as billing:
                billing.subscribe(["orders", "ghosts"])
                read(billing, 2)
                _be_expelled(cluster, billing)
            with consumer(here, "archivist", "archive") as archivist:
                archivist.assign([TopicPartition("orders", 0, 1000)])
                read(archivist, 2)


def _be_expelled(cluster: real.Cluster, billing: Consumer) -> None:
    assigned: list[int] = []
    operator = real.start_java(cluster, "Trouble", "expel")
    billing.subscribe(["orders", "ghosts"], on_assign=lambda member, partitions: assigned.append(len(partitions)))
    wait_until(lambda: operator.poll() is not None, lambda: billing.poll(0.1))
    time.sleep(0.5)
    wait_until(lambda: len(assigned) > 0 and len(billing.assignment()) == 1, lambda: billing.poll(0.1))


def sasl_scram(out: Path) -> None:
    """SCRAM-SHA-512: a producer that is let in, one with a wrong password; PLAIN by kafka-python of 2020."""
    with real.kafka("3.9", secure=True) as cluster:
        address = cluster.brokers[0].listener("SASL_PLAINTEXT")
        with recording(out, [int(address.rpartition(":")[2])]):
            for password in PASSWORDS:
                _send_as_alice(Cluster(address), password)
            for password in PASSWORDS:
                old_client.run("login", address, "alice", password)


def _send_as_alice(cluster: Cluster, password: str) -> None:
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "alice"}
    vault = producer(cluster, "vault", **login, sasl_password=password, reconnect_backoff_ms=10_000)
    vault.produce("secrets", "the invented one", key=password)
    vault.flush(5 if password == PASSWORDS[0] else 2)
    vault.purge()


def javascript(out: Path) -> None:
    """kafkajs: an idempotent gzip producer, a consumer group."""
    with real.kafka("3.9") as cluster:
        create_topics(cluster, "letters", partitions=2)
        with recording(out, real.ports(cluster)):
            real.run_javascript(cluster, "letters")


def go(out: Path) -> None:
    """franz-go: an idempotent snappy producer, a consumer group."""
    with real.kafka("3.9") as cluster:
        create_topics(cluster, "letters", partitions=2)
        with recording(out, real.ports(cluster)):
            real.run_go(cluster)


def _properties(home: Path, properties: dict[str, str]) -> str:
    path = home / "consumer.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return str(path)
