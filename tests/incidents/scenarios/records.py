"""Records and batches that a broker or a client cannot take."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import Any

from ..foreign import java_client, old_tool
from ..handmade import batch, handmade, produced
from ..incident import Incident, Shown
from ..stage import PATIENCE, Stage, apart, ended
from .groups import SHORT, polled

ONE, STRICT, OLD, NARROW = "127.0.0.11:9092", "127.0.0.31:9092", "127.0.0.41:9092", "127.0.0.81:9092"
SECONDS = 3.0


def keyless(stage: Stage, keys: bool = False) -> None:
    """Records without keys for a topic that is compacted by key."""
    stage.topic("profiles", cleanup_policy="compact")
    with stage.recording(), stage.producer("profile-sync") as writer:
        for number in range(5):
            writer.produce("profiles", f"profile {number}", key=f"{number}" if keys else None)
            writer.flush(SECONDS)


def keyless_in_python(stage: Stage, keys: bool = False) -> None:
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    stage.topic("profiles", cleanup_policy="compact")

    def send() -> None:
        writer = KafkaProducer(bootstrap_servers=ONE, client_id="profile-import", retries=1)
        for number in range(5):
            with suppress(KafkaError):
                writer.send("profiles", b"profile", key=b"%d" % number if keys else None).get(SECONDS)

    with stage.recording():
        apart(send)


def two_acks(stage: Stage, acks: str = "2") -> None:
    """A number of acks from before 0.9."""
    stage.topic("payments")
    options = {"acks": acks, "message_timeout_ms": 4000}
    with stage.recording(), stage.producer("pay-terminal", **options) as writer:
        for number in range(4):
            writer.produce("payments", f"payment {number}")
            writer.flush(1.5)


def old_consumer(stage: Stage, config: dict[str, str], **writer: Any) -> None:
    """The console consumer of 0.10.1 at a broker of 2.8."""
    stage.topic("parcels", **config)
    stage.fill("parcels", *(f"parcel {number} " * 9 for number in range(9)), bootstrap_servers=OLD, **writer)
    options = ("--bootstrap-server", OLD, "--topic", "parcels", "--from-beginning", "--new-consumer")
    with stage.recording():
        old_tool(
            "0.10", "ConsoleConsumer", *options, "--consumer-property", "client.id=parcel-desk", "--timeout-ms", "1000"
        )


def old_produce(stage: Stage, codec: str = "zstd") -> None:
    """zstd in a version of Produce that knows nothing of it."""
    stage.topic("frames")
    kinds = {"none": 0, "zstd": 4}
    with stage.recording(), handmade("camera-4", ONE) as client:
        client.ask("ApiVersions", 0)
        client.ask("Metadata", 4, topics=[{"name": "frames"}], allow_auto_topic_creation=False)
        for number in range(5):
            records = [batch(f"frame {number}", attributes=kinds[codec])]
            client.ask("Produce", 5, **produced("frames", records))
            time.sleep(0.2)


def wrong_batch(stage: Stage, client_id: str, **wrong: Any) -> None:
    """Batches of a client made by hand, whose fields contradict one another."""
    stage.topic("frames")
    with stage.recording(), handmade(client_id, ONE) as client:
        client.ask("ApiVersions", 0)
        client.ask("Metadata", 4, topics=[{"name": "frames"}], allow_auto_topic_creation=False)
        for number in range(5):
            client.ask("Produce", 7, **produced("frames", [batch(f"frame {number}", **wrong)]))
            time.sleep(0.2)


def new_producer_old_format(stage: Stage, version: str = "0.10.2") -> None:
    """Java's producer is idempotent unless told otherwise; the topic's format has no place for that."""
    stage.topic("coins", message_format_version=version)
    settings = {"bootstrap.servers": OLD, "client.id": "coin-press", "do.count": 4}
    with stage.recording():
        ended(java_client("produce", "coins", settings))


def large_response(stage: Stage, limit: int = 50_000) -> None:
    """A batch that is larger than the responses which a consumer of librdkafka's is ready to receive."""
    stage.topic("maps", max_message_bytes="2000000")
    stage.fill("maps", "small", "m" * 200_000, "small again", message_max_bytes=500_000, compression_type="none")
    options = SHORT | {"receive_message_max_bytes": limit, "fetch_max_bytes": 20_000, "message_max_bytes": 10_000}
    options |= {"reconnect_backoff_ms": 500}
    with stage.recording(), stage.consumer("map-print", "map-prints", "maps", **options) as reader:
        polled(reader, seconds=6)


