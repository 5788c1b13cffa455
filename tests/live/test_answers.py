"""The parts of a mock, each by itself: groups, words of a client, commits, logs, batches, what a request breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kdbg
from kdbg.exchanges.messages.known import Known
from kdbg.live.mocking.recording import FetchLog
from kdbg.live.mocking.rejections import (
    LARGEST,
    Reaction,
    Rejection,
    batch_mistake,
    header_of,
    is_topic,
    read_request,
    rejections,
)
from kdbg.live.mocking.responses import base, commits, echoed, for_member
from kdbg.protocol import grammars
from kdbg.protocol.wire.nodes import WireStruct

from .test_replaying import NEW, OLD

JOIN, SYNC = grammars.api("JoinGroup"), grammars.api("SyncGroup")
NO = Known.nothing({})


def at(api: str, direction: Any, version: int) -> WireStruct:
    return grammars.api(api).at(direction, version)


# Groups


def test_a_member_joins_by_a_protocol_that_it_offers() -> None:
    members = [{"member_id": "m", "metadata": b"old"}, {"member_id": "n", "metadata": b"other"}]
    body = {"error_code": 0, "protocol_name": "range", "protocol_type": None, "member_id": "m", "members": members}
    asked = {"protocol_type": "consumer", "protocols": [
        {"name": "sticky", "metadata": b"s"}, {"name": "range", "metadata": b"r"}]}  # fmt: skip
    joined = [{"member_id": "m", "metadata": b"r"}, members[1]]
    assert for_member(JOIN, body, asked) == body | {"protocol_type": "consumer", "members": joined}
    fewer = asked | {"protocols": asked["protocols"][:1]}
    joined = [{"member_id": "m", "metadata": b"s"}, members[1]]
    assert for_member(JOIN, body, fewer) == body | {
        "protocol_type": "consumer", "protocol_name": "sticky", "members": joined}  # fmt: skip
    early = {name: value for name, value in body.items() if name not in ("protocol_type", "members")}
    assert for_member(JOIN, early, asked) == early | {"members": []}
    for same, request in ((body | {"error_code": 27}, asked), (body, {"protocols": []}), (body, {})):
        assert for_member(JOIN, same, request) is same


def test_a_leader_gets_the_assignment_that_it_sent() -> None:
    body = {"error_code": 0, "protocol_type": "x", "protocol_name": "y", "assignment": b"recorded"}
    sent = [{"member_id": "n", "assignment": b"n's"}, {"member_id": "m", "assignment": b"m's"}]
    asked = {"member_id": "m", "protocol_type": "consumer", "protocol_name": None, "assignments": sent}
    assert for_member(SYNC, body, asked) == body | {"protocol_type": "consumer", "assignment": b"m's"}
    assert for_member(SYNC, {"assignment": b"recorded"}, asked | {"member_id": "z"}) == {"assignment": b"recorded"}
    other = grammars.api("Heartbeat")
    assert for_member(other, body, asked) is body


def test_the_words_of_a_client_take_the_place_of_those_recorded() -> None:
    recorded = {"group_id": "theirs", "member_id": "", "topics": ["a"], "groups": [{"group_id": "x"}, {"group_id": ""}]}
    asked = {"group_id": "mine", "member_id": "m", "topics": ["b"], "groups": [{"group_id": "y"}, {"group_id": "z"}]}
    body = {"a": "theirs", "b": ["x", {"c": "x", "d": 5}], "e": "a", "f": "theirs too"}
    assert echoed(body, recorded, asked) == {"a": "mine", "b": ["y", {"c": "y", "d": 5}], "e": "a", "f": "theirs too"}
    for same in ({}, recorded, asked | {"group_id": "theirs", "groups": []}, {"group_id": ""}):
        assert echoed(body, recorded, same) is body


def test_which_words_are_a_clients_own() -> None:
    own = ("member_id", "group_id", "group_instance_id", "instance_id", "transactional_id", "key", "coordinator_keys",
           "v3_and_below_transactional_id", "group_ids", "groups", "groups_names")  # fmt: skip
    for name in (*own, "topic", "name", "client_id"):
        for then, now in (("old", "new"), (["old"], ["new"])):
            assert echoed({"x": "old"}, {name: then}, {name: now}) == {"x": "new" if name in own else "old"}, name


# What nobody recorded


def test_what_is_answered_without_a_record() -> None:
    assert base(22, {}) == {"error_code": 0, "producer_id": 1000, "producer_epoch": 0}
    assert base(13, {"members": [{"member_id": "m", "reason": "x"}]}) == {
        "members": [{"member_id": "m", "group_instance_id": None, "error_code": 0}]}  # fmt: skip
    assert (base(13, {}), base(12, {}), base(8, {"members": [{}]})) == ({"members": []}, {}, {})


def commit(number: int, offset: int, code: int = 0) -> dict[str, Any]:
    return {"partition_index": number, "committed_offset": offset, "committed_leader_epoch": -1, "metadata": "",
            "error_code": code}  # fmt: skip


def test_a_partition_without_a_commit_has_offset_minus_1() -> None:
    first = {"topics": [{"name": "orders", "partitions": [commit(0, 7)]}]}
    second = {"topics": [{"name": "orders", "partitions": [commit(0, 5), commit(1, 6)]}], "groups": [
        {"group_id": "z", "topics": [{"topic_id": OLD, "partitions": [commit(3, 9)]}]}]}  # fmt: skip
    names = {OLD: "rides"}
    asked = {
        "topics": [{"name": "orders", "partition_indexes": [1, 0, 2]}, {"name": "rides", "partition_indexes": [3]}]
    }
    assert commits({"error_code": 0}, asked, [first, second], names) == {"error_code": 0, "topics": [
        {"name": "orders", "partitions": [commit(1, -1), commit(0, 7), commit(2, -1)]},
        {"name": "rides", "partitions": [commit(3, 9)]}]}  # fmt: skip
    assert commits({"topics": [1]}, {"topics": None}, [first], names) == {"topics": [1]}
    groups = {"groups": [{"group_id": "g", "topics": [{"topic_id": OLD, "partition_indexes": [3]},
                                                     {"topic_id": NEW, "partition_indexes": [0]}]},
                         {"group_id": "h", "topics": None}]}  # fmt: skip
    body = {"groups": [{"group_id": "z", "error_code": 15, "topics": [{"topic_id": OLD}]}]}
    assert commits(body, groups, [second], names) == {"groups": [
        {"group_id": "g", "error_code": 15, "topics": [{"topic_id": OLD, "partitions": [commit(3, 9)]},
                                                       {"topic_id": NEW, "partitions": [commit(0, -1, 100)]}]},
        {"group_id": "h", "error_code": 15, "topics": [{"topic_id": OLD}]}]}  # fmt: skip
    assert commits({"groups": []}, {"groups": [{"group_id": "h", "topics": None}]}, [], {}) == {
        "groups": [{"group_id": "h", "error_code": 0, "topics": []}]}  # fmt: skip


# Logs


def fetched(*parts: Mapping[str, Any], topic: Any = "orders") -> dict[str, Any]:
    return {"responses": [{("topic" if isinstance(topic, str) else "topic_id"): topic, "partitions": list(parts)}]}


def part(*offsets: int | tuple[int, int], number: int = 0, end: int = 0, code: int = 0) -> dict[str, Any]:
    """Records: batches by their first offset and last delta, messages by their offset."""
    records = [{"base_offset": one[0], "last_offset_delta": one[1]} if isinstance(one, tuple) else {"offset": one}
               for one in offsets]  # fmt: skip
    return {"partition_index": number, "error_code": code, "high_watermark": end, "records": records}


def test_a_fetch_gets_the_piece_that_holds_its_offset_or_the_next() -> None:
    log = FetchLog()
    first, second, last = part((10, 4), (15, 4), end=20), part((15, 9), end=25), part((40, 0), number=0, end=30)
    for one in (first, second, last, part(end=60), part(end=70, code=3)):
        log.add(at("Fetch", "response", 12), fetched(one), {}, 12)
    log.add(at("Fetch", "response", 12), fetched(part(5, 6, number=1, end=9)), {}, 12)
    log.add(at("Fetch", "response", 13), fetched(part(number=2), topic=OLD), {OLD: "r"}, 13)
    empty = part(end=60)
    found = [log.at("orders", 0, offset) for offset in (0, 10, 14, 15, 19, 24, 25, 40, 41)]
    assert found == [one | {"high_watermark": 60}
                     for one in (first, first, first, second, second, second, last, last, empty)]  # fmt: skip
    assert [log.span("orders", number) for number in (0, 1, 7)] == [(10, 60), (5, 9), (0, 0)]
    assert (log.at("orders", 9, 0), log.version) == (None, 13)
    assert log.at("r", 2, 0) is not None
    log.add(at("Fetch", "response", 12), fetched(part(number=5, end=3) | {"records": None}), {}, 12)
    assert log.at("orders", 5, 0) == part(number=5, end=3) | {"records": None}
    within, around = part((4, 0), number=6), part((0, 9), number=6)
    for one in (around, within):
        log.add(at("Fetch", "response", 12), fetched(one), {}, 12)
    assert [log.at("orders", 6, offset) == one for offset, one in ((3, around | {}), (4, within), (5, around))] == [
        True] * 3  # fmt: skip
    assert log.span("orders", 5) == (3, 3)


# Batches


BATCH = {"base_offset": 0, "batch_length": 100, "magic": 2, "attributes": 0, "last_offset_delta": 1,
         "producer_id": -1, "base_sequence": -1, "records_count": 2,
         "records": [{"offset": 0, "timestamp": 5}, {"offset": 1, "timestamp": 6}]}  # fmt: skip


def test_values_of_a_batch_at_both_sides_of_their_bounds() -> None:
    def code(version: int = 9, latest: int | None = None, **given: Any) -> int | Reaction | None:
        found = batch_mistake([BATCH | given], ([], []), version, latest)
        return found.end if found is not None else None

    assert code() is None
    assert [code(batch_length=LARGEST - 12), code(batch_length=LARGEST - 11), LARGEST] == [None, 10, 1_048_588]
    assert [code(base_offset=offset) for offset in (1, -1)] == [87, 87]
    assert [code(last_offset_delta=last) for last in (0, 2)] == [87, 87]
    assert code(records_count=0, last_offset_delta=-1) == 87
    assert code(records_count=1, last_offset_delta=0) is None
    assert [code(producer_id=0), code(producer_id=0, base_sequence=0), code(base_sequence=5)] == [87, None, None]
    assert [code(attributes=each) for each in (0x08, 0x10, 0x20, 0x40)] == [None, None, 87, None]
    assert [code(version, attributes=4) for version in (6, 7)] == [76, None]
    assert [code(version, attributes=3) for version in (3, 6)] == [None, None]
    assert [code(latest=latest) for latest in (4, 5, 6, None)] == [32, 32, None, None]
    gap = [{"offset": 0, "timestamp": 5}, {"offset": 2, "timestamp": 6}]
    assert [code(records=gap), code(records=gap, attributes=1), code(records=[])] == [Reaction.ACCEPT, -1, None]


def test_record_sets_that_are_no_batch() -> None:
    def found(*entries: Any, version: int = 9) -> Rejection | None:
        return batch_mistake(entries, ([], []), version)

    assert batch_mistake(None, ([], []), 9) == Rejection(
        "the records of a produced partition are null", Reaction.SILENCE
    )
    assert batch_mistake([], ([], []), 9) == Rejection("the records of a produced partition are empty", 87)
    assert found(BATCH, BATCH) == Rejection("a partition has 2 batches, expected 1", 87)
    assert found(BATCH, {"partial": b"x"}) is None
    long, short = bytes(8) + (14).to_bytes(4), bytes(8) + (13).to_bytes(4)
    codes = [one.end if (one := found(entry)) is not None else None for entry in (
        {"partial": b"x"}, {"magic": 0}, {"magic": 1}, {"raw": long + bytes(4) + b"\1"},
        {"raw": long + bytes(4) + b"\2"},
        {"raw": short + bytes(4) + b"\1"}, {"raw": long + bytes(4)})]  # fmt: skip
    assert codes == [87, 87, 87, 87, 2, 2, 2]
    records = [{"offset": number * 2, "timestamp": 0} for number in range(6)]
    many = found(BATCH | {"records_count": 6, "last_offset_delta": 5, "records": records})
    assert many is not None
    assert many.text == "the offset deltas of the records are 0, 2, 4, 6, 8, …, expected 0, 1, 2, 3, 4, …"


# What a request breaks


def rejected(api: str, version: int, **body: Any) -> list[int | Reaction]:
    frame = kdbg.encode(body, api=api, version=version, direction="request", header={"correlation_id": 1})
    header = header_of(frame)
    assert header is not None
    request = read_request(frame, header, NO)
    assert request is not None
    return [one.end for one in rejections(request.message)]


def test_values_of_requests_at_both_sides_of_their_bounds() -> None:
    def join(**given: Any) -> list[int | Reaction]:
        body = {"group_id": "g", "session_timeout_ms": 6000, "member_id": "", "protocol_type": "consumer",
                "protocols": [{"name": "range", "metadata": b""}]}  # fmt: skip
        return rejected("JoinGroup", 0, **(body | given))

    assert [join(session_timeout_ms=each) for each in (5999, 6000, 1_800_000, 1_800_001)] == [[26], [], [], [26]]
    assert [join(group_id=""), join(protocols=[]), join(protocol_type="")] == [[24], [23], [23]]
    asked = {"group_id": "g", "session_timeout_ms": 1, "member_id": "", "protocol_type": "c", "protocols": []}
    frame = kdbg.encode(asked, api="JoinGroup", version=0, direction="request", header={"correlation_id": 1})
    header = header_of(frame)
    assert header is not None
    request = read_request(frame, header, NO)
    assert request is not None
    (one,) = rejections(request.message)
    assert "1, expected 6000 to 1800000" in one.text
    for api in ("Heartbeat", "LeaveGroup"):
        body = {"member_id": "m"} | ({"generation_id": 1} if api == "Heartbeat" else {})
        assert [rejected(api, 0, group_id=each, **body) for each in ("", "g")] == [[24], []]
    assert rejected("SyncGroup", 0, group_id="", generation_id=1, member_id="m", assignments=[]) == [24]
    assert [rejected("FindCoordinator", 1, key="k", key_type=each) for each in (-1, 0, 1, 2, 3)] == [
        [42],
        [],
        [],
        [],
        [42],
    ]
    names = {"client_software_name": "a-b.9", "client_software_version": "1"}
    assert rejected("ApiVersions", 3, **names) == []
    for odd in ("", "-a", "a-", "a b", "a_b"):
        assert rejected("ApiVersions", 3, **(names | {"client_software_name": odd})) == [42]
        assert rejected("ApiVersions", 3, **(names | {"client_software_version": odd})) == [42]
    topics = {"a": True, "a" * 249: True, "a" * 250: False, "": False, ".": False, "..": False, "...": True,
              "a/": False, "A._-9": True}  # fmt: skip
    assert {name: is_topic(name) for name in topics} == topics


def test_acks_and_transactions_of_a_produce_request() -> None:
    def produced(**given: Any) -> list[int | Reaction]:
        batch = {"attributes": 0x10 * given.pop("transactional", False), "records": [{"key": None, "value": b"x"}]}
        data = [{"name": "orders", "partition_data": [{"index": 0, "records": [batch]}]}]
        return rejected("Produce", 7, **({"acks": 1, "timeout_ms": 1, "topic_data": data} | given))

    assert [produced(acks=each) for each in (-2, -1, 0, 1, 2)] == [[21], [], [], [], [21]]
    assert [produced(transactional=True), produced(transactional=True, transactional_id="t")] == [[53], []]


def test_what_brokers_are_lenient_about() -> None:
    """Any byte but 0 is true, any length below 0 is null: up to 16 of them in a request."""
    body = {"topics": [{"name": "t"}], "allow_auto_topic_creation": True}
    frame = kdbg.encode(body, api="Metadata", version=4, direction="request", header={"correlation_id": 1})
    for odd, lenient in ((frame[:-1] + b"\7", 1), (frame, 0)):
        header = header_of(odd)
        assert header is not None
        request = read_request(odd, header, NO)
        assert request is not None
        assert (len(request.lenient), request.message.body["allow_auto_topic_creation"]) == (lenient, True)
    none = body | {"topics": None, "allow_auto_topic_creation": False}
    frame = kdbg.encode(none, api="Metadata", version=4, direction="request", header={"correlation_id": 1})
    header = header_of(frame)
    assert header is not None
    request = read_request(frame[:-5] + b"\xff\xff\xff\xfe" + frame[-1:], header, NO)
    assert request is not None
    assert (len(request.lenient), request.message.body) == (1, none)
    assert header_of(frame[:8] + b"\xff\xfe" + frame[10:]) is not None
    assert header_of(b"\x00\x12\xff\xfe" + bytes(6)) is not None
    assert header_of(b"\x00\x03\xff\xfe" + bytes(6)) is None
    assert [header_of(frame[:size]) for size in (0, 4, 9)] == [None] * 3
