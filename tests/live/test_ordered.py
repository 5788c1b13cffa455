"""Which requests are sent again and when, and which topics they need; what a fault makes of a message."""

from __future__ import annotations

from typing import Any

import pytest

import kdbg
from kdbg.analysis.compare.value_mapping import Counterparts
from kdbg.errors import BuildError, InputError
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.live.actions import Turn, put, refuse
from kdbg.live.replaying.plan import (
    FetchSessions,
    Plan,
    Sent,
    TopicShape,
    Words,
    brokers_in,
    left_out,
    nearest,
    unfit,
    wanted,
)
from kdbg.live.replaying.replay import waits_of
from kdbg.protocol import grammars
from kdbg.protocol.grammars.sasl import api as SASL_TOKEN

from .test_replaying import NEW, OLD, exchange, heartbeat, planned, produce

PEERS = Peers(1, ("127.0.0.1", 1), ("127.0.0.1", 9092))
OTHER = Peers(2, ("127.0.0.1", 2), ("127.0.0.1", 9093))


# A plan


def test_a_request_waits_for_the_answers_before_it_and_for_no_more() -> None:
    first, second, third = heartbeat(0, 10), heartbeat(5, 30), heartbeat(10, 40)
    alone = heartbeat(20, None)
    plan = planned(first, second, third, alone)
    assert [(step.at, step.after, step.waits) for step in plan.steps] == [
        (0, 0, True), (5, 0, True), (10, 0, True), (20, 1, False)]  # fmt: skip
    one, two, three, _ = plan.steps
    assert [plan.is_due(step) for step in plan.steps] == [True, True, True, False]
    plan.answered(two)
    plan.answered(three)
    assert not plan.is_due(plan.steps[3])
    plan.answered(one)
    assert plan.is_due(plan.steps[3])


def test_a_clock_that_was_set_back_makes_no_answer_come_before_its_request() -> None:
    plan = planned(heartbeat(100, 50), heartbeat(60, 70), heartbeat(101, 200))
    assert [(step.at, step.after) for step in plan.steps] == [(0, 0), (40, 1), (41, 2)]


def test_as_many_bytes_are_taken_as_may_be() -> None:
    size = heartbeat(0, 1).size
    plan = Plan(2 * size)
    plan.add(heartbeat(0, 1), 3)
    plan.add(heartbeat(0, 1, talk=9), 4)
    assert (plan.held, [step.talk for step in plan.steps]) == (2 * size, [(3, 1), (4, 9)])
    with pytest.raises(
        InputError,
        match=r"^the requests exceed 0 MiB; use filters such as --client-id or --since, or raise --max-memory$",
    ):
        plan.add(heartbeat(0, 1))
    silent, unknown = heartbeat(0, 1), heartbeat(0, 1)
    silent.request, unknown.api = None, None
    fresh = Plan(1)
    fresh.add(silent)
    fresh.add(unknown)
    assert (fresh.steps, fresh.held, fresh.order().steps) == ([], 0, [])


def test_what_is_left_out_and_what_is_unfit() -> None:
    assert left_out(heartbeat(0, 1)) == unfit(heartbeat(0, 1)) == ""
    follower = {"replica_state": {"replica_id": 4, "replica_epoch": 1}, "max_wait_ms": 1, "min_bytes": 1, "topics": []}
    consumer = {name: value for name, value in follower.items() if name != "replica_state"}
    assert [left_out(exchange("Fetch", 15, body)) for body in (follower, consumer)] == ["inter-broker request", ""]
    zero = {"replica_id": 0, "max_wait_ms": 1, "min_bytes": 1, "topics": []}
    assert left_out(exchange("Fetch", 4, zero)) == "inter-broker request"
    nobody, token, cut, unread, odd = (heartbeat(0, 1) for _ in range(5))
    nobody.api, token.api = None, SASL_TOKEN
    assert left_out(nobody) == left_out(token) == "captured SASL login; the replay uses its own options"
    cut.request = None
    assert "incomplete in the capture" in unfit(cut)
    unread.version = 99
    assert unfit(unread) == "kdbg does not support Heartbeat v99"
    assert odd.request is not None
    odd.request.data = odd.request.data[:-3]
    assert unfit(odd).startswith("the request cannot be decoded: ")
    more = heartbeat(0, 1)
    assert more.request is not None
    more.request.data += b"more"
    assert unfit(more) == ""
    step = planned(exchange("SaslHandshake", 1, {"mechanism": "PLAIN"}, {"error_code": 0, "mechanisms": []})).steps[0]
    assert (step.waits, bool(step.left_out)) == (False, True)


