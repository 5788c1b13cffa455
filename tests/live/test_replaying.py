"""Requests sent again, without sockets: in which order, in which words."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.analysis.compare.broker_assigned import PRODUCER, SESSION, TOPIC_ID
from kdbg.analysis.compare.value_mapping import Counterparts
from kdbg.errors import BuildError, InputError
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.live.replaying.plan import LEFT_OUT, FetchSessions, Plan, ReplayStep, TopicShape, Words, wanted
from kdbg.protocol import grammars

OLD, NEW = UUID(int=5), UUID(int=6)
SASL = "captured SASL login; the replay uses its own options"


def half(api: str, version: int, direction: Any, time: int, body: dict[str, Any]) -> CapturedMessage:
    data = kdbg.encode(body, api=api, version=version, direction=direction, header={"correlation_id": 1})
    found = CapturedMessage(data, (time, time), (0, 0), direction)
    found.api, found.version = grammars.api(api), version
    return found


def exchange(
    api: str, version: int, asked: dict[str, Any], answer: dict[str, Any] | None = None, *, sent: int = 0,
    came: int | None = None, talk: int = 1,
) -> Exchange:  # fmt: skip
    peers = Peers(talk, ("127.0.0.1", talk), ("127.0.0.1", 9092))
    found = Exchange(peers, grammars.api(api), version, 1, "me")
    found.request = half(api, version, "request", sent, asked)
    if came is not None or answer is not None:
        found.response = half(api, version, "response", came if came is not None else sent + 1, answer or {})
    return found


def heartbeat(sent: int, came: int | None, talk: int = 1) -> Exchange:
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    return exchange("Heartbeat", 0, asked, {"error_code": 0} if came is not None else None,
                    sent=sent, came=came, talk=talk)  # fmt: skip


def planned(*exchanges: Exchange) -> Plan:
    plan = Plan(1 << 20)
    for one in exchanges:
        plan.add(one)
    return plan.order()


TIMES = st.lists(st.tuples(st.integers(0, 50), st.none() | st.integers(-5, 20), st.integers(1, 3)), max_size=12)
"""When a request is sent, how long its answer takes (less than nothing by a clock that was set back), which talk."""


def other_sent(step: ReplayStep) -> int:
    assert step.exchange.request is not None
    return step.exchange.request.first_time


@given(TIMES, st.randoms())
def test_every_request_follows_all_answers_that_it_followed(times: list[Any], random: Any) -> None:
    plan = planned(*(heartbeat(at, None if took is None else at + took, talk) for at, took, talk in times))
    sent: list[ReplayStep] = []
    waiting: list[ReplayStep] = []
    for step in plan.steps:
        while not plan.is_due(step):
            assert waiting, "nobody waits for what is never answered"
            plan.answered(waiting.pop(random.randrange(len(waiting))))
        answered = {id(one) for one in sent if one.waits and one not in waiting}
        for other in plan.steps:
            response = other.exchange.response
            request = step.exchange.request
            assert request is not None
            if response is not None and max(response.last_time, other_sent(other)) < request.first_time:
                assert id(other) in answered
        sent.append(step)
        waiting += [step] if step.waits else []
    assert [step.at for step in sent] == sorted(step.at for step in sent)
    assert len(sent) == len(times)


def test_what_waited_at_once_is_sent_at_once() -> None:
    plan = planned(heartbeat(0, 30), heartbeat(10, 40), heartbeat(20, 50))
    assert all(plan.is_due(step) for step in plan.steps)


def test_times_begin_with_the_first_request() -> None:
    plan = planned(heartbeat(700, 710), heartbeat(500, 510))
    assert [step.at for step in plan.steps] == [0, 200]


def test_too_much_is_refused() -> None:
    plan = Plan(10)
    with pytest.raises(InputError, match="--max-memory"):
        plan.add(heartbeat(0, 1))


@pytest.mark.parametrize(
    ("api", "version", "body", "why"),
    [
        ("SaslHandshake", 1, {"mechanism": "PLAIN"}, SASL),
        ("SaslAuthenticate", 0, {"auth_bytes": b""}, SASL),
        ("LeaderAndIsr", 0, {"controller_id": 1, "controller_epoch": 1, "partition_states": [], "live_leaders": []},
         "inter-broker request"),
        ("EndQuorumEpoch", 0, {"topics": []}, "inter-controller request"),
        ("Fetch", 4, {"replica_id": 2, "max_wait_ms": 1, "min_bytes": 1, "topics": []}, "inter-broker request"),
        ("Fetch", 4, {"replica_id": -1, "max_wait_ms": 1, "min_bytes": 1, "topics": []}, ""),
    ],
)  # fmt: skip
def test_what_is_not_the_clients_own_is_left_out(api: str, version: int, body: dict[str, Any], why: str) -> None:
    (step,) = planned(exchange(api, version, body)).steps
    assert step.left_out == why


def test_all_that_is_left_out_are_apis() -> None:
    assert [grammars.api(name).name for name in LEFT_OUT] == list(LEFT_OUT)


def test_a_request_that_the_capture_holds_in_part_is_not_sent() -> None:
    one = heartbeat(0, 1)
    assert one.request is not None
    one.request.missing = 4
    (step,) = planned(one).steps
    assert step.unfit == "the request is incomplete in the capture"


# Words


def words(known: Counterparts | None = None, **ids: UUID) -> Words:
    return Words(known or Counterparts({OLD: "orders"}), ids.get)


def test_the_nearest_version_is_sent_and_what_it_lacks_is_named() -> None:
    asked = exchange("Metadata", 11, {"topics": None, "include_topic_authorized_operations": True})
    sent = words().say(asked, {3: (0, 4)})
    assert (sent.version, sent.lost) == (4, ["include_topic_authorized_operations"])
    assert words().say(asked, {3: (12, 13)}).version == 12
    assert words().say(asked, {}).version == 11
    with pytest.raises(BuildError, match="Metadata: the broker does not support the API"):
        words().say(asked, {18: (0, 4)})


def produce(version: int = 13, producer: int = 4, sequence: int = 0, **topic: Any) -> Exchange:
    batch = {"producer_id": producer, "producer_epoch": 2, "base_sequence": sequence,
             "records": [{"key": None, "value": b"x"}]}  # fmt: skip
    part = {"index": 0, "records": [batch]}
    return exchange("Produce", version, {"acks": -1, "timeout_ms": 1, "topic_data": [
        {**(topic or {"topic_id": OLD}), "partition_data": [part]}]})  # fmt: skip


def test_topics_are_asked_for_and_go_by_the_id_of_now() -> None:
    said = words()
    said.note_producer(4, 2, 9, 0)
    assert said.unknown_topics(produce()) == {"orders"}
    said.note_topic("orders", NEW)
    assert said.unknown_topics(produce()) == set()
    assert said.say(produce(), {}).body["topic_data"][0]["topic_id"] == NEW
    early = said.say(produce(), {0: (3, 9)})
    assert early.body["topic_data"][0]["name"] == "orders"


def test_a_version_that_wants_ids_gets_those_of_now() -> None:
    asked = produce(9, name="orders")
    said = words(Counterparts(), orders=NEW)
    assert said.named_topics(asked, 13) == {"orders"}
    assert said.say(asked, {0: (13, 13)}).body["topic_data"][0]["topic_id"] == NEW


def batch_of(sent: Any) -> Any:
    return sent.body["topic_data"][0]["partition_data"][0]["records"][0]


def test_a_producer_that_nobody_was_given_is_adopted_and_begins_at_0() -> None:
    said = words()
    said.note_topic("orders", NEW)
    assert said.unknown_producers(produce(sequence=50)) == {(4, 2, None)}
    said.note_producer(4, 2, 900, 0)
    assert said.unknown_producers(produce()) == set()
    first, second = (batch_of(said.say(produce(sequence=sequence), {})) for sequence in (50, 51))
    assert (first["producer_id"], first["producer_epoch"], first["base_sequence"]) == (900, 0, 0)
    assert second["base_sequence"] == 1


def test_a_producer_that_was_given_out_keeps_its_numbers() -> None:
    known = Counterparts({OLD: "orders"})
    known.note(PRODUCER, {}, 4, 900)
    said = words(known)
    assert batch_of(said.say(produce(sequence=50), {}))["base_sequence"] == 50


def fetch(session: int, epoch: int, *parts: int, forgotten: tuple[int, ...] = (), opens: int = 0) -> Exchange:
    def topic(partitions: list[Any]) -> list[Any]:
        return [{"topic": "orders", "partitions": partitions}] if partitions else []

    rows = [{"partition": part, "fetch_offset": 10 * part, "partition_max_bytes": 9} for part in parts]
    asked = {"max_wait_ms": 1, "min_bytes": 1, "session_id": session, "session_epoch": epoch,
             "topics": topic(rows), "forgotten_topics_data": topic(list(forgotten))}  # fmt: skip
    return exchange("Fetch", 12, asked, {"error_code": 0, "session_id": opens, "responses": []})


def partitions(sent: Any) -> list[int]:
    return [part["partition"] for topic in sent.body["topics"] for part in topic["partitions"]]


def test_a_session_that_the_broker_of_now_keeps_goes_on() -> None:
    known = Counterparts()
    said = words(known)
    first = said.say(fetch(0, 0, 0, 1, opens=77), {})
    assert (first.body["session_id"], first.body["session_epoch"]) == (0, 0)
    known.note(SESSION, {}, 77, 5)
    for epoch in (1, 2):
        sent = said.say(fetch(77, 7 + epoch, 1), {})
        assert (sent.body["session_id"], sent.body["session_epoch"], partitions(sent)) == (5, epoch, [1])


def test_without_a_session_all_of_it_is_asked_for() -> None:
    said = words()
    said.say(fetch(0, 0, 0, 1, opens=77), {})
    sent = said.say(fetch(77, 1, 2), {})
    assert (sent.body["session_id"], sent.body["session_epoch"], partitions(sent)) == (0, -1, [0, 1, 2])
    sent = said.say(fetch(77, 2, forgotten=(1,)), {})
    assert partitions(sent) == [0, 2]
    early = said.say(fetch(77, 3), {1: (4, 6)})
    assert "session_id" not in early.body
    assert partitions(early) == [0, 2]


def test_share_sessions_are_counted_by_member() -> None:
    sessions = FetchSessions()
    numbers = []
    for epoch in (0, 1, 2, 5, -1):
        body = {"group_id": "g", "member_id": "m", "share_session_epoch": epoch}
        sessions.number("ShareFetch", body)
        numbers.append(body["share_session_epoch"])
    assert numbers == [0, 1, 2, 3, -1]


def test_topics_to_create() -> None:
    def part(index: int) -> dict[str, Any]:
        return {"error_code": 0, "partition_index": index, "leader_id": 1, "replica_nodes": [1, 2], "isr_nodes": [1]}

    told = exchange("Metadata", 1, {"topics": None}, {"brokers": [], "topics": [
        {"error_code": 0, "name": "orders", "partitions": [part(0), part(1)]},
        {"error_code": 0, "name": "__consumer_offsets", "partitions": [part(0)]}]})  # fmt: skip
    made = exchange("CreateTopics", 0, {"topics": [
        {"name": "letters", "num_partitions": 3, "replication_factor": 1, "assignments": [], "configs": []}],
        "timeout_ms": 1}, {"topics": [{"name": "letters", "error_code": 0}]})  # fmt: skip
    by_id = exchange("Fetch", 13, {"max_wait_ms": 1, "min_bytes": 1, "topics": [
        {"topic_id": OLD, "partitions": [{"partition": 4, "fetch_offset": 0, "partition_max_bytes": 1}]}]})  # fmt: skip
    assert wanted(planned(told, made, by_id).steps, {OLD: "rides"}) == {
        "orders": TopicShape(2, 2),
        "rides": TopicShape(5, 1),
    }


def test_ids_of_topics_are_noted_once() -> None:
    known = Counterparts({OLD: "orders"})
    said = words(known)
    said.note_topic("orders", NEW)
    said.note_topic("orders", UUID(int=9))
    assert known.of(TOPIC_ID, {}, OLD) == NEW
