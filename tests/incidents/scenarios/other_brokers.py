"""Brokers of other authors, at work and failing: kfake, Tansu, and the mock cluster in librdkafka."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from ...recording.mock_cluster import MockCluster
from ..foreign import franz_go, java_client, old_tool
from ..incident import Incident, Packets, Shown, healthy
from ..other_brokers import is_free, kfake, tansu
from ..stage import PATIENCE, SETUP, Stage, ended, until
from .administration import script, tried
from .groups import alive, polled

KFAKE, MOCK, TANSU = "127.0.0.111:9092", "127.0.0.1:9092", "127.0.0.114:9092"
THREE = (KFAKE, "127.0.0.112:9092", "127.0.0.113:9092")
WAITS = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 500, "fetch_wait_max_ms": 300}
"""What kfake allows: sessions of six seconds and more."""
PRODUCE, NOT_ENOUGH_REPLICAS, NOT_AUTHORIZED = 0, 19, 29


def at_work(stage: Stage) -> None:
    """librdkafka writes to kfake, reads in a group, and commits."""
    options = WAITS | {"enable_auto_commit": True, "auto_commit_interval_ms": 1000, "bootstrap_servers": KFAKE}
    with (
        kfake(KFAKE, topics="samples:2"),
        stage.recording(),
        stage.producer("sample-rig", bootstrap_servers=KFAKE, enable_idempotence=True) as writer,
        stage.consumer("sample-plot", "sample-plots", "samples", **options) as reader,
    ):
        alive(writer, reader, topic="samples", seconds=6)
        writer.flush(PATIENCE)


def leaders_move(stage: Stage) -> None:
    """Leaders and coordinators of three brokers move twice; producers follow."""
    every = ",".join(THREE)
    options = {"bootstrap_servers": every, "retry_backoff_ms": 100}
    with kfake(*THREE, topics="waves:6") as broker, stage.recording(), stage.producer("wave-buoy", **options) as writer:
        process = franz_go("produce", "waves", brokers=every, id="wave-rig", count=30, pause=250)
        for _ in range(2):
            alive(writer, topic="waves", seconds=3)
            broker.send_signal(signal.SIGUSR2)
        alive(writer, topic="waves", seconds=3)
        ended(process)
        writer.flush(PATIENCE)


def epochs_forgotten(stage: Stage, moves: int = 2) -> None:
    """When a leader has moved, kfake tells no end of the epoch before, and franz-go's consumer begins again."""
    every = ",".join(THREE)
    with kfake(*THREE, topics="swells:6") as broker, stage.recording():
        reader = franz_go("consume", "swells", brokers=every, id="swell-plot", group="swell-plots", seconds=10)
        writer = franz_go("produce", "swells", brokers=every, id="swell-rig", count=30, pause=250)
        time.sleep(3)
        stage.fails_now()
        for _ in range(moves):
            broker.send_signal(signal.SIGUSR2)
            time.sleep(2.5)
        ended(writer)
        ended(reader)


def transacted(stage: Stage, **told: str) -> None:
    """Java's transactional producer."""
    settings = {
        "bootstrap.servers": KFAKE, "client.id": "till-roll", "transactional.id": "till-rolls-1", "do.count": 4,
        "max.block.ms": 4000,
    }  # fmt: skip
    with kfake(KFAKE, topics="receipts:1", **told), stage.recording():
        ended(java_client("transact", "receipts", settings))


def writes(stage: Stage, client: str = "sample-gauge", topic: str = "gauges", size: int = 20, **told: object) -> None:
    """librdkafka writes; after a while the broker does as it is told."""
    options = {"bootstrap_servers": KFAKE, "message_timeout_ms": 5000, "socket_timeout_ms": 3000}
    with (
        kfake(KFAKE, topics=f"{topic}:1", after="signal", **told) as broker,
        stage.recording(),
        stage.producer(client, **options) as writer,
    ):
        for number in range(20):
            if number == 5:
                broker.send_signal(signal.SIGUSR1)
                stage.fails_now()
            writer.produce(topic, f"{topic} {number} ".ljust(size, "."))
            writer.poll(0.4)
        writer.flush(4)


def writes_in_go(stage: Stage, **told: object) -> None:
    with kfake(KFAKE, topics="levels:1", **told), stage.recording():
        ended(franz_go("produce", "levels", brokers=KFAKE, id="level-probe", count=3, pause=100))


def writes_in_java(stage: Stage, **told: object) -> None:
    settings = {"bootstrap.servers": KFAKE, "client.id": "depth-probe", "do.count": 3, "delivery.timeout.ms": 5000}
    with kfake(KFAKE, topics="depths:1", **told), stage.recording():
        ended(java_client("produce", "depths", settings))


