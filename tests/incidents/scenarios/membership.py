"""Groups that a member cannot join, that lose their offsets, or whose members do not do what was meant."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from ..foreign import java_client
from ..handmade import handmade
from ..incident import Incident, Shown
from ..stage import PATIENCE, SETUP, Stage, apart, ended
from .groups import SHORT, alive, polled

ONE, NARROW = "127.0.0.11:9092", "127.0.0.81:9092"
NEW = {"group_protocol": "consumer", "fetch_wait_max_ms": 300}


def long_session(stage: Stage, session: int = 45_000) -> None:
    """The session timeout that is the default today is beyond the broker's group.max.session.timeout.ms (30 s)."""
    stage.topic("tolls")
    options = {"session_timeout_ms": session, "heartbeat_interval_ms": 500, "fetch_wait_max_ms": 300}
    with stage.recording(), stage.consumer("toll-gate", "toll-gates", "tolls", **options) as reader:
        polled(reader, seconds=5)


def long_session_in_java(stage: Stage, session: int = 45_000) -> None:
    stage.topic("tolls")
    settings = {
        "bootstrap.servers": NARROW, "client.id": "toll-sum", "group.id": "toll-sums", "session.timeout.ms": session,
        "do.seconds": 4,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "tolls", settings))


def crowd(stage: Stage, members: int = 4) -> None:
    """More members than group.max.size (2)."""
    stage.topic("parcels", partitions=4)
    options = SHORT | {"session_timeout_ms": 6000}
    with stage.recording(), stage.producer("parcel-door") as writer, ExitStack() as opened:
        readers = [
            opened.enter_context(stage.consumer(f"packer-{number}", "packers", "parcels", **options))
            for number in range(1, members + 1)
        ]
        alive(writer, *readers, topic="parcels", seconds=6, pause=0.5)


def assignor(stage: Stage, name: str = "sticky-rack") -> None:
    """An assignor of the client's, where the broker assigns."""
    stage.topic("scenes", partitions=2)
    with stage.recording(), stage.consumer("scene-cut", "scene-cutters", **NEW, group_remote_assignor=name) as reader:
        reader.subscribe(["scenes"])
        for _ in range(8):
            with suppress(KafkaException):
                polled(reader, seconds=0.5)


def old_epoch(stage: Stage, again: bool = False) -> None:
    """A client made by hand that is thrown out of a group of KIP-848, and heartbeats on with the epoch it had."""
    stage.topic("meters")
    asked: dict[str, Any] = {
        "group_id": "meter-readers", "member_id": "AAAAAAAAAAAAAAAAAAAAAA", "instance_id": None, "rack_id": None,
        "rebalance_timeout_ms": 10_000, "subscribed_topic_names": ["meters"], "server_assignor": None,
        "topic_partitions": [],
    }  # fmt: skip
    with stage.recording(), handmade("meter-reader", ONE) as client:
        client.ask("ApiVersions", 0)
        client.ask("FindCoordinator", 1, key="meter-readers", key_type=0)
        epoch = client.ask("ConsumerGroupHeartbeat", 0, member_epoch=0, **asked)["member_epoch"]
        for _ in range(3):
            epoch = client.ask("ConsumerGroupHeartbeat", 0, member_epoch=epoch, **asked)["member_epoch"]
            time.sleep(0.3)
        client.ask("ConsumerGroupHeartbeat", 0, member_epoch=-1, **asked)
        stage.fails_now()
        for number in range(8):
            told = client.ask("ConsumerGroupHeartbeat", 0, member_epoch=0 if again and not number else epoch, **asked)
            epoch = told["member_epoch"] or epoch
            time.sleep(0.3)


def mixed_protocols(stage: Stage, second: str = "consumer") -> None:
    """A member of the new protocol for a group of the classic one, where the broker migrates no groups."""
    stage.topic("lifts", partitions=2)
    with stage.recording(), stage.consumer("lift-a", "lift-control", "lifts", **SHORT) as one:
        polled(one, seconds=2)
        stage.fails_now()
        options = NEW if second == "consumer" else SHORT
        with stage.consumer("lift-b", "lift-control", "lifts", **options) as two:
            for _ in range(10):
                with suppress(KafkaException):
                    polled(one, two, seconds=0.5)