def test_brokers_are_those_that_metadata_named_last() -> None:
    def told(*brokers: tuple[int, str]) -> Exchange:
        rows = [{"node_id": node, "host": host, "port": 9092} for node, host in brokers]
        return exchange("Metadata", 1, {"topics": []}, {"brokers": rows, "topics": [], "controller_id": 1})

    silent = told((9, "x"))
    silent.response = None
    assert brokers_in([told((1, "a"), (2, "b")), heartbeat(0, 1), silent, told((2, "c"))]) == {
        1: ("a", 9092), 2: ("c", 9092)}  # fmt: skip


def test_topics_are_as_large_as_anything_that_is_said_of_them() -> None:
    def fetch(topic: str, partition: int) -> Exchange:
        part = {"partition": partition, "fetch_offset": 0, "partition_max_bytes": 1}
        return exchange(
            "Fetch", 4, {"max_wait_ms": 1, "min_bytes": 1, "topics": [{"topic": topic, "partitions": [part]}]}
        )

    def create(*names: str) -> Exchange:
        rows = [{"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
                for name in names]  # fmt: skip
        return exchange("CreateTopics", 0, {"topics": rows, "timeout_ms": 1})

    found = wanted(planned(fetch("a", 2), fetch("a", 5), fetch("a", 1), fetch("__x", 1), fetch("_y", 0),
                           create("a", "late"), fetch("late", 3)).steps, {})  # fmt: skip
    assert found == {"a": TopicShape(6, 1), "_y": TopicShape(1, 1)}
    unknown = exchange("Fetch", 13, {"max_wait_ms": 1, "min_bytes": 1, "topics": [
        {"topic_id": OLD, "partitions": [{"partition": 4, "fetch_offset": 0, "partition_max_bytes": 1}]}]})  # fmt: skip
    assert wanted(planned(unknown).steps, {NEW: "x"}) == {}
    left = exchange("Fetch", 4, {"replica_id": 3, "max_wait_ms": 1, "min_bytes": 1, "topics": [
        {"topic": "b", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}]}]})  # fmt: skip
    assert wanted(planned(left, fetch("c", 0)).steps, {}) == {"c": TopicShape(1, 1)}


# Words


def test_the_nearest_version_that_both_sides_know() -> None:
    api = grammars.api("Heartbeat")
    assert [nearest(api, 2, {12: each}) for each in ((0, 4), (0, 1), (3, 9), (2, 2))] == [2, 1, 3, 2]
    assert (nearest(api, 2, {}), nearest(api, 4, {12: (0, 99)})) == (2, 4)
    with pytest.raises(BuildError, match=r"^Heartbeat: the broker supports no version of the API that kdbg knows$"):
        nearest(api, 2, {12: (90, 99)})
    with pytest.raises(BuildError, match="does not support the API"):
        nearest(api, 2, {11: (0, 4)})


def test_only_what_is_known_by_an_id_of_then_is_asked_for() -> None:
    said = Words(Counterparts({OLD: "orders"}), {"orders": NEW}.get)
    plain = produce(9, name="orders")
    assert (said.unknown_topics(plain), said.named_topics(plain, 9), said.named_topics(plain, 13)) == (
        set(), set(), {"orders"})  # fmt: skip
    assert said.named_topics(produce(13), 12) == set()
    assert said.named_topics(heartbeat(0, 1), 4) == set()
    nameless = Words(Counterparts(), {}.get)
    assert nameless.unknown_topics(produce(13)) == set()
    assert said.unknown_producers(heartbeat(0, 1)) == set()
    assert said.unknown_producers(produce(13, producer=-1)) == set()
    assert said.unknown_producers(produce(13, producer=0)) == {(0, 2, None)}


def test_a_broker_may_take_as_long_as_the_request_says_or_it_took() -> None:
    quick, slow = heartbeat(0, 1), heartbeat(0, 7_000_000_000)
    sent = Sent(0, {}, [])
    assert [waits_of(one, sent) for one in (heartbeat(0, None), quick, slow)] == pytest.approx([1.0, 1.0, 8.0])
    asked = {"max_wait_ms": 3000, "min_bytes": 1, "topics": []}
    fetch = exchange("Fetch", 4, asked)
    assert waits_of(fetch, Sent(4, asked, [])) == pytest.approx(4.0)


# Sessions


def part(number: int, offset: int = 0) -> dict[str, Any]:
    return {"partition": number, "fetch_offset": offset}