def reads(stage: Stage, commits: bool = False, **told: object) -> None:
    """librdkafka reads in a group, beside a producer."""
    options = WAITS | {"bootstrap_servers": KFAKE, "socket_timeout_ms": 3000, "session_timeout_ms": 10_000}
    with (
        kfake(KFAKE, topics="echoes:1", **told),
        stage.recording(),
        stage.producer("echo-sonar", bootstrap_servers=KFAKE) as writer,
        stage.consumer("echo-chart", "echo-charts", "echoes", **options) as reader,
    ):
        for _ in range(6):
            alive(writer, reader, topic="echoes", seconds=1.8)
            if commits:
                with suppress(KafkaException):
                    reader.commit(asynchronous=False)


def reads_in_go(stage: Stage, **told: object) -> None:
    """franz-go reads what was written before."""
    with kfake(KFAKE, topics="tides:1", **told):
        with stage.producer("setup", bootstrap_servers=KFAKE) as writer:
            for number in range(10):
                writer.produce("tides", f"tide {number}")
            writer.flush(PATIENCE)
        with stage.recording():
            ended(franz_go("consume", "tides", brokers=KFAKE, id="tide-table", seconds=5))


def makes_topics(stage: Stage, **told: object) -> None:
    with kfake(KFAKE, topics="first:1", **told), stage.recording():
        admin = script("rig-setup", KFAKE)
        for number in range(4):
            tried(admin.create_topics([NewTopic(f"rig-{number}", 1, 1)]))


def logs_in(stage: Stage, password: str = "battery-staple") -> None:
    options = {
        "bootstrap_servers": KFAKE, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN",
        "sasl_username": "rig", "sasl_password": password, "reconnect_backoff_ms": 500,
    }  # fmt: skip
    with (
        kfake(KFAKE, topics="doses:1", user="rig", password="correct-horse"),
        stage.recording(),
        stage.producer("dose-meter", **options) as writer,
    ):
        writer.produce("doses", "dose 1")
        writer.flush(4)


def ancient(stage: Stage, new: bool = False) -> None:
    """The console producer of 0.10.1: kfake takes no records in the formats of before 0.11."""
    with kfake(KFAKE, topics="parcels:1"), stage.recording():
        if new:
            ended(java_client("produce", "parcels", {"bootstrap.servers": KFAKE, "client.id": "parcel-scale"}))
            return
        options = ("--broker-list", KFAKE, "--topic", "parcels")
        old_tool("0.10", "ConsoleProducer", *options, stdin="parcel 1\n", seconds=8)


def mocked(
    stage: Stage, tell: Callable[[MockCluster], object] = lambda _: None, *, brokers: int = 1, **options: Any
) -> None:
    """librdkafka's clients and its mock cluster, which is told something after a while."""
    until(lambda: all(is_free(9092 + number) for number in range(brokers)), 90)
    with MockCluster(brokers) as mock:
        mock.create_topic("pulses", 3, 1)
        mock.set_rebalance_delay(0)
        for partition in range(3):
            mock.set_leader("pulses", partition, partition % brokers + 1)
        common = {"bootstrap_servers": mock.bootstrap}
        with (
            stage.recording(),
            stage.producer("pulse-meter", **common, message_timeout_ms=6000, **options) as writer,
            stage.consumer("pulse-chart", "pulse-charts", "pulses", **WAITS, **common) as reader,
        ):
            alive(writer, reader, topic="pulses", seconds=4)
            stage.fails_now()
            tell(mock)
            end = time.monotonic() + 7
            while time.monotonic() < end:
                with suppress(KafkaException):
                    alive(writer, reader, topic="pulses", seconds=1)
                polled(reader, seconds=0.2)
            with suppress(KafkaException):
                reader.commit(asynchronous=False)
            polled(reader, seconds=0.5)


def with_topic(name: str) -> None:
    """Make a topic on Tansu, which makes none by itself."""
    admin = script(SETUP, TANSU)
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(PATIENCE)