def never_commits(stage: Stage, commits: bool = False) -> None:
    """A program that commits nothing reads all from the beginning whenever it is started."""
    stage.topic("orders")
    stage.fill("orders", *(f"order {number}" for number in range(40)))
    with stage.recording():
        for _ in range(4):
            with stage.consumer("order-loader", "order-loaders", "orders", **SHORT) as reader:
                polled(reader, seconds=1.5)
                if commits:
                    with suppress(KafkaException):  # there is nothing to commit in a run that read nothing
                        reader.commit(asynchronous=False)


def commits_the_last(stage: Stage, off: int = 0) -> None:
    """A program commits the offset of the record that it handled, and not the next one: each start begins with it."""
    stage.topic("payments")
    stage.fill("payments", *(f"payment {number}" for number in range(12)), batch_num_messages=1)
    with stage.recording():
        for _ in range(4):
            with stage.consumer("payment-book", "payment-books", "payments", **SHORT) as reader:
                end = time.monotonic() + 2
                while time.monotonic() < end:
                    message = reader.poll(0.2)
                    if message is not None and message.error() is None:
                        where = TopicPartition("payments", 0, (message.offset() or 0) + off)
                        reader.commit(offsets=[where], asynchronous=False)


def commits_each(stage: Stage, every: int = 1) -> None:
    """A commit for each record, and the program waits for it."""
    stage.topic("events")
    stage.fill("events", *(f"event {number}" for number in range(200)))
    with stage.recording(), stage.consumer("event-audit", "event-audits", "events", **SHORT) as reader:
        end, seen = time.monotonic() + 4, 0
        while time.monotonic() < end:
            message = reader.poll(0.2)
            if message is not None and message.error() is None:
                seen += 1
                if seen % every == 0:
                    reader.commit(message=message, asynchronous=False)


def no_reset(stage: Stage, reset: str = "none") -> None:
    """A new group without offsets, told to begin nowhere by itself: the program ends, and is started again."""
    stage.topic("history")
    stage.fill("history", *(f"entry {number}" for number in range(5)))
    settings = {
        "bootstrap.servers": ONE, "client.id": "historian", "group.id": "historians", "do.seconds": 4,
        "auto.offset.reset": reset,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "history", settings))


def no_reset_in_librdkafka(stage: Stage, reset: str = "error") -> None:
    stage.topic("history")
    stage.fill("history", *(f"entry {number}" for number in range(5)))
    options = SHORT | {"auto_offset_reset": reset}
    with stage.recording():
        for _ in range(3):
            with stage.consumer("chronicler", "chroniclers", "history", **options) as reader:
                polled(reader, seconds=2)
                with suppress(KafkaException):  # without offsets it read nothing
                    reader.commit(asynchronous=False)


def group_deleted(stage: Stage, delete: bool = True) -> None:
    """A script deletes a group between two runs of its consumer, which then begins at the end: records are skipped."""
    stage.topic("claims")
    stage.fill("claims", *(f"claim {number}" for number in range(10)))
    options = SHORT | {"auto_offset_reset": "latest"}
    with stage.consumer(SETUP, "claim-desks") as before:
        before.commit(offsets=[TopicPartition("claims", 0, 4)], asynchronous=False)
    with stage.recording():
        with stage.consumer("claim-desk", "claim-desks", "claims", **options) as reader:
            polled(reader, seconds=2)
            reader.commit(asynchronous=False)
        stage.fill("claims", "claim 10", "claim 11")
        stage.fails_now()
        if delete:
            stage.admin.delete_consumer_groups(["claim-desks"])["claim-desks"].result(PATIENCE)
        with stage.consumer("claim-desk", "claim-desks", "claims", **options) as reader:
            polled(reader, seconds=3)


def crashes(stage: Stage, crash: bool = True) -> None:
    """A member that dies soon after it has joined, and is started again: the group rebalances again and again."""
    stage.topic("routes", partitions=4)
    options = SHORT | {"session_timeout_ms": 1500, "partition_assignment_strategy": "range"}

    def member() -> None:
        with stage.consumer("planner-2", "planners", "routes", **options) as reader:
            polled(reader, seconds=20)

    with (
        stage.recording(),
        stage.producer("route-feed") as writer,
        stage.consumer("planner-1", "planners", "routes", **options) as stays,
    ):
        alive(writer, stays, topic="routes", seconds=1.5)
        stage.fails_now()
        for _ in range(5 if crash else 1):
            process = multiprocessing.get_context("fork").Process(target=member)
            process.start()
            alive(writer, stays, topic="routes", seconds=1.5 if crash else 9)
            process.kill()
            process.join()


