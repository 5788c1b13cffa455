"""Routines that are well, in numbers, pauses and repetitions that look as if they were not."""

from __future__ import annotations

import time
import uuid
from contextlib import ExitStack, suppress
from threading import Thread

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ConfigResource,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from ..foreign import java_client
from ..incident import Packets, Shown, healthy
from ..stage import PATIENCE, Stage, ended
from .administration import script, tried
from .groups import SHORT, alive, polled

ONE = "127.0.0.11:9092"
COOPERATIVE = {
    "partition_assignment_strategy": "cooperative-sticky", "session_timeout_ms": 8000, "heartbeat_interval_ms": 500,
    "fetch_wait_max_ms": 500,
}  # fmt: skip


def two_hundred(stage: Stage) -> None:
    """Two hundred jobs in a row, each with one record and a name of its own."""
    stage.topic("invoice-lines")
    with stage.recording():
        for number in range(200):
            with stage.producer(f"invoice-{uuid.UUID(int=number * 15_485_863).hex[-6:]}", acks="1") as writer:
                writer.produce("invoice-lines", f"line {number}")
                writer.flush(PATIENCE)


def idempotent(stage: Stage) -> None:
    """An idempotent producer goes on writing while a broker of three is restarted in good order."""
    stage.topic("debits", partitions=3)
    broker = stage.cluster.brokers[2]
    with (
        stage.recording("tcp and not port 9990 and host 127.0.0.1"),
        stage.producer("debit-engine", enable_idempotence=True, acks="all", retry_backoff_ms=200) as writer,
    ):
        alive(writer, topic="debits", seconds=3, pause=0.1)
        restart = Thread(target=lambda: (broker.stop(), broker.start()))
        restart.start()
        while restart.is_alive():
            alive(writer, topic="debits", seconds=0.5, pause=0.1)
        restart.join()
        alive(writer, topic="debits", seconds=3, pause=0.1)
        writer.flush(PATIENCE)


def pausing(stage: Stage) -> None:
    """Two members poll, work for almost four seconds, and poll again; they may take eight."""
    stage.topic("renders", partitions=2)
    options = {
        "max_poll_interval_ms": 8000, "session_timeout_ms": 6000, "heartbeat_interval_ms": 1000,
        "fetch_wait_max_ms": 500,
    }  # fmt: skip
    with (
        stage.recording(),
        stage.producer("render-queue") as writer,
        stage.consumer("render-1", "renderers", "renders", **options) as one,
        stage.consumer("render-2", "renderers", "renders", **options) as two,
    ):
        polled(one, two, seconds=4)
        for number in range(6):
            for partition, reader in enumerate((one, two)):
                writer.produce("renders", f"frame {number}", partition=partition)
                writer.flush(PATIENCE)
                if (message := reader.poll(1)) is not None and message.error() is None:
                    with suppress(KafkaException):
                        reader.commit(message, asynchronous=False)
            time.sleep(3.8)


def pausing_java(stage: Stage) -> None:
    """A member of Java's takes three seconds for each record, and polls one at a time."""
    stage.topic("exports", partitions=2)
    stage.fill("exports", *(f"export {number}" for number in range(6)))
    settings = {
        "bootstrap.servers": ONE, "client.id": "export-job", "group.id": "export-jobs", "auto.offset.reset": "earliest",
        "max.poll.records": 1, "max.poll.interval.ms": 8000, "session.timeout.ms": 6000, "heartbeat.interval.ms": 1000,
        "do.seconds": 16, "do.work": 3000,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "exports", settings))


def cooperative(stage: Stage) -> None:
    """Static members with the cooperative assignor: a third one comes, one is restarted, nobody is fenced."""
    stage.topic("lifts", partitions=6)
    with stage.recording(), stage.producer("lift-sensors") as writer, ExitStack() as stays:
        members: list[Consumer] = []
        for number in (1, 2, 3):
            options = COOPERATIVE | {"group_instance_id": f"lift-{number}", "enable_auto_commit": True}
            if number == 2:
                with stage.consumer("lift-watch-2", "lift-watch", "lifts", **options) as first_life:
                    alive(writer, *members, first_life, topic="lifts", seconds=4, pause=0.3)
            member = stays.enter_context(stage.consumer(f"lift-watch-{number}", "lift-watch", "lifts", **options))
            members.append(member)
            alive(writer, *members, topic="lifts", seconds=4, pause=0.3)