def deleted_in_use(stage: Stage, delete: bool = True) -> None:
    """A topic is deleted under a producer and a consumer, and nobody creates it again."""
    stage.topic("beacons")
    options = SHORT | {"topic_metadata_refresh_interval_ms": 500}
    with (
        stage.recording(),
        stage.producer("beacon-sender", topic_metadata_refresh_interval_ms=500, message_timeout_ms=3000) as writer,
        stage.consumer("beacon-reader", "beacon-readers", "beacons", **options) as reader,
    ):
        for number in range(24):
            if number == 8:
                stage.fails_now()
                if delete:
                    stage.admin.delete_topics(["beacons"])["beacons"].result(PATIENCE)
            writer.produce("beacons", f"beacon {number}")
            writer.poll(0)
            polled(reader, seconds=0.3)
        writer.flush(SECONDS)


def old_topic_id(stage: Stage, refresh: bool = False) -> None:
    """A client made by hand that goes on fetching by the id of a topic which was made anew."""
    stage.topic("gauges")
    stage.fill("gauges", *(f"gauge {number}" for number in range(5)))
    with stage.recording(), handmade("gauge-poller", ONE) as client:
        client.ask("ApiVersions", 0)
        topic, offset = _id(client), 5
        for number in range(16):
            if number == 4:
                stage.topic("gauges")
                stage.fill("gauges", "gauge of today")
                stage.fails_now()
            if number >= 4 and refresh:
                topic, offset = _id(client), 1
            partitions = [{
                "partition": 0, "current_leader_epoch": -1, "fetch_offset": offset, "last_fetched_epoch": -1,
                "log_start_offset": -1, "partition_max_bytes": 1 << 20,
            }]  # fmt: skip
            client.ask(
                "Fetch", 13, replica_id=-1, max_wait_ms=150, min_bytes=1, max_bytes=1 << 20, isolation_level=0,
                session_id=0, session_epoch=-1, topics=[{"topic_id": topic, "partitions": partitions}],
                forgotten_topics_data=[], rack_id="",
            )  # fmt: skip
            time.sleep(0.1)


def _id(client: Any) -> Any:
    told = client.ask(
        "Metadata", 12, topics=[{"topic_id": "00000000-0000-0000-0000-000000000000", "name": "gauges"}],
        allow_auto_topic_creation=False, include_topic_authorized_operations=False,
    )  # fmt: skip
    return told["topics"][0]["topic_id"]


def clock_behind(stage: Stage, behind: float = 2400.0) -> None:
    """A host whose clock is 40 minutes slow stamps its records."""
    stage.topic("doors")
    options = SHORT | {"enable_auto_commit": True, "auto_commit_interval_ms": 500}
    with (
        stage.recording(),
        stage.producer("door-lock", linger_ms=0) as writer,
        stage.consumer("door-log", "door-logs", "doors", **options) as reader,
    ):
        for number in range(15):
            writer.produce("doors", f"opened {number}", timestamp=int((time.time() - behind) * 1000))
            writer.poll(0)
            polled(reader, seconds=0.2)
        writer.flush(SECONDS)


def fed_back(stage: Stage, target: str = "tickets") -> None:
    """A program that writes what it handled to the topic which it reads."""
    stage.topic("tickets")
    stage.topic("tickets-done")
    options = SHORT | {"enable_auto_commit": True, "auto_commit_interval_ms": 500, "fetch_wait_max_ms": 100}
    with (
        stage.recording(),
        stage.producer("ticket-enricher", linger_ms=0) as writer,
        stage.consumer("ticket-enricher", "ticket-enrichers", "tickets", **options) as reader,
    ):
        writer.produce("tickets", "ticket 1")
        writer.produce("tickets", "ticket 2")
        end = time.monotonic() + 6
        while time.monotonic() < end:
            message = reader.poll(0.2)
            if message is not None and message.error() is None:
                time.sleep(0.03)
                writer.produce(target, (message.value() or b"") + b" enriched")
                writer.poll(0)
        writer.flush(SECONDS)


