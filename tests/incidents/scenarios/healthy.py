"""Lively and well: what rules that look at one sign only would take for a failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import ConfigResource, NewTopic

from ..foreign import franz_go, java_client, kafkajs
from ..incident import Packets, Shown, healthy
from ..stage import PATIENCE, Stage, ended
from .groups import SHORT, alive, polled
from .producing import move
from .security import login

ONE, STRICT, OLD = "127.0.0.11:9092", "127.0.0.31:9092", "127.0.0.41:9092"


def restarts(stage: Stage) -> None:
    """Each of three brokers is stopped in good order, and started again."""
    stage.topic("flights", partitions=3)
    options = SHORT | {"session_timeout_ms": 10_000, "fetch_wait_max_ms": 500}
    with (
        stage.recording(),
        stage.producer("flight-board", acks="all", retry_backoff_ms=300) as writer,
        stage.consumer("flight-alert", "flight-alerts", "flights", **options) as reader,
    ):
        alive(writer, reader, topic="flights", seconds=2, pause=0.5)
        for broker in stage.cluster.brokers:
            _while_alive(writer, reader, lambda broker=broker: (broker.stop(), broker.start()))  # type: ignore[misc]
        writer.flush(PATIENCE)


def _while_alive(writer: Producer, reader: Consumer, work: Callable[[], object]) -> None:
    from threading import Thread

    thread = Thread(target=work)
    thread.start()
    while thread.is_alive():
        alive(writer, reader, topic="flights", seconds=0.5, pause=0.5)
    thread.join()


def one_restart(stage: Stage) -> None:
    """A broker of three is stopped in good order; Java's clients find the new leaders."""
    stage.topic("trains", partitions=3)
    told = {"bootstrap.servers": stage.bootstrap, "do.pause": 300, "fetch.max.wait.ms": 500}
    with stage.recording():
        writer = java_client("produce", "trains", told | {
            "client.id": "train-board", "do.count": 30, "request.timeout.ms": 9000, "delivery.timeout.ms": 20_000,
        })  # fmt: skip
        reader = java_client("consume", "trains", told | {
            "client.id": "train-alert", "group.id": "train-alerts", "do.seconds": 11,
        })  # fmt: skip
        time.sleep(4)
        stage.cluster.brokers[1].stop()
        ended(writer)
        ended(reader)


def elections(stage: Stage) -> None:
    """The leader of a partition moves twice; clients follow at once."""
    stage.topic("ships", replicas=[[1, 2]])
    options = SHORT | {"fetch_wait_max_ms": 500}
    with (
        stage.recording(),
        stage.producer("ship-board", retry_backoff_ms=100) as writer,
        stage.consumer("ship-alert", "ship-alerts", "ships", **options) as reader,
    ):
        alive(writer, reader, topic="ships", seconds=3)
        move(stage, "ships", 2, 1)
        alive(writer, reader, topic="ships", seconds=3)
        move(stage, "ships", 1, 2)
        alive(writer, reader, topic="ships", seconds=3)
        writer.flush(PATIENCE)


def aborts(stage: Stage) -> None:
    """Transactions that are aborted because the program wants it so."""
    stage.topic("drafts")
    settings = {
        "bootstrap.servers": ONE, "client.id": "draft-job", "transactional.id": "drafts-1", "do.count": 5,
        "do.abort": "yes",
    }  # fmt: skip
    with stage.recording():
        ended(java_client("transact", "drafts", settings))


def commits(stage: Stage) -> None:
    """Transactions that are committed one after the other, and somebody who reads them."""
    stage.topic("transfers")
    options = SHORT | {"isolation_level": "read_committed"}
    with (
        stage.recording(),
        stage.producer("transfer-job", transactional_id="transfers-1") as writer,
        stage.consumer("transfer-view", "transfer-views", "transfers", **options) as reader,
    ):
        writer.init_transactions(PATIENCE)
        for number in range(8):
            writer.begin_transaction()
            for each in range(3):
                writer.produce("transfers", f"{number}.{each}")
            writer.flush(PATIENCE)
            polled(reader, seconds=0.4)
            if number % 4 == 3:
                writer.abort_transaction(PATIENCE)
            else:
                writer.commit_transaction(PATIENCE)
        polled(reader, seconds=1)


