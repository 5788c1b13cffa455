"""Groups whose members get in one another's way, leave, are thrown out, or don't get on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from confluent_kafka import Consumer, Producer

from ..foreign import franz_go, java_client
from ..incident import Incident, Shown
from ..stage import PATIENCE, Stage, ended

ONE = "127.0.0.11:9092"
SHORT = {"session_timeout_ms": 3000, "heartbeat_interval_ms": 500, "fetch_wait_max_ms": 300}


def polled(*readers: Consumer, seconds: float, work: float = 0.0) -> None:
    """Poll these in turn for so long; work is what each record takes, in seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for reader in readers:
            message = reader.poll(0.1 / len(readers))
            if message is not None and message.error() is None:
                time.sleep(work)


def too_long(stage: Stage, work: float = 5.0) -> None:
    """One member of two works on a record for longer than its poll interval; in time it comes back."""
    stage.topic("videos", partitions=2)
    options = SHORT | {"max_poll_interval_ms": 3000}
    with (
        stage.recording(),
        stage.producer("video-upload") as writer,
        stage.consumer("transcode-1", "transcoders", "videos", **options) as slow,
        stage.consumer("transcode-2", "transcoders", "videos", **options) as quick,
    ):
        polled_until(lambda: bool(slow.assignment() and quick.assignment()), slow, quick)
        for number in range(8):
            writer.produce("videos", f"video {number}", partition=number % 2)
        writer.flush(PATIENCE)
        stage.fails_now()
        slow.poll(1)
        _meanwhile(lambda: time.sleep(work), lambda: polled(quick, seconds=0.2))
        polled(slow, quick, seconds=2)


def alive(writer: Producer, *readers: Consumer, topic: str, seconds: float, pause: float = 0.2) -> None:
    """Write a record after each pause, and let the readers poll."""
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        writer.produce(topic, f"{topic} {number}")
        writer.poll(0)
        polled(*readers, seconds=pause)
        number += 1


def polled_until(happened: Callable[[], bool], *readers: Consumer) -> None:
    """Poll these until it happened."""
    end = time.monotonic() + PATIENCE
    while not happened():
        polled(*readers, seconds=0.2)
        if time.monotonic() > end:
            raise TimeoutError("an incident waits for a group that does not settle")


def _meanwhile(work: Callable[[], object], other: Callable[[], object]) -> None:
    """Do the first once, in a thread, and the other again and again until it is done."""
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        other()
    thread.join()


def too_long_in_java(stage: Stage, block: int = 5000) -> None:
    stage.topic("thumbs", partitions=2)
    stage.fill("thumbs", "picture 1", "picture 2", "picture 3")
    settings = {
        "bootstrap.servers": ONE, "client.id": "thumb-1", "group.id": "thumbnails", "max.poll.interval.ms": 2500,
        "session.timeout.ms": 3000, "heartbeat.interval.ms": 500, "auto.offset.reset": "earliest", "do.seconds": 9,
        "do.block": block,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "thumbs", settings))


def lazy_heart(stage: Stage, session: int = 1200, beat: int = 2500) -> None:
    stage.topic("alarms")
    options = {"session_timeout_ms": session, "heartbeat_interval_ms": beat, "fetch_wait_max_ms": 500}
    with stage.recording(), stage.consumer("alarm-desk", "alarm-desks", "alarms", **options) as reader:
        polled(reader, seconds=9)


def paused_process(stage: Stage, session: int = 1500) -> None:
    """A member whose process stands still for longer than its session lasts, as in a long collection of garbage."""
    stage.topic("gates", partitions=2)
    settings = {
        "bootstrap.servers": ONE, "client.id": "gate-2", "group.id": "gate-keepers", "session.timeout.ms": session,
        "heartbeat.interval.ms": 400, "do.seconds": 10,
    }  # fmt: skip
    options = SHORT | {"session_timeout_ms": session, "heartbeat_interval_ms": 400}
    with stage.recording(), stage.consumer("gate-1", "gate-keepers", "gates", **options) as reader:
        process = java_client("consume", "gates", settings)
        polled_until(lambda: len(reader.assignment()) == 1, reader)
        polled(reader, seconds=1)
        for _ in range(2):
            stage.fails_now()
            os.kill(process.pid, signal.SIGSTOP)
            polled(reader, seconds=2.5)
            os.kill(process.pid, signal.SIGCONT)
            polled(reader, seconds=1.5)
        _meanwhile(lambda: ended(process), lambda: polled(reader, seconds=0.2))


def shared_by_two(stage: Stage, groups: tuple[str, str] = ("app", "app")) -> None:
    """Two programs with nothing in common but the group's name: each subscribes to its own topic."""
    stage.topic("orders", partitions=2)
    stage.topic("audit-log", partitions=2)
    stage.fill("orders", *(f"order {number}" for number in range(5)))
    with stage.recording(), stage.consumer("order-mailer", groups[0], "orders", **SHORT) as mailer:
        polled(mailer, seconds=2)
        stage.fails_now()
        with stage.consumer("log-shipper", groups[1], "audit-log", **SHORT) as shipper:
            polled(mailer, shipper, seconds=4)