def inventory(stage: Stage) -> None:
    """A script lists all that there is, and to be sure lists it once more."""
    stage.topic("parts", partitions=2)
    with stage.consumer("setup", "part-readers") as reader:
        reader.commit(offsets=[TopicPartition("parts", 0, 0)], asynchronous=False)
    admin = script("inventory")
    any_acl = AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY,
                               AclPermissionType.ANY)  # fmt: skip
    with stage.recording():
        for _ in range(2):
            admin.list_topics(timeout=PATIENCE)
            groups = admin.list_consumer_groups().result(PATIENCE)
            for name in sorted(each.group_id for each in groups.valid if each.group_id == "part-readers"):
                tried(admin.describe_consumer_groups([name]))
                tried(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)]))
            tried(admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "parts")]))
            tried(admin.list_offsets({TopicPartition("parts", each): OffsetSpec.latest() for each in (0, 1)}))
            admin.describe_cluster().result(PATIENCE)
            with suppress(KafkaException):  # this cluster has an authorizer or has none
                admin.describe_acls(any_acl).result(PATIENCE)


def leases(stage: Stage) -> None:
    """A compacted topic of leases: the one that is held is renewed several times a second, others now and then."""
    stage.topic("leases", partitions=3, cleanup_policy="compact")
    with (
        stage.recording(),
        stage.producer("lease-holder") as writer,
        stage.consumer("lease-watch", "lease-watchers", "leases", **SHORT) as reader,
    ):
        for number in range(60):
            writer.produce("leases", f"until {number + 3}", key="scheduler")
            if number % 12 == 0:
                writer.produce("leases", f"until {number + 60}", key=f"worker-{number % 5}")
            writer.poll(0)
            polled(reader, seconds=0.2)
        writer.flush(PATIENCE)
        with suppress(KafkaException):
            reader.commit(asynchronous=False)


def scaled(stage: Stage) -> None:
    """A deployment grows from one pod to four and shrinks again; a pod's name ends in a hash."""
    stage.topic("uploads", partitions=6)
    options = SHORT | {"partition_assignment_strategy": "range", "enable_auto_commit": True,
                       "auto_commit_interval_ms": 500}  # fmt: skip
    with stage.recording(), stage.producer("upload-gate") as writer, ExitStack() as pods:
        running: list[Consumer] = []
        for name in ("x2k9p", "m4qzt", "tt8wn", "k2vhd"):
            pod = stage.consumer(f"resize-6f7c9d5b8d-{name}", "resize", "uploads", **options)
            running.append(pods.enter_context(pod))
            alive(writer, *running, topic="uploads", seconds=2.5)
        for _ in range(3):
            running.pop().close()
            alive(writer, *running, topic="uploads", seconds=2)


def registry(stage: Stage) -> None:
    """A registry keeps its schemas in a topic: it reads what it wrote, and writes when somebody asks it to."""
    stage.topic("_registry", cleanup_policy="compact")
    options = SHORT | {"enable_auto_offset_store": False}
    with (
        stage.recording(),
        stage.producer("registry", acks="all") as writer,
        stage.consumer("registry", "registry-1", **options) as reader,
    ):
        reader.assign([TopicPartition("_registry", 0, 0)])
        for number in range(12):
            writer.produce("_registry", '{"type": "string"}', key=f"subject-{number % 4}/{number // 4}")
            writer.flush(PATIENCE)
            polled(reader, seconds=0.8)


INCIDENTS = (
    healthy("two-hundred-short-jobs", "one", two_hundred, "connection churn, an unbatched producer",
            Packets("S", port=9092, at_least=400)),
    healthy("idempotent-producer-and-a-restart", "three", idempotent, "sequence gap, a broker that dies",
            Shown("Produce", client_id="debit-engine", at_least=40), Shown("InitProducerId")),
    healthy("members-pause-between-polls", "one", pausing, "max.poll.interval.ms exceeded, paused consumers",
            Shown("OffsetCommit", client_id="render-1", at_least=4), Shown("Heartbeat", at_least=20)),
    healthy("member-pauses-between-polls-java", "one", pausing_java, "max.poll.interval.ms exceeded",
            Shown("Heartbeat", client_id="export-job", at_least=8)),
    healthy("static-members-cooperate", "one", cooperative, "rebalance storm, a fenced static member",
            Shown("JoinGroup", client_id="lift-watch-1", at_least=2), Shown("JoinGroup", client_id="lift-watch-3")),
    healthy("inventory-twice", "one", inventory, "repeated requests", Shown("ListGroups", at_least=2),
            Shown("DescribeConfigs", client_id="inventory", at_least=2)),
    healthy("leases-renewed", "one", leases, "hot partition, an unbatched producer",
            Shown("Produce", client_id="lease-holder", at_least=50)),
    healthy("pods-scaled-up-and-down", "one", scaled, "rebalance storm, idle consumers",
            Shown("JoinGroup", at_least=10), Shown("LeaveGroup", at_least=4)),
    healthy("registry-reads-what-it-wrote", "one", registry, "feedback loop, consumer never commits",
            Shown("Produce", client_id="registry", at_least=10), Shown("Fetch", client_id="registry", at_least=10)),
)  # fmt: skip
