"""Producers whose records are refused, lost, held up or badly spread."""

from __future__ import annotations

import time
from functools import partial

from confluent_kafka import Producer

from ..foreign import franz_go, java_client, kafkajs
from ..handmade import Handmade, batch, handmade, produced
from ..incident import Incident, Packets, Shown
from ..stage import PATIENCE, Stage, ended

ONE, STRICT = "127.0.0.11:9092", "127.0.0.31:9092"
SECONDS = 3.0


def too_large(stage: Stage, limit: int = 2000) -> None:
    stage.topic("photos", max_message_bytes=str(limit))
    with stage.recording(), stage.producer("photo-upload", linger_ms=50) as writer:
        for size in (200, 300, 5000, 6000, 250):
            writer.produce("photos", "p" * size)
            writer.flush(SECONDS)


def too_large_in_java(stage: Stage, limit: int = 1000) -> None:
    stage.topic("scans", max_message_bytes=str(limit))
    settings = {"bootstrap.servers": ONE, "client.id": "scan-archive", "do.count": 3, "do.value": 4000}
    with stage.recording():
        ended(java_client("produce", "scans", settings))


def beyond_socket_limit(stage: Stage, compress: str = "none") -> None:
    """A request that is longer than socket.request.max.bytes (200,000): the broker hangs up and says why in its log."""
    stage.topic("dumps")
    options = {"message_timeout_ms": 3000, "retries": 2, "reconnect_backoff_ms": 300, "compression_type": compress}
    with stage.recording(), stage.producer("dump-loader", **options) as writer:
        writer.produce("dumps", "small")
        writer.flush(SECONDS)
        stage.fails_now()
        writer.produce("dumps", "d" * 300_000)
        writer.flush(SECONDS + 1)


def timestamps(stage: Stage, wrong: bool = True) -> None:
    """Seconds since 1970 where milliseconds are wanted."""
    stage.topic("sensors", message_timestamp_before_max_ms="3600000", message_timestamp_after_max_ms="3600000")
    with stage.recording(), stage.producer("sensor-gw") as writer:
        for number in range(4):
            now = time.time()
            writer.produce("sensors", f"{number}", timestamp=int(now if wrong else now * 1000))
            writer.flush(SECONDS)


def silent(stage: Stage, acks: str = "0", limit: int = 500) -> None:
    """What is refused of a producer that wants no answer: the broker can only hang up."""
    stage.topic("clicks", max_message_bytes=str(limit))
    with stage.recording(), stage.producer("click-beacon", acks=acks, linger_ms=0) as writer:
        for size in (50, 60, 3000, 70, 3100, 80, 3200):
            writer.produce("clicks", "c" * size)
            writer.flush(SECONDS)
            time.sleep(0.2)


def move(stage: Stage, topic: str, *replicas: int, partition: int = 0) -> None:
    """Make the first of these brokers the leader of a partition."""
    placed = [{"partition_index": partition, "replicas": list(replicas)}]
    with handmade("setup", stage.bootstrap.split(",")[0]) as client:
        client.ask("AlterPartitionReassignments", 0, timeout_ms=9000, topics=[{"name": topic, "partitions": placed}])
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            wanted = [{"topic": topic, "partitions": [partition]}]
            client.ask("ElectLeaders", 1, election_type=0, topic_partitions=wanted, timeout_ms=9000)
            told = client.ask("Metadata", 4, topics=[{"name": topic}], allow_auto_topic_creation=False)
            found = {each["partition_index"]: each["leader_id"] for each in told["topics"][0]["partitions"]}
            if found[partition] == replicas[0]:
                return
            time.sleep(0.2)
    raise TimeoutError(f"{topic} has not moved to broker {replicas[0]}")


def one_by_one(stage: Stage, linger: float = 0, at_once: int = 1) -> None:
    stage.topic("pageviews", partitions=2)
    options = {"linger_ms": linger, "batch_num_messages": at_once}
    with stage.recording(), stage.producer("pageview-api", **options) as writer:
        for number in range(400):
            writer.produce("pageviews", f"/page/{number % 7}?visit={number}", key=f"{number}")
            writer.poll(0.001)
        writer.flush(PATIENCE)


def one_by_one_in_java(stage: Stage, **together: object) -> None:
    stage.topic("taps")
    alone = {"linger.ms": 0, "batch.size": 0, "do.count": 8, "do.batch": 100, "do.pause": 0}
    settings = {"bootstrap.servers": ONE, "client.id": "tap-counter", **(together or alone)}
    with stage.recording():
        ended(java_client("produce", "taps", settings))


def one_key(stage: Stage, keys: int = 1) -> None:
    stage.topic("devices", partitions=6)
    with stage.recording(), stage.producer("device-gw", linger_ms=20) as writer:
        for number in range(400):
            key = f"device-{number}" if number % 40 == 0 else f"null-{number % keys}"
            writer.produce("devices", f"reading {number}", key=key)
            writer.poll(0.005)
        writer.flush(PATIENCE)