def shared_and_stolen(stage: Stage, groups: tuple[str, str] = ("reports", "reports")) -> None:
    """Two programs that each want all records of one topic: each gets half of them."""
    stage.topic("sales", partitions=2)
    with stage.recording(), stage.producer("till-1") as writer:
        told = {"brokers": ONE, "balancer": "range", "wait": 300}
        ledger = franz_go("consume", "sales", id="ledger-feed", group=groups[0], seconds=7, **told)
        time.sleep(2)
        stage.fails_now()
        board = franz_go("consume", "sales", id="dashboard", group=groups[1], seconds=4, **told)
        for number in range(12):
            writer.produce("sales", f"sale {number}", partition=number % 2)
            writer.flush(PATIENCE)
            time.sleep(0.2)
        ended(board)
        ended(ledger)


def strategies(stage: Stage, second: str = "cooperative-sticky") -> None:
    stage.topic("routes-in", partitions=2)
    options = SHORT | {"partition_assignment_strategy": "range"}
    with stage.recording(), stage.consumer("planner-1", "planners", "routes-in", **options) as one:
        polled(one, seconds=2)
        stage.fails_now()
        options["partition_assignment_strategy"] = second
        with stage.consumer("planner-2", "planners", "routes-in", **options) as two:
            polled(one, two, seconds=4)


def strategies_in_java(stage: Stage, second: str = "RoundRobinAssignor") -> None:
    stage.topic("routes-in", partitions=2)
    package = "org.apache.kafka.clients.consumer"
    settings = {
        "bootstrap.servers": ONE, "client.id": "planner-j2", "group.id": "planners-j", "session.timeout.ms": 3000,
        "heartbeat.interval.ms": 500, "partition.assignment.strategy": f"{package}.{second}", "do.seconds": 3,
    }  # fmt: skip
    options = SHORT | {"partition_assignment_strategy": "range"}
    with stage.recording(), stage.consumer("planner-1", "planners-j", "routes-in", **options) as one:
        polled(one, seconds=1)
        process = java_client("consume", "routes-in", settings)
        _meanwhile(lambda: ended(process), lambda: polled(one, seconds=0.2))


def same_instance(stage: Stage, instances: tuple[str, str] = ("shelf-1", "shelf-1")) -> None:
    stage.topic("shelves", partitions=2)
    one = SHORT | {"group_instance_id": instances[0]}
    with stage.recording(), stage.consumer("shelf-a", "stock", "shelves", **one) as first:
        polled(first, seconds=2)
        stage.fails_now()
        other = SHORT | {"group_instance_id": instances[1]}
        with stage.consumer("shelf-b", "stock", "shelves", **other) as second:
            polled(first, second, seconds=4)


def same_instance_in_go(stage: Stage, instances: tuple[str, str] = ("lift-1", "lift-1")) -> None:
    stage.topic("lifts", partitions=2)
    told = {"brokers": ONE, "group": "lift-control", "wait": 300}
    with stage.recording():
        first = franz_go("consume", "lifts", id="lift-a", instance=instances[0], seconds=6, **told)
        time.sleep(2)
        stage.fails_now()
        ended(franz_go("consume", "lifts", id="lift-b", instance=instances[1], seconds=3, **told))
        ended(first)


def too_long_in_new_protocol(stage: Stage, work: float = 5.0) -> None:
    """The same in the protocol of KIP-848, where a member leaves by a heartbeat."""
    stage.topic("scenes", partitions=2)
    options = {"group_protocol": "consumer", "max_poll_interval_ms": 6000, "fetch_wait_max_ms": 500}
    with (
        stage.recording(),
        stage.producer("scene-upload") as writer,
        stage.consumer("scene-cut", "scene-cutters", "scenes", **options) as reader,
    ):
        polled_until(lambda: len(reader.assignment()) == 2, reader)
        for number in range(4):
            writer.produce("scenes", f"scene {number}", partition=number % 2)
        writer.flush(PATIENCE)
        stage.fails_now()
        polled(reader, seconds=0.3)
        time.sleep(work)
        polled(reader, seconds=3)


def too_many_in_new_protocol(stage: Stage, partitions: int = 1) -> None:
    """Three members of the protocol of KIP-848, and one partition."""
    stage.topic("parcels-in", partitions=partitions)
    options = {"group_protocol": "consumer", "fetch_wait_max_ms": 500}
    with stage.recording(), stage.producer("parcel-door") as writer, ExitStack() as members:
        readers = [
            members.enter_context(stage.consumer(f"packer-{number}", "packers", "parcels-in", **options))
            for number in range(1, 4)
        ]
        alive(writer, *readers, topic="parcels-in", seconds=9, pause=0.5)


def too_many(stage: Stage, partitions: int = 2) -> None:
    """Four members, and fewer partitions."""
    stage.topic("letters", partitions=partitions)
    with stage.recording(), stage.producer("post-box") as writer, ExitStack() as members:
        readers = [
            members.enter_context(stage.consumer(f"sorter-{number}", "sorters", "letters", **SHORT))
            for number in range(1, 5)
        ]
        for number in range(8):
            writer.produce("letters", f"letter {number}", partition=number % partitions)
            polled(*readers, seconds=0.7)
        writer.flush(PATIENCE)


