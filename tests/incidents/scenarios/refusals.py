"""Requests that brokers refuse for what they name: a broker, a group, a user, a pattern, an epoch."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import ScramMechanism, UserScramCredentialDeletion

from ..clusters import FAR, LINE_PORT, NEAR
from ..foreign import java_client
from ..handmade import Handmade, handmade
from ..incident import Incident, Packets, Shown
from ..line import DEVICE
from ..stage import SETUP, Stage, ended
from .administration import repeated, script, tried
from .groups import SHORT, polled
from .membership import NEW
from .producing import move

ONE, THREE, LINE = "127.0.0.11:9092", "127.0.0.21:9092", f"{NEAR}:{LINE_PORT}"
NO_PEERS = "tcp and not port 9990 and host 127.0.0.1"


def place(stage: Stage, broker: int = 9) -> None:
    """A partition is to move to a broker that the cluster does not have."""
    stage.topic("trades", replicas=[[1, 2]])
    placed = [{"name": "trades", "partitions": [{"partition_index": 0, "replicas": [1, broker]}]}]
    with stage.recording(NO_PEERS), handmade("move-job", THREE) as client:
        client.ask("ApiVersions", 0)
        repeated(lambda: client.ask("AlterPartitionReassignments", 0, timeout_ms=5000, topics=placed))


def delete_group(stage: Stage, there: bool = False) -> None:
    """A script that deletes groups of a list which is out of date."""
    stage.topic("mails")
    admin = script("group-cleaner")
    if there:
        with stage.consumer(SETUP, "mailers-2019") as reader:
            reader.commit(offsets=[TopicPartition("mails", 0, 0)], asynchronous=False)
    with stage.recording():
        repeated(lambda: tried(admin.delete_consumer_groups(["mailers-2019"])), times=1 if there else 3)


def dismiss(stage: Stage, user: str = "mallory") -> None:
    """A user of SCRAM is to be deleted that is not there."""
    admin = script("user-sync")
    with stage.recording():
        gone = UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256)
        repeated(lambda: tried(admin.alter_user_scram_credentials([gone])), times=1 if user == "alice" else 3)


def match(stage: Stage, pattern: str = r"^(orders)-\1") -> None:
    """A pattern that the broker cannot compile, where it is the broker that matches (KIP-848)."""
    stage.topic("orders-1")
    with stage.recording():
        for _ in range(3):
            with stage.consumer("order-index", "order-indexes-848", **NEW) as reader, suppress(KafkaException):
                reader.subscribe([pattern])
                polled(reader, seconds=2)


def share(stage: Stage, group: str = "printers") -> None:
    """A share consumer with the id of a group of another type."""
    stage.topic("prints")
    settings = {"bootstrap.servers": ONE, "client.id": "print-queue", "group.id": group, "do.seconds": 5}
    with stage.recording(), stage.consumer("print-log", "printers", "prints", **SHORT) as reader:
        polled(reader, seconds=2)
        process = java_client("share", "prints", settings)
        while process.poll() is None:
            polled(reader, seconds=0.3)
        ended(process)


def fetch_by_epoch(stage: Stage, refresh: bool = False) -> None:
    """A client made by hand that goes on fetching with the leader epoch which it read at first."""
    stage.topic("gauges", replicas=[[1, 2]])
    stage.fill("gauges", *(f"gauge {number}" for number in range(5)))
    with stage.recording(NO_PEERS):
        client = Handmade("gauge-poller", THREE)
        client.ask("ApiVersions", 0)
        epoch = _epoch(client)
        for number in range(16):
            if number == 4:
                move(stage, "gauges", 2, 1)
                move(stage, "gauges", 1, 2)
                stage.fails_now()
            if number >= 4 and refresh:
                epoch = _epoch(client)
            part = {
                "partition": 0, "current_leader_epoch": epoch, "fetch_offset": 5, "log_start_offset": -1,
                "partition_max_bytes": 1 << 20,
            }  # fmt: skip
            client.ask(
                "Fetch", 11, replica_id=-1, max_wait_ms=150, min_bytes=1, max_bytes=1 << 20, isolation_level=0,
                session_id=0, session_epoch=-1, topics=[{"topic": "gauges", "partitions": [part]}],
                forgotten_topics_data=[], rack_id="",
            )  # fmt: skip
            time.sleep(0.1)
        client.close()


def _epoch(client: Handmade) -> Any:
    options = {"allow_auto_topic_creation": False, "include_cluster_authorized_operations": False}
    options |= {"include_topic_authorized_operations": False}
    told = client.ask("Metadata", 8, topics=[{"name": "gauges"}], **options)
    return told["topics"][0]["partitions"][0]["leader_epoch"]


def read_slowly(stage: Stage, buffer: int = 4096) -> None:
    """A consumer with a small receive buffer on a line of 12 ms: one window of bytes for each round trip."""
    stage.topic("films")
    stage.fill("films", *("f" * 20_000 for _ in range(25)), linger_ms=50, compression_type="none")
    line = stage.line()
    line.becomes(delay=0.006)

    def work() -> None:
        options = {"bootstrap_servers": LINE, "socket_receive_buffer_bytes": buffer, "fetch_wait_max_ms": 300}
        with stage.consumer("film-player", "film-players", **options) as reader:
            reader.assign([TopicPartition("films", 0, 0)])
            polled(reader, seconds=9)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


CLIENT = "client_id"
INCIDENTS = (
    Incident(
        "reassignment-to-unknown-broker", "invalid-replica-assignment", "three", place,
        {CLIENT: "move-job", "topic": "trades"},
        (Shown("AlterPartitionReassignments", "INVALID_REPLICA_ASSIGNMENT", client_id="move-job", at_least=3),),
        "ids of brokers that the cluster has", partial(place, broker=3),
    ),
    Incident(
        "unknown-group-deleted", "group-unknown", "one", delete_group,
        {CLIENT: "group-cleaner", "group": "mailers-2019"},
        (Shown("DeleteGroups", "GROUP_ID_NOT_FOUND", client_id="group-cleaner", at_least=3),),
        "list the groups first", partial(delete_group, there=True),
    ),
    Incident(
        "unknown-user-deleted", "scram-user-unknown", "one", dismiss, {CLIENT: "user-sync"},
        (Shown("AlterUserScramCredentials", "RESOURCE_NOT_FOUND", client_id="user-sync", at_least=3),),
        "the name of a user", None,
    ),
    Incident(
        "pattern-that-does-not-compile", "invalid-regular-expression", "one", match,
        {CLIENT: "order-index", "group": "order-indexes-848"},
        (Shown("ConsumerGroupHeartbeat", "INVALID_REGULAR_EXPRESSION", client_id="order-index"),),
        "a pattern of RE2", partial(match, pattern="^orders-[0-9]+"),
    ),
    Incident(
        "share-consumer-in-consumer-group", "error-response", "one", share,
        {CLIENT: "print-queue", "group": "printers"},
        (Shown("ShareGroupHeartbeat", "GROUP_ID_NOT_FOUND", client_id="print-queue"),),
        "a group.id of its own for the share group", partial(share, group="print-sharers"),
    ),
    Incident(
        "leader-epoch-of-before", "stale-leader", "three", fetch_by_epoch,
        {CLIENT: "gauge-poller", "topic": "gauges"},
        (Shown("Fetch", "FENCED_LEADER_EPOCH", client_id="gauge-poller", at_least=10),),
        "request Metadata after FENCED_LEADER_EPOCH", partial(fetch_by_epoch, refresh=True),
    ),
    Incident(
        "receive-buffer-too-small", "receive-window-too-small", "one", read_slowly,
        {CLIENT: "film-player", "host": FAR}, (Packets("A", address=FAR, at_least=100),),
        "receive.buffer.bytes (librdkafka: socket.receive.buffer.bytes)", partial(read_slowly, buffer=0),
    ),
)  # fmt: skip