def fallback(stage: Stage) -> None:
    """A client of today asks a broker of 2.8 for versions that this has not, and takes older ones."""
    stage.topic("coins")
    told = {"bootstrap.servers": OLD, "client.id": "coin-counter"}
    with stage.recording():
        ended(java_client("produce", "coins", told | {"do.count": 4}))
        ended(java_client("consume", "coins", told | {"group.id": "coin-counters", "do.seconds": 3}))
        ended(franz_go("produce", "coins", brokers=OLD, id="coin-minter", count=3))


def scripts(stage: Stage) -> None:
    """A script that sees to it that topics are there, each time it runs."""
    stage.topic("reports-daily")
    names = ("reports-daily", "reports-weekly")
    stage.no_topic(names[1])
    with stage.recording(), stage.producer("report-job") as writer:
        for _ in range(3):
            for name, done in stage.admin.create_topics([NewTopic(each, 1, 1) for each in names]).items():
                with suppress(KafkaException):
                    done.result(PATIENCE)
                    stage.broker.wait_for_topic(name)
            for done in stage.admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, names[0])]).values():
                done.result(PATIENCE)
            writer.produce(names[0], "a report")
            writer.flush(PATIENCE)
            time.sleep(0.3)


def compacted(stage: Stage) -> None:
    """A compacted topic: offsets have holes, and that is as it should be."""
    config = {"cleanup_policy": "compact", "segment_ms": "200", "min_cleanable_dirty_ratio": "0.01"}
    stage.topic("addresses", **config, min_compaction_lag_ms="0", max_compaction_lag_ms="500")
    with stage.producer("setup") as writer:
        for number in range(60):
            writer.produce("addresses", f"street {number}", key=f"customer-{number % 5}")
            writer.flush(PATIENCE)
            time.sleep(0.02)
        time.sleep(0.5)
        writer.produce("addresses", "the last", key="customer-9")
        writer.flush(PATIENCE)
    time.sleep(6)
    with (
        stage.recording(),
        stage.producer("address-desk") as writer,
        stage.consumer("address-book", "address-books", "addresses", **SHORT) as reader,
    ):
        polled(reader, seconds=2)
        for number in range(4):
            writer.produce("addresses", None if number == 2 else f"square {number}", key=f"customer-{number}")
            writer.flush(PATIENCE)
            polled(reader, seconds=0.5)


def big_batches(stage: Stage) -> None:
    """Many records in few batches, compressed, and a consumer that waits for many bytes."""
    stage.topic("telemetry")
    options = {"fetch_min_bytes": 20_000, "fetch_wait_max_ms": 1000} | SHORT
    with (
        stage.recording(),
        stage.producer("telemetry-gw", linger_ms=200, compression_type="zstd", batch_num_messages=10_000) as writer,
        stage.consumer("telemetry-lake", "telemetry-lakes", "telemetry", **options) as reader,
    ):
        for number in range(6000):
            writer.produce("telemetry", f"sensor {number % 97} says {number % 31} " + "of much " * 10)
            writer.poll(0)
        writer.flush(PATIENCE)
        polled(reader, seconds=3)


def logged_in(stage: Stage) -> None:
    """SCRAM, as it should be."""
    stage.topic("diaries")
    options = login("alice", mechanism="SCRAM-SHA-256")
    with (
        stage.recording(),
        stage.producer("diary-pen", **options) as writer,
        stage.consumer("diary-glass", "diary-glasses", "diaries", **SHORT, **options) as reader,
    ):
        alive(writer, reader, topic="diaries", seconds=4)


def metadata_now_and_then(stage: Stage) -> None:
    """A client that asks for metadata every second, as its settings say."""
    stage.topic("clocks")
    options = {"topic_metadata_refresh_interval_ms": 1000}
    with stage.recording(), stage.producer("clock-tower", **options) as writer:
        alive(writer, topic="clocks", seconds=8, pause=0.5)


