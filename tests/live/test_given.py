"""What a mock answers of a recording of a few exchanges: whole responses, and what is counted and told."""

from __future__ import annotations

import time
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.mocking.answers import HANG_UP, Answers, Reply
from kdbg.live.mocking.recording import Recording

from .test_replaying import OLD, exchange

HOUR = 3_600_000


class Given:
    """Answers of these exchanges, what is said of what has no answer, and what of mistakes."""

    def __init__(self, *exchanges: Exchange, names: Any = None) -> None:
        recording = Recording(1 << 20)
        for one in exchanges:
            recording.add(one)
        self.said, self.told = list[str](), list[str]()
        self.of = Answers(
            recording.order(names or {}), lambda host, port: ("mock", port + 1), self.said.append, self.told.append
        )

    def reply(self, api: str, version: int, **body: Any) -> Reply:
        return self.of.reply(
            kdbg.encode(body, api=api, version=version, direction="request",
                        header={"correlation_id": 9, "client_id": "me"})
        )  # fmt: skip

    def body(self, api: str, version: int, **body: Any) -> Any:
        reply = self.reply(api, version, **body)
        assert reply.data is not None
        message = kdbg.decode(reply.data, api=api, version=version, direction="response")
        assert message.header is not None
        assert message.header["correlation_id"] == 9
        return message.body

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.of.answered, self.of.refused, self.of.rejected


def part(index: int, leader: int = 1) -> dict[str, Any]:
    return {"error_code": 0, "partition_index": index, "leader_id": leader, "replica_nodes": [1], "isr_nodes": [1]}


METADATA = exchange("Metadata", 1, {"topics": None}, {
    "brokers": [{"node_id": 1, "host": "kafka", "port": 9092}], "controller_id": 1,
    "topics": [{"error_code": 0, "name": "orders", "partitions": [part(0), part(1)]}]})  # fmt: skip
LISTED = exchange("ListOffsets", 1, {"replica_id": -1, "topics": [
    {"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}]}]},
    {"topics": [{"name": "orders", "partitions": [
        {"partition_index": 0, "error_code": 0, "timestamp": -1, "offset": 77}]}]})  # fmt: skip
BATCH = {
    "base_offset": 5,
    "records": [{"key": None, "value": b"x", "offset": 5}, {"key": None, "value": b"y", "offset": 6}],
}
ASKED = {"partition": 0, "fetch_offset": 5, "partition_max_bytes": 1}
FETCHED = exchange(
    "Fetch",
    12,
    {"max_wait_ms": 1, "min_bytes": 1, "topics": [{"topic": "orders", "partitions": [ASKED]}]},
    {
        "error_code": 0,
        "session_id": 3,
        "responses": [
            {
                "topic": "orders",
                "partitions": [{"partition_index": 0, "error_code": 0, "high_watermark": 7, "records": [BATCH]}],
            }
        ],
    },
)
RECORDS = [{"records": [{"key": None, "value": b"x"}]}]
PRODUCED = exchange(
    "Produce",
    7,
    {
        "acks": 1,
        "timeout_ms": 1,
        "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": RECORDS}]}],
    },
    {
        "responses": [
            {
                "name": "orders",
                "partition_responses": [
                    {"index": 0, "error_code": 0, "base_offset": 40, "log_append_time_ms": -1, "log_start_offset": 2}
                ],
            }
        ]
    },
)


def test_topics_are_as_recorded_or_unknown_and_addresses_are_the_mocks() -> None:
    given = Given(METADATA)
    body = given.body("Metadata", 1, topics=[{"name": "orders"}, {"name": "nowhere"}, {"name": "a/b"}])
    assert [(one["host"], one["port"]) for one in body["brokers"]] == [("mock", 9093)]
    assert [(one["name"], one["error_code"], len(one["partitions"])) for one in body["topics"]] == [
        ("orders", 0, 2), ("nowhere", 3, 0), ("a/b", 17, 0)]  # fmt: skip
    assert [one["name"] for one in given.body("Metadata", 1, topics=None)["topics"]] == ["orders"]
    assert (given.counts, given.said, given.told) == ((2, 0, 0), [], [])