INCIDENTS = (
    Incident(
        "poll-too-late-librdkafka", "max-poll-interval-exceeded", "one", too_long,
        {"client_id": "transcode-1", "group": "transcoders"},
        (Shown("LeaveGroup", client_id="transcode-1"), Shown("JoinGroup", client_id="transcode-2", at_least=2)),
        "max.poll.interval.ms, or less work between polls", partial(too_long, work=1.0),
    ),
    Incident(
        "poll-too-late-java", "max-poll-interval-exceeded", "one", too_long_in_java,
        {"client_id": "thumb-1", "group": "thumbnails"},
        (Shown("LeaveGroup", client_id="thumb-1"), Shown("JoinGroup", client_id="thumb-1", at_least=4)),
        "max.poll.interval.ms, or less work between polls", partial(too_long_in_java, block=0),
    ),
    Incident(
        "poll-too-late-new-protocol", "max-poll-interval-exceeded", "one",
        partial(too_long_in_new_protocol, work=8.0), {"client_id": "scene-cut", "group": "scene-cutters"},
        (Shown("ConsumerGroupHeartbeat", client_id="scene-cut", at_least=3),),
        "max.poll.interval.ms, or less work between polls", partial(too_long_in_new_protocol, work=1.0),
    ),
    Incident(
        "more-members-than-partitions-new-protocol", "idle-consumers", "one", too_many_in_new_protocol,
        {"group": "packers", "topic": "parcels-in"}, (Shown("ConsumerGroupHeartbeat", at_least=5),),
        "more partitions, or fewer members", partial(too_many_in_new_protocol, partitions=3),
    ),
    Incident(
        "session-shorter-than-heartbeat", "session-timeout-too-short", "one", lazy_heart,
        {"client_id": "alarm-desk", "group": "alarm-desks"},
        (Shown("Heartbeat", "UNKNOWN_MEMBER_ID", client_id="alarm-desk"),),
        "session.timeout.ms at least three heartbeats", partial(lazy_heart, session=6000, beat=1000),
    ),
    Incident(
        "process-stood-still", "session-timeout-too-short", "one", paused_process,
        {"client_id": "gate-2", "group": "gate-keepers"},
        (Shown("Heartbeat", "UNKNOWN_MEMBER_ID", client_id="gate-2"),),
        "a session.timeout.ms longer than the pauses", partial(paused_process, session=6000),
    ),
    Incident(
        "group-of-two-programs", "group-id-shared", "one", shared_by_two,
        {"group": "app", "client_id": ["order-mailer", "log-shipper"]},
        (Shown("JoinGroup", client_id="order-mailer", at_least=2),
         Shown("JoinGroup", client_id="log-shipper", where='request.group_id == "app"')),
        "a group.id for each program", partial(shared_by_two, groups=("order-mailer", "log-shipper")),
    ),
    Incident(
        "group-stolen-franz-go", "group-id-shared", "one", shared_and_stolen,
        {"group": "reports", "client_id": ["ledger-feed", "dashboard"]},
        (Shown("JoinGroup", client_id="ledger-feed"),
         Shown("JoinGroup", client_id="dashboard", where='request.group_id == "reports"')),
        "a group.id for each program", partial(shared_and_stolen, groups=("ledger", "dashboard")),
    ),
    Incident(
        "range-and-cooperative", "inconsistent-group-protocol", "one", strategies,
        {"group": "planners", "client_id": "planner-2"},
        (Shown("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL", client_id="planner-2"),),
        "the same partition.assignment.strategy for all", partial(strategies, second="range"),
    ),
    Incident(
        "range-and-roundrobin-java", "inconsistent-group-protocol", "one", strategies_in_java,
        {"group": "planners-j", "client_id": "planner-j2"},
        (Shown("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL", client_id="planner-j2"),),
        "the same partition.assignment.strategy for all", partial(strategies_in_java, second="RangeAssignor"),
    ),
    Incident(
        "instance-id-twice-librdkafka", "static-member-fenced", "one", same_instance,
        {"group": "stock", "client_id": ["shelf-a", "shelf-b"]},
        (Shown("Heartbeat", "FENCED_INSTANCE_ID"),),
        "a group.instance.id for each process", partial(same_instance, instances=("shelf-1", "shelf-2")),
    ),
    Incident(
        "instance-id-twice-franz-go", "static-member-fenced", "one", same_instance_in_go,
        {"group": "lift-control", "client_id": ["lift-a", "lift-b"]},
        (Shown("Heartbeat", "FENCED_INSTANCE_ID"),),
        "a group.instance.id for each process", partial(same_instance_in_go, instances=("lift-1", "lift-2")),
    ),
    Incident(
        "more-members-than-partitions", "idle-consumers", "one", too_many, {"group": "sorters", "topic": "letters"},
        (Shown("SyncGroup", at_least=4),), "more partitions, or fewer members", partial(too_many, partitions=4),
    ),
)  # fmt: skip