def mistyped(stage: Stage, topic: str = "ordres") -> None:
    """One writes to `ordres`, which the broker makes on the spot; who reads `orders` gets nothing."""
    stage.topic("orders")
    stage.no_topic("ordres")
    with stage.recording(), stage.consumer("order-mailer", "mailers", "orders") as reader:
        end = time.monotonic() + SECONDS
        with stage.producer("till-7") as writer:
            while time.monotonic() < end:
                writer.produce(topic, "one coffee")
                writer.poll(0)
                reader.poll(0.3)
            writer.flush(SECONDS)


def to_nothing(stage: Stage, there: bool = False) -> None:
    """Java's producer asks for a topic that nobody has made, again and again."""
    stage.no_topic("ordres")
    if there:
        stage.topic("ordres")
    settings = {"bootstrap.servers": STRICT, "client.id": "till-7", "max.block.ms": 3000, "do.count": 1}
    with stage.recording():
        ended(java_client("produce", "ordres", settings))


def from_nothing(stage: Stage, there: bool = False) -> None:
    """A consumer of librdkafka's that is subscribed to a topic which is not there."""
    stage.no_topic("invoices-eu")
    if there:
        stage.topic("invoices-eu")
    options = {"topic_metadata_refresh_interval_ms": 500, "allow_auto_create_topics": False}
    with stage.recording(), stage.consumer("invoice-view", "viewers", "invoices-eu", **options) as reader:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            reader.poll(0.2)


def javascript_to_nothing(stage: Stage, there: bool = False) -> None:
    stage.no_topic("carts-v2")
    if there:
        stage.topic("carts-v2")
    with stage.recording():
        ended(kafkajs("produce", "carts-v2", kafka={"brokers": [STRICT], "clientId": "web-shop"}, count=2))


def sequence_gap(stage: Stage, lost: int = 3) -> None:
    stage.topic("ledger")
    with stage.recording(), handmade("ledger-writer", ONE) as client:
        client.ask("ApiVersions", 0)
        client.ask("Metadata", 4, topics=[{"name": "ledger"}], allow_auto_topic_creation=False)
        told = client.ask("InitProducerId", 0, transactional_id=None, transaction_timeout_ms=60_000)
        producer = {"producer_id": told["producer_id"], "producer_epoch": told["producer_epoch"]}
        sequence = 0
        for number, count in enumerate((2, 1, 3, 2, 1, 1)):
            if number == 3:
                sequence += lost
                stage.fails_now()
            values = [f"entry {sequence + each}" for each in range(count)]
            client.ask("Produce", 3, **produced("ledger", [batch(*values, base_sequence=sequence, **producer)]))
            sequence += count
            time.sleep(0.2)


def wrong_checksum(stage: Stage, wrong: bool = True) -> None:
    """Something between a client and its socket flips bits: the broker finds the checksum wrong."""
    stage.topic("frames")
    with stage.recording(), handmade("camera-9", ONE) as client:
        client.ask("ApiVersions", 0)
        client.ask("Metadata", 4, topics=[{"name": "frames"}], allow_auto_topic_creation=False)
        for number in range(6):
            fields = {"crc": 0x0BADC0DE} if wrong and number > 1 else {}
            client.ask("Produce", 7, **produced("frames", [batch(f"frame {number}", **fields)]))
            time.sleep(0.2)


def throttled(stage: Stage, rate: int | None = 3000) -> None:
    stage.topic("archive")
    if rate:
        stage.configure("--entity-type", "clients", "--entity-name", "bulk-export", add=f"producer_byte_rate={rate}")
    with stage.recording(), stage.producer("bulk-export", linger_ms=5, compression_type="none") as writer:
        end = time.monotonic() + 6
        for number in range(25):
            writer.produce("archive", f"{number:04}" + "a" * 1500)
            writer.flush(SECONDS)
            if time.monotonic() > end:
                break


def throttled_reader(stage: Stage, rate: int | None = 3000) -> None:
    stage.topic("archive")
    stage.fill("archive", *(f"{number:04}" + "a" * 1500 for number in range(40)), batch_num_messages=1)
    if rate:
        stage.configure("--entity-type", "clients", "--entity-name", "bulk-import", add=f"consumer_byte_rate={rate}")
    with stage.recording():
        told = {"brokers": ONE, "id": "bulk-import", "seconds": 5}
        ended(franz_go("consume", "archive", **told))


