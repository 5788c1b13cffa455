"""Two runs side by side: what is learnt of one answer holds in the requests that follow."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kdbg.analysis.compare.broker_assigned import (
    GENERATION,
    KEPT,
    LEADER_EPOCH,
    MEMBER,
    OFFSET,
    PRODUCER,
    PRODUCER_EPOCH,
    TOPIC_ID,
)
from kdbg.analysis.compare.value_mapping import Counterparts
from kdbg.exchanges.messages.message import read
from kdbg.protocol import grammars
from kdbg.protocol.wire.nodes import build

OLD, NEW = UUID(int=5), UUID(int=6)
PLACE = {"topic": "orders", "partition": 0}


def at(api: str, direction: Any, version: int) -> Any:
    return grammars.api(api).at(direction, version)


def test_ids_of_members_and_generations_are_those_of_now() -> None:
    known = Counterparts()
    answer = {"error_code": 0, "generation_id": 1, "member_id": "a-1", "leader": "a-1", "members": []}
    now = answer | {"generation_id": 8, "member_id": "b-1", "leader": "b-1"}
    known.learn(answer, now, at("JoinGroup", "response", 2), {"group": "g"})
    said = known.changed({"group_id": "g", "generation_id": 1, "member_id": "a-1"}, at("Heartbeat", "request", 0), {})
    assert said == {"group_id": "g", "generation_id": 8, "member_id": "b-1"}


def test_a_generation_is_one_of_its_group() -> None:
    known = Counterparts()
    known.note(GENERATION, {"group": "g"}, 1, 8)
    other = {"group_id": "h", "generation_id": 1, "member_id": ""}
    assert known.changed(other, at("Heartbeat", "request", 0)) is other


def test_what_means_the_same_everywhere_stays() -> None:
    known = Counterparts()
    known.note(MEMBER, {}, "", "b")
    known.note(GENERATION, {"group": "g"}, -1, 4)
    known.note(PRODUCER, {}, -1, 9)
    assert known.of(MEMBER, {}, "") == ""
    assert known.of(GENERATION, {"group": "g"}, -1) == -1
    assert known.of(PRODUCER, {}, -1) == -1


def test_the_first_that_was_told_counts() -> None:
    known = Counterparts()
    known.note(PRODUCER, {}, 4, 9)
    known.note(PRODUCER, {}, 4, 10)
    assert known.of(PRODUCER, {}, 4) == 9


def test_batches_are_of_the_producer_of_now_and_prove_it() -> None:
    known = Counterparts()
    known.note(PRODUCER, {}, 4, 900)
    known.note(PRODUCER_EPOCH, {"producer": 4}, 0, 7)
    api, version = grammars.api("Produce"), 9
    grammar = api.at("request", version)
    batch = {"producer_id": 4, "producer_epoch": 0, "base_sequence": 3, "records": [{"key": None, "value": b"x" * 50}]}
    body = {"acks": -1, "timeout_ms": 1, "topic_data": [
        {"name": "orders", "partition_data": [{"index": 0, "records": [batch]}]}]}  # fmt: skip
    captured = read(api, version, "request", build(grammar, body), header=False)
    changed = known.changed(captured.body, grammar)
    message = read(api, version, "request", build(grammar, changed), header=False)
    (found,) = message.body["topic_data"][0]["partition_data"][0]["records"]
    assert (found["producer_id"], found["producer_epoch"], found["base_sequence"]) == (900, 7, 3)
    assert not message.findings, "its checksum is right"


def test_payloads_speak_of_the_generation_of_now() -> None:
    known = Counterparts()
    known.note(GENERATION, {"group": "g"}, 3, 30)
    api, version = grammars.api("JoinGroup"), 5
    grammar = api.at("request", version)
    subscription = {"payload": "ConsumerProtocolSubscription", "value": {
        "version": 2, "topics": ["orders"], "user_data": None, "owned_partitions": [], "generation_id": 3}}  # fmt: skip
    from kdbg.exchanges.messages.exchange import CapturedMessage
    from kdbg.exchanges.messages.reshape import rebuild

    body = {"group_id": "g", "session_timeout_ms": 1, "rebalance_timeout_ms": 1, "member_id": "",
            "protocol_type": "consumer", "protocols": [{"name": "range", "metadata": subscription}]}  # fmt: skip
    from kdbg import encode

    data = encode(rebuild(body), api="JoinGroup", version=version, direction="request", header={"correlation_id": 1})
    half = CapturedMessage(data, (0, 0), (0, 0), "request")
    half.api, half.version = api, version
    message = half.message()
    assert message is not None
    made = known.changed(message.body, grammar)
    again = CapturedMessage(
        encode(made, api="JoinGroup", version=version, direction="request", header={"correlation_id": 1}),
        (0, 0), (0, 0), "request",
    )  # fmt: skip
    again.api, again.version = api, version
    told = again.message()
    assert told is not None
    assert told.body["protocols"][0]["metadata"].value["generation_id"] == 30


def test_topics_are_paired_by_their_ids_of_now() -> None:
    known = Counterparts({OLD: "orders", UUID(int=50): "letters"})
    known.note(TOPIC_ID, {}, OLD, NEW)
    known.note(TOPIC_ID, {}, UUID(int=50), UUID(int=60))
    old = [{"topic_id": OLD, "partitions": [1]}, {"topic_id": UUID(int=50), "partitions": [2]}]
    new = [{"topic_id": UUID(int=60), "partitions": [2]}, {"topic_id": NEW, "partitions": [1]}]
    found = {index: (one["partitions"], other["partitions"]) for index, one, other in known.paired(old, new)}
    assert found == {"orders": ([1], [1]), "letters": ([2], [2])}


def test_of_items_that_cannot_be_told_apart_nothing_is_learnt() -> None:
    known = Counterparts()
    old = {"members": [{"member_id": "a", "metadata": b""}, {"member_id": "b", "metadata": b""}]}
    new = {"members": [{"member_id": "y", "metadata": b""}, {"member_id": "x", "metadata": b""}]}
    known.learn(old, new, at("JoinGroup", "response", 2))
    assert known.of(MEMBER, {}, "a") is KEPT


def test_an_epoch_that_nobody_knows_is_not_checked() -> None:
    known = Counterparts()
    part = {"partition": 0, "current_leader_epoch": 4, "fetch_offset": 0, "last_fetched_epoch": -1,
            "log_start_offset": -1, "partition_max_bytes": 1}  # fmt: skip
    body = {"topics": [{"topic": "orders", "partitions": [part]}]}
    said = known.changed(body, at("Fetch", "request", 12))
    assert said["topics"][0]["partitions"][0]["current_leader_epoch"] == -1
    known.note(LEADER_EPOCH, PLACE, 4, 2)
    said = known.changed(body, at("Fetch", "request", 12))
    assert said["topics"][0]["partitions"][0]["current_leader_epoch"] == 2


@given(st.dictionaries(st.integers(0, 100), st.integers(0, 1000), min_size=1), st.integers(0, 200))
def test_an_offset_lies_as_far_from_the_nearest_before_it(anchors: dict[int, int], offset: int) -> None:
    known = Counterparts()
    for old, new in anchors.items():
        known.note(OFFSET, PLACE, old, new)
    before = [old for old in anchors if old <= offset] or [min(anchors)]
    expected = max(anchors[max(before) if offset >= min(anchors) else min(anchors)]
                   + offset - (max(before) if offset >= min(anchors) else min(anchors)), 0)  # fmt: skip
    assert known.of(OFFSET, PLACE, offset) == expected


def test_offsets_below_zero_are_words() -> None:
    known = Counterparts()
    known.note(OFFSET, PLACE, 0, 500)
    assert [known.of(OFFSET, PLACE, word) for word in (-1, -2)] == [-1, -2]