def test_what_is_in_a_session_follows_from_its_requests() -> None:
    sessions = FetchSessions()
    first = {"session_id": 0, "session_epoch": 0, "topics": [{"topic": "a", "partitions": [part(0), part(1)]},
                                                           {"topic_id": OLD, "partitions": [part(0)]}]}  # fmt: skip
    assert sessions.whole(PEERS, first, keep=True) is first
    assert sessions.whole(PEERS, first, keep=False) == first | {"session_epoch": -1}
    sessions.opened(PEERS.broker, 0, first)
    sessions.opened(PEERS.broker, 5, first)
    sessions.opened(PEERS.broker, 5, {"session_id": 5, "topics": []})
    sessions.opened(OTHER.broker, 5, {"topics": [{"topic": "z", "partitions": [part(9)]}]})
    more = {"session_id": 5, "session_epoch": 1, "topics": [{"topic": "a", "partitions": [part(1, 7)]}],
            "forgotten_topics_data": [{"topic": "a", "partitions": [0, 8]}]}  # fmt: skip
    whole = sessions.whole(PEERS, more, keep=False)
    assert whole == {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": [], "topics": [
        {"topic": "a", "partitions": [part(1, 7)]}, {"topic_id": OLD, "partitions": [part(0)]}]}  # fmt: skip
    assert sessions.whole(PEERS, {"topics": []}, keep=False) == {"topics": []}
    other = sessions.whole(OTHER, {"session_id": 5, "topics": None}, keep=False)
    assert other["topics"] == [{"topic": "z", "partitions": [part(9)]}]


def test_requests_of_a_session_are_numbered_one_after_the_other() -> None:
    sessions = FetchSessions()

    def numbers(api: str, name: str, *epochs: int, **more: Any) -> list[int]:
        found = []
        for epoch in epochs:
            body = {name: epoch, **more}
            sessions.number(api, body)
            found.append(body[name])
        return found

    assert numbers("Fetch", "session_epoch", 0, 5, 9, session_id=4) == [0, 1, 2]
    assert numbers("Fetch", "session_epoch", 8, -1, 3, session_id=7) == [1, -1, 1]
    assert numbers("Fetch", "session_epoch", 8, session_id=0) == [8]
    assert numbers("ShareFetch", "share_session_epoch", 0, 4, group_id="g", member_id="m") == [0, 1]
    assert numbers("ShareAcknowledge", "share_session_epoch", 7, group_id="g", member_id="m") == [2]
    assert numbers("ShareFetch", "share_session_epoch", 7, group_id="g", member_id="n") == [1]


# Faults


def turn(one: Exchange, direction: Any) -> Turn:
    half = one.request if direction == "request" else one.response
    assert half is not None
    return Turn(one, direction, half.data)


def decoded(done: Turn) -> Any:
    api = done.exchange.api
    assert api is not None
    return kdbg.decode(done.data, api=api.key, version=done.exchange.version, direction=done.direction).body


def test_a_value_is_set_where_the_message_can_be_built_anew() -> None:
    """Bytes behind a message are left out then; one that cannot be read is passed on as it is."""
    whole, longer, short = (heartbeat(0, 1) for _ in range(3))
    assert longer.response is not None
    assert short.response is not None
    longer.response.data += b"more"
    short.response.data = short.response.data[:-1]
    for one, changed in ((whole, True), (longer, True), (short, False)):
        done = turn(one, "response")
        assert put(done, "error_code=27") is changed
        assert one.response is not None
        if changed:
            assert (decoded(done), len(done.data)) == ({"error_code": 27}, 6)
        else:
            assert done.data == one.response.data
    done = turn(heartbeat(0, 1), "request")
    assert put(done, "member_id=other")
    assert decoded(done)["member_id"] == "other"
    for text in ("nothing=1", "error_code=x", "rows[].x=1"):
        assert not put(turn(heartbeat(0, 1), "response"), text), text


def test_an_error_is_an_answer_or_stands_in_one() -> None:
    done = turn(heartbeat(0, 1), "request")
    assert refuse(done, 27)
    assert done.refused == {"error_code": 27}
    silent, nobody = heartbeat(0, 1), heartbeat(0, 1)
    silent.answered, nobody.api = False, None
    asks = exchange("ListGroups", 0, {}, {"error_code": 0, "groups": []})
    for one in (silent, nobody, asks):
        done = turn(one, "request")
        assert not refuse(done, 27)
        assert done.refused is None
    done = turn(asks, "response")
    assert refuse(done, 15)
    assert decoded(done) == {"error_code": 15, "groups": []}