def too_few_replicas(stage: Stage, down: bool = True) -> None:
    """One of two replicas is down, and two must have what is written with acks=all."""
    stage.topic("trades", replicas=[[1, 2]], min_insync_replicas="2")
    if down:
        stage.cluster.brokers[1].stop()
    with stage.recording(), stage.producer("trade-api", acks="all", retry_backoff_ms=300) as writer:
        for number in range(3):
            writer.produce("trades", f"trade {number}")
            writer.flush(1)


def offline(stage: Stage, down: bool = True) -> None:
    """The only replica of a partition is on a broker that is down."""
    stage.topic("quotes", replicas=[[1], [3]])
    if down:
        stage.cluster.brokers[2].stop()
    with stage.recording(), stage.producer("quote-feed", retry_backoff_ms=300) as writer:
        for number in range(6):
            writer.produce("quotes", f"quote {number}", partition=number % 2)
        writer.flush(SECONDS)


def old_leader(stage: Stage, refresh: bool = False) -> None:
    """A client made by hand that never asks again who leads; one of librdkafka's does."""
    stage.topic("routes", replicas=[[1, 3]])
    with stage.recording(), stage.producer("route-good") as good:
        client = Handmade("route-gateway", "127.0.0.21:9092")
        client.ask("Metadata", 4, topics=[{"name": "routes"}], allow_auto_topic_creation=False)
        for number in range(4):
            _both(good, client, number)
        move(stage, "routes", 3, 1)
        stage.fails_now()
        if refresh:
            client.ask("Metadata", 4, topics=[{"name": "routes"}], allow_auto_topic_creation=False)
            client.close()
            client = Handmade("route-gateway", "127.0.0.23:9092")
        for number in range(4, 16):
            _both(good, client, number)
        client.close()


def _both(good: Producer, client: Handmade, number: int) -> None:
    good.produce("routes", f"good {number}")
    good.flush(SECONDS)
    client.ask("Produce", 7, **produced("routes", [batch(f"stop {number}")]))
    time.sleep(0.1)


def two_clusters(stage: Stage, mixed: bool = True) -> None:
    """Bootstrap servers of two clusters in one list: which is met first is a matter of luck."""
    if mixed:
        stage.beside("strict")
    stage.topic("orders")
    both = f"{ONE},{STRICT}" if mixed else ONE
    with stage.recording():
        for number in range(6):
            with stage.producer("order-sync", bootstrap_servers=both, message_timeout_ms=1500) as writer:
                writer.produce("orders", f"order {number}")
                writer.flush(2)


