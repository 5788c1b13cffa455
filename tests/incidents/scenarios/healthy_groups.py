"""Groups that are lively and well: members come and go, wait, go back, catch up."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from functools import partial

from confluent_kafka import Consumer, KafkaException, TopicPartition

from ..foreign import java_client
from ..incident import Shown, healthy
from ..stage import PATIENCE, Stage, ended
from .groups import SHORT, alive, polled

ONE, STRICT, OLD = "127.0.0.11:9092", "127.0.0.31:9092", "127.0.0.41:9092"
EAGER = SHORT | {"partition_assignment_strategy": "range"}


def comings_and_goings(stage: Stage, name: str = "tours", **protocol: str) -> None:
    """Members join a group and leave it, one after the other."""
    stage.topic(name, partitions=4)
    options = (EAGER if not protocol else SHORT) | protocol
    if protocol.get("group_protocol") == "consumer":
        options = {"fetch_wait_max_ms": 500} | protocol
    with stage.recording(), stage.producer("tour-office") as writer, ExitStack() as members:
        readers: list[Consumer] = []
        for number in range(1, 4):
            readers.append(members.enter_context(stage.consumer(f"{name}-{number}", f"{name}-group", name, **options)))
            alive(writer, *readers, topic=name, seconds=3)
        writer.flush(PATIENCE)


def comings_in_java(stage: Stage) -> None:
    """Java's cooperative members: two, then one."""
    stage.topic("walks", partitions=4)
    assignor = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    told = {
        "bootstrap.servers": ONE, "group.id": "walk-guides", "partition.assignment.strategy": assignor,
        "heartbeat.interval.ms": 500,
    }  # fmt: skip
    with stage.recording():
        first = java_client("consume", "walks", told | {"client.id": "walk-1", "do.seconds": 8})
        time.sleep(2.5)
        ended(java_client("consume", "walks", told | {"client.id": "walk-2", "do.seconds": 2}))
        ended(first)


def idle(stage: Stage) -> None:
    """Consumers with nothing to read wait as long as they may."""
    stage.topic("fire-alarms", partitions=2)
    options = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000, "fetch_wait_max_ms": 2000}
    with (
        stage.recording(),
        stage.consumer("fire-1", "fire-stations", "fire-alarms", **options) as one,
        stage.consumer("fire-2", "fire-stations", "fire-alarms", **options) as two,
    ):
        polled(one, two, seconds=9)


def first_group(stage: Stage) -> None:
    """The first group of a cluster: the topic of offsets is made for it."""
    stage.topic("hello")
    with (
        stage.recording(),
        stage.producer("greeter") as writer,
        stage.consumer("greeted", "greeted-ones", "hello", **SHORT) as reader,
    ):
        alive(writer, reader, topic="hello", seconds=4)
        reader.commit(offsets=[TopicPartition("hello", 0, 1)], asynchronous=False)


def many_groups(stage: Stage) -> None:
    """Three groups that read one topic, each at its own pace."""
    stage.topic("news")
    with stage.recording(), stage.producer("news-desk") as writer, ExitStack() as members:
        readers = [members.enter_context(stage.consumer(f"{each}-app", f"{each}s", "news", **SHORT))
                   for each in ("phone", "radio", "paper")]  # fmt: skip
        alive(writer, *readers, topic="news", seconds=5)
        for reader in readers:
            with suppress(KafkaException):
                reader.commit(asynchronous=False)


def again_from_the_start(stage: Stage) -> None:
    """A consumer that goes back to the beginning, on purpose."""
    stage.topic("songs")
    stage.fill("songs", *(f"song {number}" for number in range(30)))
    with stage.recording(), stage.consumer("song-index", "song-indexes", "songs", **SHORT) as reader:
        polled(reader, seconds=2)
        reader.commit(offsets=reader.position(reader.assignment()), asynchronous=False)
        reader.seek(TopicPartition("songs", 0, 0))
        polled(reader, seconds=2)
        reader.commit(offsets=reader.position(reader.assignment()), asynchronous=False)


def catching_up(stage: Stage) -> None:
    """A consumer that was away, and is quicker than what it has to catch up with."""
    stage.topic("backlog")
    stage.fill("backlog", *(f"task {number} " + "t" * 50 for number in range(3000)), batch_num_messages=50)
    options = SHORT | {"fetch_message_max_bytes": 16_384, "enable_auto_commit": True, "auto_commit_interval_ms": 500}
    with (
        stage.recording(),
        stage.producer("task-source") as writer,
        stage.consumer("task-worker", "task-workers", "backlog", **options) as reader,
    ):
        alive(writer, reader, topic="backlog", seconds=5, pause=0.1)
        writer.flush(PATIENCE)


def static_again(stage: Stage) -> None:
    """A static member is stopped, and started again: there is no rebalance, and nobody is fenced."""
    stage.topic("lockers", partitions=2)
    options = SHORT | {"session_timeout_ms": 6000}
    with (
        stage.recording(),
        stage.producer("locker-panel") as writer,
        stage.consumer("locker-a", "locker-rooms", "lockers", group_instance_id="locker-1", **options) as stays,
    ):
        for _ in range(2):
            with stage.consumer(
                "locker-b", "locker-rooms", "lockers", group_instance_id="locker-2", **options
            ) as other:
                alive(writer, stays, other, topic="lockers", seconds=3)
        alive(writer, stays, topic="lockers", seconds=1)


def slow_but_enough(stage: Stage) -> None:
    """A consumer that takes its time on each record, and has enough of it."""
    stage.topic("portraits")
    with (
        stage.recording(),
        stage.producer("portrait-in") as writer,
        stage.consumer("portrait-painter", "portrait-painters", "portraits", **SHORT) as reader,
    ):
        for number in range(6):
            writer.produce("portraits", f"portrait {number}")
            writer.flush(PATIENCE)
            polled(reader, seconds=1.2, work=0.6)
            with suppress(KafkaException):
                reader.commit(asynchronous=False)


INCIDENTS = (
    healthy("members-come-and-go", "one", comings_and_goings, "rebalance storm",
            Shown("JoinGroup", at_least=5), Shown("LeaveGroup", at_least=3)),
    healthy("members-come-and-go-java", "one", comings_in_java, "rebalance storm",
            Shown("JoinGroup", at_least=4), Shown("LeaveGroup", at_least=2)),
    healthy("members-come-and-go-new-protocol", "one",
            partial(comings_and_goings, name="cruises", group_protocol="consumer"), "rebalance storm",
            Shown("ConsumerGroupHeartbeat", at_least=6)),
    healthy("idle-long-polls", "one", idle, "a slow broker", Shown("Fetch", client_id="fire-1", at_least=3)),
    healthy("first-group-of-a-cluster", "fresh", first_group, "no coordinator",
            Shown("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")),
    healthy("three-groups-on-one-topic", "one", many_groups, "a shared group", Shown("JoinGroup", at_least=3)),
    healthy("back-to-the-beginning", "one", again_from_the_start, "poison record, offset out of range",
            Shown("Fetch", client_id="song-index", at_least=2)),
    healthy("catching-up", "one", catching_up, "a consumer that is too slow",
            Shown("Fetch", client_id="task-worker", at_least=10)),
    healthy("static-member-restarted", "one", static_again, "a fenced static member", Shown("JoinGroup", at_least=3)),
    healthy("slow-work-and-no-lag", "one", slow_but_enough, "a consumer that is too slow",
            Shown("OffsetCommit", client_id="portrait-painter", at_least=4)),
)  # fmt: skip