def test_all_topics_are_those_of_all_answers_without_their_errors_where_one_has_none() -> None:
    def told(*topics: tuple[str, int]) -> Exchange:
        asked = {"topics": [{"name": name} for name, _ in topics]}
        rows = [{"error_code": code, "name": name, "partitions": [part(0)] * (not code)} for name, code in topics]
        return exchange("Metadata", 1, asked, {"brokers": [], "controller_id": 1, "topics": rows})

    answers = [told(("a", 5), ("b", 0)), told(("a", 0)), told(("b", 5), ("c", 3)), told(("c", 5))]
    for recorded in (answers, answers[::-1]):  # an error before the topic without one, and behind it
        given = Given(*recorded)
        found = {one["name"]: (one["error_code"], len(one["partitions"]))
                 for one in given.body("Metadata", 1, topics=None)["topics"]}  # fmt: skip
        assert (found["a"], found["b"], found["c"][1], sorted(found)) == ((0, 1), (0, 1), 0, ["a", "b", "c"])
    (one,) = Given(*answers).body("Metadata", 1, topics=[{"name": "b"}])["topics"]
    assert (one["name"], one["error_code"]) == ("b", 0)


def test_offsets_that_the_recorded_request_did_not_ask_for_are_those_of_its_records() -> None:
    given = Given(METADATA, LISTED, FETCHED)

    def offset(timestamp: int, partition: int = 0, topic: str = "orders") -> tuple[int, int]:
        asked = [{"name": topic, "partitions": [{"partition_index": partition, "timestamp": timestamp}]}]
        (found,) = given.body("ListOffsets", 1, replica_id=-1, topics=asked)["topics"][0]["partitions"]
        return found["error_code"], found["offset"]

    assert [offset(each) for each in (-1, -2, 5)] == [(0, 77), (0, 5), (0, 77)]
    assert [offset(-2, 1), offset(-1, 1), offset(-1, 2), offset(-2, topic="x")] == [(0, 0), (0, 0), (3, -1), (3, -1)]


def test_a_fetch_has_records_or_waits() -> None:
    given = Given(METADATA, FETCHED)

    def fetch(topic: str, partition: int, offset: int) -> tuple[Any, float]:
        asked = [{"topic": topic, "partitions": [{"partition": partition, "fetch_offset": offset,
                                                  "partition_max_bytes": 1}]}]  # fmt: skip
        reply = given.reply("Fetch", 11, max_wait_ms=250, min_bytes=1, topics=asked)
        assert reply.data is not None
        body = kdbg.decode(reply.data, api="Fetch", version=11, direction="response").body
        ((one,),) = [topic["partitions"] for topic in body["responses"]]
        assert (body["responses"][0]["topic"], one["partition_index"], body["session_id"]) == (topic, partition, 0)
        return (one["error_code"], one["high_watermark"], len(one["records"] or ())), reply.seconds

    assert fetch("orders", 0, 5) == ((0, 7, 1), 0.0)
    assert fetch("orders", 0, 7) == ((0, 7, 0), 0.25)
    assert fetch("orders", 1, 0) == ((0, 0, 0), 0.25)
    assert fetch("orders", 2, 0) == ((3, -1, 0), 0.0)
    assert fetch("nowhere", 0, 0) == ((3, -1, 0), 0.0)
    body = given.body("Fetch", 11, max_wait_ms=1, min_bytes=1, session_id=4, session_epoch=1, topics=[])
    assert (body["error_code"], body["session_id"], body["responses"]) == (70, 0, [])


def test_a_fetch_by_topic_id() -> None:
    topics = [{"topic_id": OLD, "partitions": [ASKED]}]
    told = {"partition_index": 0, "error_code": 0, "high_watermark": 9, "records": []}
    recorded = exchange("Fetch", 13, {"max_wait_ms": 1, "min_bytes": 1, "topics": topics},
                        {"error_code": 0, "responses": [{"topic_id": OLD, "partitions": [told]}]})  # fmt: skip
    given = Given(METADATA, FETCHED, recorded, names={OLD: "orders"})
    body = given.body("Fetch", 13, max_wait_ms=1, min_bytes=1, topics=topics)
    ((one,),) = [topic["partitions"] for topic in body["responses"]]
    assert (body["responses"][0]["topic_id"], one["high_watermark"], len(one["records"])) == (OLD, 9, 1)


def produced(given: Given, *parts: int, acks: int = 1, topic: str = "orders", timestamp: int = 0) -> Reply:
    records = [{"records": [{"key": None, "value": b"x", "timestamp": timestamp}]}]
    data = [{"name": topic, "partition_data": [{"index": index, "records": records} for index in parts]}]
    return given.reply("Produce", 7, acks=acks, timeout_ms=1, topic_data=data)


def codes(reply: Reply) -> Any:
    assert reply.data is not None
    body = kdbg.decode(reply.data, api="Produce", version=7, direction="response").body
    return [[(one["index"], one["error_code"], one["base_offset"], one["log_start_offset"])
             for one in topic["partition_responses"]] for topic in body["responses"]]  # fmt: skip