THROTTLED = "response.throttle_time_ms > 0"
TO_ORDRES = 'request.topic_data.exists(t, t.name == "ordres")'
INCIDENTS = (
    Incident(
        "record-too-large-librdkafka", "message-too-large", "one", too_large,
        {"client_id": "photo-upload", "topic": "photos"},
        (Shown("Produce", "MESSAGE_TOO_LARGE", client_id="photo-upload", at_least=2),),
        "the topic's max.message.bytes, or smaller records", partial(too_large, limit=10_000),
    ),
    Incident(
        "record-too-large-java", "message-too-large", "one", too_large_in_java,
        {"client_id": "scan-archive", "topic": "scans"},
        (Shown("Produce", "MESSAGE_TOO_LARGE", client_id="scan-archive"),),
        "the topic's max.message.bytes, or smaller records", partial(too_large_in_java, limit=10_000),
    ),
    Incident(
        "request-beyond-socket-limit", "request-exceeds-socket-limit", "strict", beyond_socket_limit,
        {"client_id": "dump-loader", "broker": STRICT}, (Shown("Produce", client_id="dump-loader", unanswered=True),),
        "smaller requests, or compressed; or socket.request.max.bytes", partial(beyond_socket_limit, compress="zstd"),
    ),
    Incident(
        "timestamps-in-seconds", "invalid-timestamp", "one", timestamps,
        {"client_id": "sensor-gw", "topic": "sensors"},
        (Shown("Produce", "INVALID_TIMESTAMP", client_id="sensor-gw"),),
        "milliseconds since 1970", partial(timestamps, wrong=False),
    ),
    Incident(
        "acks-0-too-large", "acks0-silent-loss", "one", silent, {"client_id": "click-beacon", "topic": "clicks"},
        (Shown("Produce", client_id="click-beacon", where="request.acks == 0", at_least=3), Packets("F", port=9092)),
        "acks=1 or all; the topic's max.message.bytes", partial(silent, acks="1", limit=5000),
    ),
    Incident(
        "one-record-a-batch-librdkafka", "unbatched-producer", "one", one_by_one,
        {"client_id": "pageview-api", "topic": "pageviews"},
        (Shown("Produce", client_id="pageview-api", at_least=300),), "linger.ms, batch.size",
        partial(one_by_one, linger=50, at_once=1000),
    ),
    Incident(
        "one-record-a-batch-java", "unbatched-producer", "one", one_by_one_in_java,
        {"client_id": "tap-counter", "topic": "taps"}, (Shown("Produce", client_id="tap-counter", at_least=250),),
        "linger.ms, batch.size",
        partial(one_by_one_in_java, **{"linger.ms": 20, "do.count": 3, "do.batch": 100, "do.pause": 0}),
    ),
    Incident(
        "one-key-for-all", "hot-partition", "one", one_key, {"client_id": "device-gw", "topic": "devices"},
        (Shown("Produce", client_id="device-gw", at_least=10),), "keys that differ", partial(one_key, keys=400),
    ),
    Incident(
        "mistyped-topic-made", "mistyped-topic-auto-created", "one", mistyped,
        {"client_id": "till-7", "topic": "ordres"},
        (Shown("Metadata", client_id="till-7"), Shown("Produce", client_id="till-7", where=TO_ORDRES)),
        "correct the name; auto.create.topics.enable=false", partial(mistyped, topic="orders"),
    ),
    Incident(
        "unknown-topic-java-producer", "unknown-topic", "strict", to_nothing,
        {"client_id": "till-7", "topic": "ordres", "broker": STRICT},
        (Shown("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", client_id="till-7", at_least=5),),
        "make the topic, or correct its name", partial(to_nothing, there=True),
    ),
    Incident(
        "unknown-topic-consumer", "unknown-topic", "strict", from_nothing,
        {"client_id": "invoice-view", "topic": "invoices-eu", "broker": STRICT},
        (Shown("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", client_id="invoice-view", at_least=2),),
        "make the topic, or correct its name", partial(from_nothing, there=True),
    ),
    Incident(
        "unknown-topic-kafkajs", "unknown-topic", "strict", javascript_to_nothing,
        {"client_id": "web-shop", "topic": "carts-v2", "broker": STRICT},
        (Shown("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", client_id="web-shop", at_least=2),),
        "make the topic, or correct its name", partial(javascript_to_nothing, there=True),
    ),
    Incident(
        "sequence-gap", "producer-sequence-gap", "one", sequence_gap,
        {"client_id": "ledger-writer", "topic": "ledger"},
        (Shown("Produce", "OUT_OF_ORDER_SEQUENCE_NUMBER", client_id="ledger-writer", at_least=3),),
        "a new producer id; find what was lost in the client", partial(sequence_gap, lost=0),
    ),
    Incident(
        "wrong-checksum", "corrupt-batch", "one", wrong_checksum, {"client_id": "camera-9", "topic": "frames"},
        (Shown("Produce", "CORRUPT_MESSAGE", client_id="camera-9", at_least=3),),
        "look at the client's memory and network", partial(wrong_checksum, wrong=False),
    ),
    Incident(
        "throttled-producer", "quota-throttled", "one", throttled, {"client_id": "bulk-export", "broker": ONE},
        (Shown("Produce", client_id="bulk-export", where=THROTTLED, at_least=3),),
        "a larger producer_byte_rate for the client",
        partial(throttled, rate=None),
    ),
    Incident(
        "throttled-consumer-franz-go", "quota-throttled", "one", throttled_reader,
        {"client_id": "bulk-import", "broker": ONE}, (Shown("Fetch", client_id="bulk-import", where=THROTTLED),),
        "a larger consumer_byte_rate for the client", partial(throttled_reader, rate=None),
    ),
    Incident(
        "too-few-replicas", "not-enough-replicas", "three", too_few_replicas,
        {"client_id": "trade-api", "topic": "trades"},
        (Shown("Produce", "NOT_ENOUGH_REPLICAS", client_id="trade-api", at_least=3),),
        "bring the replica back, or min.insync.replicas", partial(too_few_replicas, down=False),
    ),
    Incident(
        "partition-without-leader", "partition-offline", "three", offline,
        {"client_id": "quote-feed", "topic": "quotes"},
        (Shown("Metadata", "LEADER_NOT_AVAILABLE", client_id="quote-feed"),),
        "bring the broker back; more replicas", partial(offline, down=False),
    ),
    Incident(
        "old-leader-for-ever", "stale-leader", "three", old_leader,
        {"client_id": "route-gateway", "topic": "routes", "broker": "127.0.0.21:9092"},
        (Shown("Produce", "NOT_LEADER_OR_FOLLOWER", client_id="route-gateway", at_least=10),),
        "ask for Metadata after NOT_LEADER_OR_FOLLOWER", partial(old_leader, refresh=True),
    ),
    Incident(
        "two-clusters-in-one-list", "two-clusters-mixed", "one", two_clusters,
        {"client_id": "order-sync", "broker": [ONE, STRICT]},
        (Shown("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", client_id="order-sync"), Shown("Produce")),
        "bootstrap servers of one cluster", partial(two_clusters, mixed=False),
    ),
)  # fmt: skip