def tansu_at_work(stage: Stage, stands_still: bool = False) -> None:
    """librdkafka writes to Tansu, reads in a group, and commits; after a while Tansu's process may not run."""
    options = {"bootstrap_servers": TANSU, "socket_timeout_ms": 3000, "session_timeout_ms": 10_000}
    with tansu(TANSU) as broker:
        with_topic("rains")
        with (
            stage.recording(),
            stage.producer("rain-gauge", bootstrap_servers=TANSU, socket_timeout_ms=3000) as writer,
            stage.consumer("rain-chart", "rain-charts", "rains", **options) as reader,
        ):
            alive(writer, reader, topic="rains", seconds=8)
            reader.commit(asynchronous=False)
            if stands_still:
                stage.fails_now()
                os.kill(broker.pid, signal.SIGSTOP)
                with suppress(KafkaException):
                    alive(writer, reader, topic="rains", seconds=10)
                os.kill(broker.pid, signal.SIGCONT)
            alive(writer, reader, topic="rains", seconds=2)


def tansu_and_java(stage: Stage, kafka: str = "4.4") -> None:
    """Java's producer: from 4.4 on it names the cluster and the node in ApiVersions when it connects to a node."""
    settings = {"bootstrap.servers": TANSU, "client.id": "rain-meter", "do.count": 3, "delivery.timeout.ms": 5000}
    with tansu(TANSU):
        with_topic("floods")
        with stage.recording():
            ended(java_client("produce", "floods", settings, kafka=kafka))


def too_few(mock: MockCluster) -> None:
    mock.inject_errors(PRODUCE, [NOT_ENOUGH_REPLICAS] * 500)


def forbidden(mock: MockCluster) -> None:
    mock.inject_errors(PRODUCE, [NOT_AUTHORIZED] * 500)


def one_stops(mock: MockCluster) -> None:
    mock.stop_broker(2)


