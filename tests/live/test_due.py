"""What a mock knows of a recording: what refuses a request, how close two requests are, which answer is due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.errors import InputError
from kdbg.live.actions import only_asks, refusal, skeleton, with_error
from kdbg.live.mocking.answers import Answers
from kdbg.live.mocking.recording import Recording, closeness, features
from kdbg.live.mocking.rejections import Rejection
from kdbg.live.mocking.responses import as_rejected, has_errors, with_partition_errors
from kdbg.protocol import grammars
from kdbg.protocol.wire.readings.outline import outline

from .test_answers import at
from .test_replaying import OLD, exchange, half


def test_a_refusal_speaks_of_what_was_asked() -> None:
    asked = half("Produce", 7, "request", 0, {"acks": 1, "timeout_ms": 1, "topic_data": [
        {"name": "a", "partition_data": [{"index": 4, "records": None}, {"index": 2, "records": None}]},
        {"name": "b", "partition_data": [{"index": 0, "records": None}]}]})  # fmt: skip
    body = refusal(grammars.api("Produce"), 7, asked, 6)
    assert body is not None
    assert [(topic["name"], [(one["index"], one["error_code"]) for one in topic["partition_responses"]])
            for topic in body["responses"]] == [("a", [(4, 6), (2, 6)]), ("b", [(0, 6)])]  # fmt: skip
    beat = half("Heartbeat", 0, "request", 0, {"group_id": "g", "generation_id": 1, "member_id": "m"})
    assert refusal(grammars.api("Heartbeat"), 0, beat, 27) == {"error_code": 27}
    fetch = half("Fetch", 13, "request", 0, {"max_wait_ms": 1, "min_bytes": 1, "topics": [
        {"topic_id": OLD, "partitions": [{"partition": 3, "fetch_offset": 0, "partition_max_bytes": 1}]}]})  # fmt: skip
    body = refusal(grammars.api("Fetch"), 13, fetch, 3)
    assert body is not None
    (topic,) = body["responses"]
    assert (topic["topic_id"], topic["partitions"][0]["partition_index"], topic["partitions"][0]["error_code"],
            body["error_code"]) == (OLD, 3, 3, 0)  # fmt: skip
    asks = {name: only_asks(grammars.api(name)) for name in ("Fetch", "ListOffsets", "DescribeAcls", "Produce",
                                                            "GetTelemetrySubscriptions", "CreateTopics")}  # fmt: skip
    assert asks == {"Fetch": True, "ListOffsets": True, "DescribeAcls": True, "Produce": False,
                    "GetTelemetrySubscriptions": True, "CreateTopics": False}  # fmt: skip


def test_every_response_that_refuses_can_be_sent() -> None:
    """It names the topic and the partition of the request where the response has room for them."""
    for api in grammars.apis():
        for version in (one for one in api.versions if api.reads("response", one)):
            struct = api.at("response", version)
            for asked, other in (("orders", UUID(int=0)), (OLD, "")):
                body = skeleton(api, version, [(asked, 3)])
                has_room = with_error(struct, body, 29)
                data = kdbg.encode(body, api=api.key, version=version, direction="response",
                                   header={"correlation_id": 1})  # fmt: skip
                message = kdbg.decode(data, api=api.key, version=version, direction="response")
                assert (list(message.findings), message.body) == ([], body)
                rows, _, errors = outline(struct)(body)
                assert {row[0] for row in rows} <= {asked, other}
                assert {row[1] for row in rows} <= {3, None}
                assert (29 in errors) == has_room
    nested = skeleton(grammars.api("ShareAcknowledge"), 1, [(OLD, 3)])["responses"][0]["partitions"][0]
    assert (nested["partition_index"], nested["current_leader"]) == (3, {"leader_id": 0, "leader_epoch": 0})


def test_what_stands_beside_an_error() -> None:
    body = {
        "error_code": 0,
        "node_id": 4,
        "rows": [{"error_code": 3, "base_offset": 7, "index": 1, "port": 5}],
        "port": 9,
    }
    assert as_rejected(body) == body | {"rows": [{"error_code": 3, "base_offset": -1, "index": 1, "port": -1}]}
    assert as_rejected({"error_code": 1, "log_append_time_ms": 0, "generation_id": 5, "high_watermark": 8,
                        "log_start_offset": 4, "node_id": 1}) == {
        "error_code": 1, "log_append_time_ms": -1, "generation_id": -1, "high_watermark": -1, "log_start_offset": -1,
        "node_id": -1}  # fmt: skip
    rows = [{"index": 0, "error_code": 0, "base_offset": 1}, {"index": 1, "error_code": 5, "base_offset": 1},
            {"index": 2, "error_code": 0, "base_offset": 1}]  # fmt: skip
    body = {"responses": [{"name": "t", "partition_responses": rows}]}
    with_partition_errors(body, {("t", 0): 87, ("t", 1): 87, ("u", 2): 87})
    assert [(one["error_code"], one["base_offset"]) for one in rows] == [(87, -1), (5, 1), (0, 1)]
    api = grammars.api("Heartbeat")
    assert [has_errors(api, 0, {"error_code": code}) for code in (0, 27)] == [False, True]


# What a request asks for


def test_features_of_requests() -> None:
    def of(api: str, version: int, **body: Any) -> set[Any]:
        return set(features(body, at(api, "request", version), {OLD: "rides"}))

    resources = [{"resource_type": 2, "resource_name": "a", "configuration_keys": None}]
    assert (".resources[].resource_name", "a", 4) in of("DescribeConfigs", 1, resources=resources)
    for api, version, name, value in (("FindCoordinator", 0, "key", "g"), ("SaslHandshake", 0, "mechanism", "PLAIN")):
        assert of(api, version, **{name: value}) == {(f".{name}", value, 4)}
    assert of("Metadata", 1, topics=None) == {(".topics", "all", 12), (".topics", None, 1)}
    assert of("Metadata", 1, topics=[{"name": "a"}]) == {
        (".topics", "some", 12), (".topics", True, 2), (".topics[].topic", "a", 4)}  # fmt: skip
    by_id = of("Metadata", 12, topics=[{"topic_id": OLD, "name": None}], allow_auto_topic_creation=True)
    assert {(".topics[].topic", "rides", 4), (".allow_auto_topic_creation", True, 1)} <= by_id
    found = of("Heartbeat", 0, group_id="g", generation_id=5, member_id="m")
    assert found == {(".group_id", "g", 4), (".generation_id", "given", 8), (".member_id", "given", 8)}
    joining = of("JoinGroup", 0, group_id="g", member_id="")
    assert joining == {(".group_id", "g", 4), (".member_id", ("fixed", ""), 8)}
    assert of("FindCoordinator", 0, key="k") == {(".key", "k", 4)}
    listed = of("ListOffsets", 1, topics=[{"name": "a", "partitions": [{"partition_index": 3, "timestamp": -1}]}])
    assert {(".topics[].topic", "a", 4), (".topics[].partitions[].partition_index", 3, 2),
            (".topics[].partitions[].timestamp", -1, 4)} <= listed  # fmt: skip
    assert of("Produce", 3, topic_data=[{"partition_data": [{"records": [{"magic": 2}]}]}]) == {
        (".topic_data", True, 2), (".topic_data[].partition_data", True, 2)}  # fmt: skip


def test_the_more_requests_share_the_closer_they_are() -> None:
    one, two = frozenset({("a", 1, 4), ("b", 2, 3)}), frozenset({("a", 1, 4), ("b", 3, 5)})
    assert (closeness(one, one), closeness(one, two), closeness(one, frozenset())) == (7, 0, -3.5)


# What is due


def beats(*codes: int) -> list[Any]:
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    return [exchange("Heartbeat", 0, asked, {"error_code": code}) for code in codes]


def recorded(*exchanges: Any, most: int = 1 << 20) -> Recording:
    found = Recording(most)
    for one in exchanges:
        found.add(one)
    return found.order({})


def test_answers_are_given_in_turn_and_then_the_last_that_is_no_not_yet() -> None:
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}

    def given(codes: Sequence[int], count: int, **other: Any) -> list[int]:
        found = recorded(*beats(*codes))
        due = (found.due(grammars.api("Heartbeat"), 0, asked | other, 10)[0] for _ in range(count))
        return [one.answer["error_code"] for one in due if one is not None]

    assert given((14, 27, 0, 14), 6) == [14, 27, 0, 14, 0, 0]
    assert given((14, 15), 3) == [14, 15, 15]
    assert given((14, 22, 14, 0), 4, group_id="other") == [22, 0, 0, 0]
    assert recorded(*beats(0)).due(grammars.api("SyncGroup"), 0, {}, 10) == (None, [])


def test_what_a_recording_takes_and_offers() -> None:
    size = sum(one.size for one in beats(0, 0))
    assert recorded(*beats(0, 0), most=size).answers == 2
    with pytest.raises(
        InputError, match=r"^the captures are too large for the mock; use filters, or raise --max-memory$"
    ):
        recorded(*beats(0, 0), most=size - 1)
    cut, silent = beats(0), beats(0)
    cut[0].response = None
    silent[0].request = None
    found = recorded(*cut, *silent)
    assert (bool(found), found.answers, found.passed_over) == (False, 0, 2)
    versions = exchange("ApiVersions", 0, {}, {"error_code": 0, "api_keys": [
        {"api_key": key, "min_version": low, "max_version": high}
        for key, low, high in ((0, 0, 9), (1, 4, 11), (11, 0, 5), (12, 0, 2), (13, 1, 2), (22, 0, 1))]})  # fmt: skip
    join = exchange("JoinGroup", 2, {"group_id": "g", "session_timeout_ms": 6000, "rebalance_timeout_ms": 1,
                                     "member_id": "", "protocol_type": "c", "protocols": []},
                    {"error_code": 0, "generation_id": 1, "protocol_name": "", "leader": "", "member_id": "m",
                     "members": []})  # fmt: skip
    found = recorded(versions, join)
    assert (found.since_kafka_4, recorded(join).since_kafka_4) == (True, False)
    offered = found.offered
    assert {key: offered[key] for key in (11, 12, 13)} == {11: (0, 2), 12: (0, 2), 13: (1, 2)}
    assert not offered.keys() & {0, 8, 9, 22}
    assert {8, 9, 12, 13} <= recorded(join).offered.keys()
    speaks = {(name, version): found.speaks(grammars.api(name), version)
              for name, version in (("Produce", 2), ("Produce", 3), ("Produce", 9), ("Produce", 10), ("Fetch", 3),
                                    ("Fetch", 4), ("JoinGroup", 5), ("JoinGroup", 6), ("ListGroups", 0))}  # fmt: skip
    assert list(speaks.values()) == [False, True, True, False, False, True, True, False, False]
    assert recorded(join).speaks(grammars.api("ListGroups"), 0)
    assert not recorded(join).speaks(grammars.api("ListGroups"), 99)


def test_garbage_and_requests_that_are_cut_are_told() -> None:
    told = list[str]()
    of = Answers(recorded(*beats(0)), lambda host, port: (host, port), tell=told.append)
    of.garbage(bytes(range(16)))
    of.garbage(bytes(range(17)), waits=True)
    of.cut((9).to_bytes(4) + bytes(5))
    header = {"correlation_id": 1, "client_id": "shop"}
    frame = kdbg.encode({"topics": []}, api="Metadata", version=1, direction="request", header=header)
    of.cut((len(frame) + 5).to_bytes(4) + frame)  # the size is too high
    assert of.rejected == 4
    assert told.pop().startswith("Metadata v1: ")
    of.rejected -= 1
    assert of.rejected == 3
    assert [line.rpartition(";")[2] for line in told] == [
        " a broker closes the connection", " a broker waits for 66,051 bytes",
        " a broker waits for the rest"]  # fmt: skip
    assert told[0].count("…") == 0
    assert told[1].count(" …") == 1
    assert "the size is 9, followed by 5 bytes" in told[2]
    rejection = Rejection("x", 87, ("orders", 3))
    assert (rejection.finding, rejection.place) == (False, ("orders", 3))