def idle_connections(stage: Stage) -> None:
    """The broker closes what nobody has used for four seconds; the client comes back when it has something to say."""
    stage.topic("postcards")
    with stage.recording(), stage.producer("postcard-desk") as writer:
        for number in range(3):
            writer.produce("postcards", f"postcard {number}")
            writer.flush(PATIENCE)
            time.sleep(5.5)


def made_on_first_use(stage: Stage) -> None:
    """A topic that is made by its first record, and read by who knows of it."""
    stage.no_topic("signups")
    with stage.recording(), stage.producer("signup-form") as writer:
        writer.produce("signups", "the first")
        writer.flush(PATIENCE)
        with stage.consumer("signup-mail", "signup-mails", "signups", **SHORT) as reader:
            alive(writer, reader, topic="signups", seconds=3)


def everyday_go(stage: Stage) -> None:
    stage.topic("taxis", partitions=2)
    with stage.recording():
        reader = franz_go("consume", "taxis", brokers=ONE, id="taxi-map", group="taxi-maps", seconds=6)
        time.sleep(1)
        ended(franz_go("produce", "taxis", brokers=ONE, id="taxi-meter", count=15))
        ended(reader)


def everyday_javascript(stage: Stage) -> None:
    stage.topic("baskets-js", partitions=2)
    kafka = {"brokers": [ONE], "clientId": "shop-front"}
    with stage.recording():
        ended(kafkajs("produce", "baskets-js", kafka=kafka, count=8))
        waits = {"heartbeatInterval": 500, "sessionTimeout": 6000}
        ended(kafkajs("consume", "baskets-js", kafka=kafka, group="basket-sums", consumer=waits, seconds=4))


INCIDENTS = (
    healthy("rolling-restart", "three", restarts, "brokers that die, NOT_LEADER storm",
            Shown("Produce", client_id="flight-board", at_least=20), Packets("R")),
    healthy("one-broker-restarted-java", "three", one_restart, "a broker that dies",
            Shown("Produce", client_id="train-board", at_least=20)),
    healthy("leaders-elected", "three", elections, "NOT_LEADER storm, stale leader",
            Shown("Produce", client_id="ship-board", at_least=20), Shown("ElectLeaders", at_least=2)),
    healthy("transactions-aborted-on-purpose", "one", aborts, "failing transactions", Shown("EndTxn", at_least=5)),
    healthy("transactions-committed", "one", commits, "hanging transaction", Shown("EndTxn", at_least=8)),
    healthy("versions-fall-back", "old", fallback, "an unsupported client",
            Shown("ApiVersions", "UNSUPPORTED_VERSION")),
    healthy("topics-are-there-already", "one", scripts, "failing administration",
            Shown("CreateTopics", "TOPIC_ALREADY_EXISTS", at_least=3)),
    healthy("compacted-topic", "one", compacted, "lost records", Shown("Fetch", client_id="address-book", at_least=2)),
    healthy("big-compressed-batches", "one", big_batches, "requests too large",
            Shown("Produce", client_id="telemetry-gw"), Shown("Fetch", client_id="telemetry-lake")),
    healthy("scram-login", "one", logged_in, "failing logins", Shown("SaslAuthenticate", at_least=4)),
    healthy("metadata-every-second", "one", metadata_now_and_then, "metadata storm",
            Shown("Metadata", client_id="clock-tower", at_least=6)),
    healthy("idle-connections-closed", "strict", idle_connections, "a broker that hangs up, connection churn",
            Packets("F", port=9092, at_least=2), Shown("Produce", client_id="postcard-desk", at_least=3)),
    healthy("topic-made-on-first-use", "one", made_on_first_use, "a mistyped topic",
            Shown("Produce", client_id="signup-form", at_least=5), Shown("Fetch", client_id="signup-mail")),
    healthy("everyday-franz-go", "one", everyday_go, "rebalance, long polls", Shown("Produce", at_least=10)),
    healthy("everyday-kafkajs", "one", everyday_javascript, "old versions", Shown("Produce", at_least=5)),
)  # fmt: skip