CLIENT = "client_id"
INCIDENTS = (
    healthy("kfake-at-work", "one", at_work, "an unsupported client, a stranger's broker",
            Shown("Produce", client_id="sample-rig", at_least=10), Shown("OffsetCommit", client_id="sample-plot")),
    healthy("kfake-leaders-and-coordinators-move", "one", leaders_move, "stale leader, NOT_LEADER storm",
            Shown("Produce", client_id="wave-rig", at_least=20), Shown("Produce", client_id="wave-buoy", at_least=20)),
    healthy("kfake-transactions", "one", transacted, "failing transactions", Shown("EndTxn", at_least=4)),
    healthy("tansu-at-work", "one", tansu_at_work, "an unsupported client, a stranger's broker",
            Shown("Produce", client_id="rain-gauge", at_least=10), Shown("OffsetCommit", client_id="rain-chart")),
    healthy("mock-at-work", "one", partial(mocked, brokers=3), "an unsupported client, a stranger's broker",
            Shown("Produce", client_id="pulse-meter", at_least=20), Shown("Fetch", client_id="pulse-chart")),
    Incident(
        "kfake-says-corrupt", "corrupt-batch", "one", partial(writes, fault="Produce:CORRUPT_MESSAGE"),
        {CLIENT: "sample-gauge", "topic": "gauges", "broker": KFAKE},
        (Shown("Produce", "CORRUPT_MESSAGE", client_id="sample-gauge", at_least=3),),
        "the bytes are intact: look at the broker", writes,
    ),
    Incident(
        "kfake-nobody-leads-franz-go", "error-response", "one",
        partial(writes_in_go, fault="Produce:NOT_LEADER_FOR_PARTITION"),
        {CLIENT: "level-probe", "topic": "levels", "broker": KFAKE},
        (Shown("Produce", "NOT_LEADER_OR_FOLLOWER", client_id="level-probe", at_least=3),),
        "the client goes where Metadata sends it: look at the broker", writes_in_go,
    ),
    Incident(
        "kfake-answers-no-fetch", "no-response", "one", partial(reads, silent="Fetch"),
        {CLIENT: "echo-chart", "broker": KFAKE}, (Shown("Fetch", client_id="echo-chart", unanswered=True, at_least=3),),
        "look at the broker", reads,
    ),
    Incident(
        "kfake-hangs-up-on-produce-java", "no-response", "one", partial(writes_in_java, hangup="Produce"),
        {CLIENT: "depth-probe", "broker": KFAKE},
        (Shown("Produce", client_id="depth-probe", unanswered=True, at_least=3),), "look at the broker", writes_in_java,
    ),
    Incident(
        "kfake-coordinator-loads-for-ever", "error-response", "one",
        partial(reads, commits=True, fault="OffsetCommit:COORDINATOR_LOAD_IN_PROGRESS"),
        {CLIENT: "echo-chart", "group": "echo-charts"},
        (Shown("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS", client_id="echo-chart", at_least=3),),
        "look at the broker", partial(reads, commits=True),
    ),
    Incident(
        "kfake-has-no-coordinator", "coordinator-unavailable", "one",
        partial(reads, fault="FindCoordinator:COORDINATOR_NOT_AVAILABLE"),
        {CLIENT: "echo-chart", "group": "echo-charts"},
        (Shown("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", client_id="echo-chart", at_least=5),),
        "look at the broker", reads,
    ),
    Incident(
        "kfake-knows-no-topic-id-franz-go", "error-response", "one",
        partial(reads_in_go, fault="Fetch:UNKNOWN_TOPIC_ID"),
        {CLIENT: "tide-table", "broker": KFAKE},
        (Shown("Fetch", "UNKNOWN_TOPIC_ID", client_id="tide-table", at_least=3),), "look at the broker", reads_in_go,
    ),
    Incident(
        "kfake-forgets-leader-epochs-franz-go", "leader-epochs-forgotten", "one", epochs_forgotten,
        {CLIENT: "swell-plot", "group": "swell-plots", "topic": "swells"},
        (Shown("OffsetForLeaderEpoch", client_id="swell-plot", at_least=2),), "look at the broker",
        partial(epochs_forgotten, moves=0),
    ),
    Incident(
        "kfake-policy-forbids-topics", "error-response", "one",
        partial(makes_topics, fault="CreateTopics:POLICY_VIOLATION"), {CLIENT: "rig-setup", "broker": KFAKE},
        (Shown("CreateTopics", "POLICY_VIOLATION", client_id="rig-setup", at_least=4),),
        "create.topic.policy.class.name of the broker", makes_topics,
    ),
    Incident(
        "kfake-transactions-do-not-end-java", "error-response", "one",
        partial(transacted, fault="EndTxn:INVALID_TXN_STATE"),
        {CLIENT: "till-roll", "transactional_id": "till-rolls-1", "broker": KFAKE},
        (Shown("EndTxn", "INVALID_TXN_STATE", client_id="till-roll"),), "look at the broker", transacted,
    ),
    Incident(
        "kfake-record-too-large", "message-too-large", "one", partial(writes, size=5000, bytes=2000),
        {CLIENT: "sample-gauge", "topic": "gauges"},
        (Shown("Produce", "MESSAGE_TOO_LARGE", client_id="sample-gauge", at_least=3),),
        "message.max.bytes, or smaller records", partial(writes, size=5000, bytes=20_000),
    ),
    Incident(
        "kfake-wrong-password", "sasl-wrong-credentials", "one", logs_in, {CLIENT: "dose-meter", "broker": KFAKE},
        (Shown("SaslAuthenticate", unanswered=True, at_least=3),), "correct the password",
        partial(logs_in, password="correct-horse"),
    ),
    Incident(
        "kfake-takes-no-old-records", "api-version-unsupported", "one", ancient,
        {CLIENT: "console-producer", "broker": KFAKE},
        (Shown("Produce", version=2, client_id="console-producer", unanswered=True, at_least=2),),
        "a client of 0.11 or newer",
        partial(ancient, new=True),
    ),
    Incident(
        "tansu-closes-on-cluster-id-java", "no-response", "one", tansu_and_java,
        {CLIENT: "rain-meter", "broker": TANSU},
        (Shown("ApiVersions", version=5, client_id="rain-meter", unanswered=True, at_least=3),),
        "a client of before 4.4, or a newer Tansu", partial(tansu_and_java, kafka="2.8"),
    ),
    Incident(
        "tansu-stands-still", "broker-frozen", "one", partial(tansu_at_work, stands_still=True),
        {"broker": TANSU}, (Shown("Fetch", client_id="rain-chart", slower_than=5000),),
        "find out what stops the process", tansu_at_work,
    ),
    Incident(
        "mock-too-few-replicas", "not-enough-replicas", "one", partial(mocked, tell=too_few),
        {CLIENT: "pulse-meter", "topic": "pulses"},
        (Shown("Produce", "NOT_ENOUGH_REPLICAS", client_id="pulse-meter", at_least=5),), "bring the replicas back",
        mocked,
    ),
    Incident(
        "mock-topic-forbidden", "topic-authorization-failed", "one", partial(mocked, tell=forbidden),
        {CLIENT: "pulse-meter", "topic": "pulses"},
        (Shown("Produce", "TOPIC_AUTHORIZATION_FAILED", client_id="pulse-meter"),), "an ACL", mocked,
    ),
    Incident(
        "mock-broker-stops", "no-response", "one", partial(mocked, tell=one_stops, brokers=3),
        {"broker": "127.0.0.1:9093"}, (Packets("R", port=9093),),
        "start the broker again", partial(mocked, brokers=3),
    ),
)  # fmt: skip