def no_such_pattern(stage: Stage, pattern: str = "^ordres-.*") -> None:
    """A subscription by a pattern that fits no topic: the member is assigned nothing."""
    stage.topic("orders-eu")
    options = SHORT | {"topic_metadata_refresh_interval_ms": 1000}
    with (
        stage.recording(),
        stage.producer("order-feed") as writer,
        stage.consumer("order-index", "order-indexes", pattern, **options) as reader,
    ):
        alive(writer, reader, topic="orders-eu", seconds=6)


def half_assigned(stage: Stage, partitions: tuple[int, ...] = (0,)) -> None:
    """A program that assigns itself the partitions which the topic had once; it has more today."""
    stage.topic("visits", partitions=3)
    options = SHORT | {"enable_auto_commit": True, "auto_commit_interval_ms": 500}
    with (
        stage.recording(),
        stage.producer("visit-count") as writer,
        stage.consumer("visit-sum", "visit-sums", **options) as reader,
    ):
        reader.assign([TopicPartition("visits", each, 0) for each in partitions])
        for number in range(30):
            writer.produce("visits", f"visit {number}", partition=number % 3)
            writer.poll(0)
            polled(reader, seconds=0.2)
        writer.flush(PATIENCE)


def quick_heart(stage: Stage, beat: int = 5) -> None:
    """A heartbeat every few milliseconds."""
    stage.topic("alarms")
    settings = {
        "bootstrap.servers": ONE, "client.id": "alarm-desk", "group.id": "alarm-desks", "session.timeout.ms": 6000,
        "heartbeat.interval.ms": beat, "do.seconds": 3,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "alarms", settings))


def quick_heart_in_python(stage: Stage, beat: int = 10) -> None:
    from kafka import KafkaConsumer

    stage.topic("alarms")

    def read() -> None:
        options = {"session_timeout_ms": 6000, "heartbeat_interval_ms": beat, "group_id": "alarm-lamps"}
        reader = KafkaConsumer("alarms", bootstrap_servers=ONE, client_id="alarm-lamp", **options)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            reader.poll(100)
        reader.close()

    with stage.recording():
        apart(read)


