"""Members that commit too late, too much, as somebody else, or to the wrong broker."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from ..handmade import Handmade, handmade
from ..incident import Incident, Shown
from ..stage import Stage
from .groups import SHORT
from .producing import move

ONE = "127.0.0.11:9092"


def member(client: Handmade, group: str, topic: str) -> tuple[str, int]:
    """Join a group alone, as a member of the topic's only partition; return the member id and the generation."""
    subscription = {"payload": "ConsumerProtocolSubscription", "value": {"version": 0, "topics": [topic]}}
    asked: dict[str, Any] = {
        "group_id": group, "session_timeout_ms": 6000, "rebalance_timeout_ms": 6000, "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription}],
    }  # fmt: skip
    told = client.ask("JoinGroup", 2, member_id="", **asked)
    parts = [{"topic": topic, "partitions": [0]}]
    assignment = {"payload": "ConsumerProtocolAssignment", "value": {"version": 0, "assigned_partitions": parts}}
    who = {"group_id": group, "generation_id": told["generation_id"], "member_id": told["member_id"]}
    client.ask("SyncGroup", 1, **who, assignments=[{"member_id": told["member_id"], "assignment": assignment}])
    return told["member_id"], told["generation_id"]


def committed(client: Handmade, group: str, topic: str, offset: int, who: tuple[str, int] = ("", -1)) -> None:
    partitions = [{"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}]
    client.ask(
        "OffsetCommit", 5, group_id=group, member_id=who[0], generation_id_or_member_epoch=who[1],
        topics=[{"name": topic, "partitions": partitions}],
    )  # fmt: skip


def left_and_committed(stage: Stage, first: str = "leave") -> None:
    """A member that leaves its group, and commits what it had done when it is gone."""
    stage.topic("wages")
    stage.fill("wages", *(f"wage {number}" for number in range(6)))
    with stage.recording(), handmade("wage-clerk", ONE) as client:
        for _ in range(3):
            client.ask("FindCoordinator", 1, key="wage-clerks", key_type=0)
            who = member(client, "wage-clerks", "wages")
            told = {"group_id": "wage-clerks", "generation_id": who[1], "member_id": who[0]}
            for _ in range(2):
                client.ask("Heartbeat", 1, **told)
                time.sleep(0.2)
            if first == "leave":
                client.ask("LeaveGroup", 1, group_id="wage-clerks", member_id=who[0])
                committed(client, "wage-clerks", "wages", 3, who)
            else:
                committed(client, "wage-clerks", "wages", 3, who)
                client.ask("LeaveGroup", 1, group_id="wage-clerks", member_id=who[0])


def long_notes(stage: Stage, length: int = 6000) -> None:
    """Commits with more metadata than offset.metadata.max.bytes (4,096) allows."""
    stage.topic("claims")
    stage.fill("claims", *(f"claim {number}" for number in range(8)))
    with stage.recording(), stage.consumer("claim-desk", "claim-desks", "claims", **SHORT) as reader:
        for number in range(6):
            message = reader.poll(3)
            if message is not None and message.error() is None:
                note = TopicPartition("claims", 0, number + 1, metadata="n" * length)
                with suppress(KafkaException):
                    reader.commit(offsets=[note], asynchronous=False)
            time.sleep(0.2)


def wrong_generation(stage: Stage, off: int = 3) -> None:
    """A member that commits with a generation which is not its group's."""
    stage.topic("claims")
    with stage.recording(), handmade("claim-batch", ONE) as client:
        client.ask("FindCoordinator", 1, key="claim-batches", key_type=0)
        name, generation = member(client, "claim-batches", "claims")
        for number in range(6):
            client.ask("Heartbeat", 1, group_id="claim-batches", generation_id=generation, member_id=name)
            committed(client, "claim-batches", "claims", number, (name, generation + off))
            time.sleep(0.2)


def coordinator_gone(stage: Stage, again: bool = False) -> None:
    """A client that goes on committing at the old coordinator, and never asks who it is now."""
    stage.topic("bids")
    first = stage.bootstrap.split(",")[0]
    with stage.recording():
        with handmade("bid-engine", first) as client:
            node = _coordinator(client, "bid-engines")
        client = Handmade("bid-engine", f"127.0.0.2{node}:9092")
        for number in range(4):
            committed(client, "bid-engines", "bids", number)
            time.sleep(0.2)
        # the partition of a group in __consumer_offsets is the hash of its name
        move(stage, "__consumer_offsets", *_from(node % 3 + 1), partition=_java_hash("bid-engines") % 4)
        stage.fails_now()
        for number in range(4, 12):
            if again and number == 4:
                node = _coordinator(client, "bid-engines")
                client.close()
                client = Handmade("bid-engine", f"127.0.0.2{node}:9092")
            committed(client, "bid-engines", "bids", number)
            time.sleep(0.2)
        client.close()


def _coordinator(client: Handmade, group: str) -> int:
    for _ in range(50):
        told = client.ask("FindCoordinator", 1, key=group, key_type=0)
        if told["error_code"] == 0:
            return int(told["node_id"])
        time.sleep(0.2)
    raise TimeoutError(f"group {group} has no coordinator")


def _from(node: int) -> tuple[int, ...]:
    """The three brokers, beginning with this one."""
    return tuple((node - 1 + each) % 3 + 1 for each in range(3))


def _java_hash(text: str) -> int:
    """What Java's String.hashCode gives, without its sign."""
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return min(value, (1 << 32) - value)


INCIDENTS = (
    Incident(
        "commit-after-leave", "commit-after-leaving-group", "one", left_and_committed,
        {"client_id": "wage-clerk", "group": "wage-clerks"},
        (Shown("LeaveGroup"), Shown("OffsetCommit", "UNKNOWN_MEMBER_ID", client_id="wage-clerk", at_least=3)),
        "commit, then leave", partial(left_and_committed, first="commit"),
    ),
    Incident(
        "commit-with-long-metadata", "offset-commit-failing", "one", long_notes,
        {"client_id": "claim-desk", "group": "claim-desks"},
        (Shown("OffsetCommit", "OFFSET_METADATA_TOO_LARGE", client_id="claim-desk", at_least=3),),
        "shorter metadata, or offset.metadata.max.bytes", partial(long_notes, length=20),
    ),
    Incident(
        "commit-with-wrong-generation", "offset-commit-failing", "one", wrong_generation,
        {"client_id": "claim-batch", "group": "claim-batches"},
        (Shown("OffsetCommit", "ILLEGAL_GENERATION", client_id="claim-batch", at_least=5),),
        "commit with the generation of the last join", partial(wrong_generation, off=0),
    ),
    Incident(
        "old-coordinator-for-ever", "coordinator-moved", "three", coordinator_gone,
        {"client_id": "bid-engine", "group": "bid-engines"},
        (Shown("OffsetCommit", "NOT_COORDINATOR", client_id="bid-engine", at_least=5),),
        "ask FindCoordinator after NOT_COORDINATOR", partial(coordinator_gone, again=True),
    ),
)  # fmt: skip