UNKNOWN_COMPRESSION = "UNSUPPORTED_COMPRESSION_TYPE"
INCIDENTS = (
    Incident(
        "compacted-topic-without-keys", "invalid-record", "one", keyless,
        {"client_id": "profile-sync", "topic": "profiles"},
        (Shown("Produce", "INVALID_RECORD", client_id="profile-sync", at_least=3),),
        "a key for each record, or cleanup.policy=delete", partial(keyless, keys=True),
    ),
    Incident(
        "compacted-topic-without-keys-kafka-python", "invalid-record", "one", keyless_in_python,
        {"client_id": "profile-import", "topic": "profiles"},
        (Shown("Produce", "INVALID_RECORD", client_id="profile-import"),),
        "a key for each record, or cleanup.policy=delete", partial(keyless_in_python, keys=True),
    ),
    Incident(
        "acks-of-two", "malformed-request", "one", two_acks, {"client_id": "pay-terminal", "broker": ONE},
        (Shown("Produce", "INVALID_REQUIRED_ACKS", client_id="pay-terminal", at_least=2),), "acks=all",
        partial(two_acks, acks="all"),
    ),
    Incident(
        "old-consumer-and-zstd", "codec-unsupported", "old",
        partial(old_consumer, config={}, compression_type="zstd"), {"client_id": "parcel-desk", "topic": "parcels"},
        (Shown("Fetch", UNKNOWN_COMPRESSION, client_id="parcel-desk"),),
        "a consumer of 2.1 or newer, or another compression.type",
        partial(old_consumer, config={}, compression_type="gzip"),
    ),
    Incident(
        "zstd-in-old-produce", "codec-unsupported", "one", old_produce,
        {"client_id": "camera-4", "topic": "frames"},
        (Shown("Produce", UNKNOWN_COMPRESSION, client_id="camera-4", at_least=4),),
        "Produce version 7 or newer, or another compression.type", partial(old_produce, codec="none"),
    ),
    Incident(
        "batch-with-wrong-count", "malformed-request", "one",
        partial(wrong_batch, client_id="camera-5", last_offset_delta=5), {"client_id": "camera-5", "broker": ONE},
        (Shown("Produce", "INVALID_RECORD", client_id="camera-5", at_least=4),),
        "correct the client's batches", partial(wrong_batch, client_id="camera-5"),
    ),
    Incident(
        "down-conversion-disabled", "down-conversion-disabled", "old",
        partial(old_consumer, config={"message_downconversion_enable": "false"}),
        {"client_id": "parcel-desk", "topic": "parcels"},
        (Shown("Fetch", "UNSUPPORTED_VERSION", client_id="parcel-desk"),),
        "a consumer of 0.11 or newer, or message.downconversion.enable=true",
        partial(old_consumer, config={"message_downconversion_enable": "true"}),
    ),
    Incident(
        "idempotent-producer-and-old-format", "error-response", "old", new_producer_old_format,
        {"client_id": "coin-press", "topic": "coins"},
        (Shown("Produce", "UNSUPPORTED_FOR_MESSAGE_FORMAT", client_id="coin-press"),),
        "message.format.version of the topic, or enable.idempotence=false",
        partial(new_producer_old_format, version="2.8"),
    ),
    Incident(
        "response-larger-than-client-takes", "response-exceeds-client-limit", "one", large_response,
        {"client_id": "map-print", "topic": "maps", "broker": ONE},
        (Shown("Fetch", client_id="map-print", at_least=3),), "receive.message.max.bytes",
        partial(large_response, limit=100_000_000),
    ),
    Incident(
        "topic-deleted-in-use", "topic-deleted-in-use", "strict", deleted_in_use,
        {"client_id": ["beacon-sender", "beacon-reader", "setup"], "topic": "beacons"},
        (Shown("DeleteTopics"), Shown("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", client_id="beacon-sender")),
        "create the topic again; find who deleted it", partial(deleted_in_use, delete=False),
    ),
    Incident(
        "topic-id-of-yesterday", "stale-topic-id", "one", old_topic_id,
        {"client_id": "gauge-poller"}, (Shown("Fetch", "UNKNOWN_TOPIC_ID", client_id="gauge-poller", at_least=10),),
        "request Metadata after UNKNOWN_TOPIC_ID", partial(old_topic_id, refresh=True),
    ),
    Incident(
        "clock-of-a-host-is-slow", "clock-skew", "one", clock_behind, {"client_id": "door-lock", "topic": "doors"},
        (Shown("Produce", client_id="door-lock", at_least=10),), "let NTP set the host's clock",
        partial(clock_behind, behind=0.0),
    ),
    Incident(
        "program-reads-what-it-wrote", "feedback-loop", "one", fed_back,
        {"client_id": "ticket-enricher", "topic": "tickets"},
        (Shown("Produce", client_id="ticket-enricher", at_least=20),), "write to another topic",
        partial(fed_back, target="tickets-done"),
    ),
)  # fmt: skip