CLIENT = "client_id"
INCIDENTS = (
    Incident(
        "session-timeout-beyond-maximum", "session-timeout-too-short", "narrow", long_session,
        {CLIENT: "toll-gate", "group": "toll-gates"},
        (Shown("JoinGroup", "INVALID_SESSION_TIMEOUT", client_id="toll-gate"),),
        "session.timeout.ms, or group.max.session.timeout.ms", partial(long_session, session=20_000),
    ),
    Incident(
        "session-timeout-beyond-maximum-java", "session-timeout-too-short", "narrow", long_session_in_java,
        {CLIENT: "toll-sum", "group": "toll-sums"},
        (Shown("JoinGroup", "INVALID_SESSION_TIMEOUT", client_id="toll-sum"),),
        "session.timeout.ms, or group.max.session.timeout.ms", partial(long_session_in_java, session=20_000),
    ),
    Incident(
        "group-is-full", "error-response", "narrow", crowd, {"group": "packers"},
        (Shown("JoinGroup", "GROUP_MAX_SIZE_REACHED"),), "group.max.size, or fewer members", partial(crowd, members=2),
    ),
    Incident(
        "assignor-of-the-client", "error-response", "one", assignor,
        {CLIENT: "scene-cut", "group": "scene-cutters"},
        (Shown("ConsumerGroupHeartbeat", "UNSUPPORTED_ASSIGNOR", client_id="scene-cut"),),
        "group.remote.assignor: uniform or range", partial(assignor, name="uniform"),
    ),
    Incident(
        "heartbeats-of-a-former-member", "member-epoch-fenced", "one", old_epoch,
        {CLIENT: "meter-reader", "group": "meter-readers"},
        (Shown("ConsumerGroupHeartbeat", "UNKNOWN_MEMBER_ID", client_id="meter-reader", at_least=6),),
        "join again with epoch 0", partial(old_epoch, again=True),
    ),
    Incident(
        "new-protocol-in-classic-group", "error-response", "narrow", mixed_protocols,
        {CLIENT: "lift-b", "group": "lift-control"},
        (Shown("ConsumerGroupHeartbeat", "GROUP_ID_NOT_FOUND", client_id="lift-b"),),
        "group.protocol=classic, or group.consumer.migration.policy", partial(mixed_protocols, second="classic"),
    ),
    Incident(
        "consumer-never-commits", "never-commits", "one", never_commits,
        {CLIENT: "order-loader", "group": "order-loaders", "topic": "orders"},
        (Shown("JoinGroup", client_id="order-loader", at_least=4), Shown("Fetch", client_id="order-loader")),
        "enable.auto.commit=true, or commit", partial(never_commits, commits=True),
    ),
    Incident(
        "commit-of-the-last-record", "commit-behind-position", "one", commits_the_last,
        {CLIENT: "payment-book", "group": "payment-books", "topic": "payments"},
        (Shown("OffsetCommit", client_id="payment-book", at_least=12),), "commit the offset after the last record",
        partial(commits_the_last, off=1),
    ),
    Incident(
        "commit-for-each-record", "repeated-requests", "one", commits_each,
        {CLIENT: "event-audit", "group": "event-audits"},
        (Shown("OffsetCommit", client_id="event-audit", at_least=100),), "commit every few seconds",
        partial(commits_each, every=100),
    ),
    Incident(
        "no-offset-and-no-reset-java", "offset-reset-none", "one", no_reset,
        {CLIENT: "historian", "group": "historians", "topic": "history"},
        (Shown("OffsetFetch", client_id="historian"),), "auto.offset.reset=earliest, or set the group's offsets",
        partial(no_reset, reset="earliest"),
    ),
    Incident(
        "no-offset-and-no-reset-librdkafka", "offset-reset-none", "one", no_reset_in_librdkafka,
        {CLIENT: "chronicler", "group": "chroniclers", "topic": "history"},
        (Shown("OffsetFetch", client_id="chronicler", at_least=2),),
        "auto.offset.reset=earliest, or set the group's offsets", partial(no_reset_in_librdkafka, reset="earliest"),
    ),
    Incident(
        "group-deleted-between-runs", "committed-offsets-lost", "one", group_deleted,
        {CLIENT: "claim-desk", "group": "claim-desks"},
        (Shown("DeleteGroups"), Shown("OffsetFetch", client_id="claim-desk", at_least=2)),
        "delete no group that is used; auto.offset.reset=earliest", partial(group_deleted, delete=False),
    ),
    Incident(
        "member-crashes-again-and-again", "rebalance-storm", "one", crashes,
        {"group": "planners", CLIENT: "planner-2"}, (Shown("JoinGroup", client_id="planner-1", at_least=6),),
        "find out why the member ends", partial(crashes, crash=False),
    ),
    Incident(
        "pattern-fits-no-topic", "pattern-without-topic", "one", no_such_pattern,
        {CLIENT: "order-index", "group": "order-indexes"},
        (Shown("Metadata", client_id="order-index", where="request.topics == null", at_least=3),),
        "correct the pattern", partial(no_such_pattern, pattern="^orders-.*"),
    ),
    Incident(
        "partitions-that-nobody-reads", "partitions-not-consumed", "one", half_assigned,
        {CLIENT: "visit-sum", "topic": "visits"}, (Shown("Fetch", client_id="visit-sum", at_least=5),),
        "subscribe, or assign all partitions", partial(half_assigned, partitions=(0, 1, 2)),
    ),
    Incident(
        "heartbeats-too-often-java", "repeated-requests", "one", quick_heart,
        {CLIENT: "alarm-desk", "group": "alarm-desks"}, (Shown("Heartbeat", client_id="alarm-desk", at_least=30),),
        "heartbeat.interval.ms=3000", partial(quick_heart, beat=1000),
    ),
    Incident(
        "heartbeats-too-often-kafka-python", "repeated-requests", "one", quick_heart_in_python,
        {CLIENT: "alarm-lamp", "group": "alarm-lamps"}, (Shown("Heartbeat", client_id="alarm-lamp", at_least=50),),
        "heartbeat_interval_ms=3000", partial(quick_heart_in_python, beat=1000),
    ),
)  # fmt: skip