def test_what_is_produced_is_answered_by_partition() -> None:
    given = Given(METADATA, PRODUCED)
    assert codes(produced(given, 0, 1, 2)) == [[(0, 0, 40, 2), (1, 0, 0, 0), (2, 3, -1, -1)]]
    assert codes(produced(given, 0, topic="x")) == [[(0, 3, -1, -1)]]
    assert given.counts == (2, 0, 0)
    assert produced(given, 0, acks=0) == Reply()
    assert produced(given, 0, 2, acks=0) == HANG_UP
    assert given.counts == (4, 0, 0)
    reply = produced(given, 0, acks=5)
    assert codes(reply) == [[(0, 21, -1, -1)]]
    assert (given.counts, len(given.told)) == ((5, 0, 1), 1)
    assert given.told[0].startswith("Produce v7 (client me, correlation id 9): ")
    assert given.told[0].endswith("; a broker responds with INVALID_REQUIRED_ACKS")


def test_what_is_produced_to_a_topic_that_nothing_was_produced_to_is_answered_by_its_partitions() -> None:
    data = [{"name": "letters", "partition_data": [{"index": 0, "records": RECORDS}]}]
    part = {"index": 0, "error_code": 0, "base_offset": 9, "log_append_time_ms": -1, "log_start_offset": 0}
    other = exchange("Produce", 7, {"acks": 1, "timeout_ms": 1, "topic_data": data},
                     {"responses": [{"name": "letters", "partition_responses": [part]}]})  # fmt: skip
    assert codes(produced(Given(METADATA, other), 0, 1, 2)) == [[(0, 0, 0, 0), (1, 0, 0, 0), (2, 3, -1, -1)]]


@pytest.mark.parametrize(("fetches_since", "code"), [(4, 32), (0, 0)])
def test_a_record_of_more_than_an_hour_ahead_is_refused_since_kafka_4(fetches_since: int, code: int) -> None:
    versions = exchange("ApiVersions", 0, {}, {"error_code": 0, "api_keys": [
        {"api_key": key, "min_version": low, "max_version": high}
        for key, low, high in ((18, 0, 4), (3, 0, 12), (1, fetches_since, 12), (0, 3, 11))]})  # fmt: skip
    given = Given(versions, METADATA, PRODUCED)
    now = int(time.time() * 1000)
    assert codes(produced(given, 0, timestamp=now + HOUR - 60_000))[0][0][1] == 0
    assert codes(produced(given, 0, timestamp=now + HOUR + 60_000))[0][0][1] == code
    offered = given.body("ApiVersions", 0)["api_keys"]
    keys = [(one["api_key"], one["min_version"], one["max_version"]) for one in offered]
    assert keys == sorted(keys)
    assert keys == [(0, 3, 7), (3, 0, 1), (18, 0, 0)]
    data = given.reply("ApiVersions", 4, client_software_name="x", client_software_version="1").data
    assert data is not None
    body = kdbg.decode(data, api="ApiVersions", version=0, direction="response").body
    assert (body["error_code"], body["api_keys"]) == (35, offered)


def test_what_has_no_answer_is_said_once_and_counted_each_time() -> None:
    given = Given(METADATA)
    for _ in range(2):
        assert given.body("Heartbeat", 0, group_id="g", generation_id=1, member_id="m")["error_code"] == 35
    assert given.said == ["no recorded response for Heartbeat v0; responded with UNSUPPORTED_VERSION"]
    assert given.counts == (0, 2, 0)
    for number in range(1002):
        given.of.refuse(f"line {number}")
    assert (len(given.said), given.of.refused) == (1000, 1004)
    assert given.of.reply(b"\xff" * 30) == HANG_UP
    assert (given.counts, len(given.told)) == ((0, 1004, 1), 1)
    assert given.reply("Heartbeat", 0, group_id="", generation_id=1, member_id="m").data is not None
    assert given.told[1].endswith("group_id is empty; a broker responds with INVALID_GROUP_ID")


def test_of_a_request_that_closes_the_connection_one_mistake_is_told() -> None:
    beat = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    given = Given(exchange("Heartbeat", 0, beat, {"error_code": 0}))
    frame = kdbg.encode(beat, api="Heartbeat", version=0, direction="request", header={"correlation_id": 9})
    assert given.of.reply(frame) != HANG_UP
    at = frame.index(b"\0\1g")
    assert given.of.reply(frame[:at] + b"\xff\xfb" + frame[at + 3 :]) == HANG_UP
    assert (given.counts, len(given.told)) == ((1, 0, 1), 1)
    assert "group_id" in given.told[0]
    assert given.of.reply(frame + b"more").data is not None
    assert given.told[1].endswith("a broker accepts it")
    assert given.of.reply(frame[:2] + b"\0\x63" + frame[4:]) == HANG_UP
    assert (given.counts, len(given.told)) == ((2, 0, 3), 3)
