"""The relay without sockets: bytes of both ends in, in any pieces; what each end gets."""

from __future__ import annotations

import itertools
import struct
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.errors import InputError
from kdbg.live.faults import Faults, Meddling
from kdbg.live.frames import HangUp, Out, Send, Wait
from kdbg.live.listeners import Addresses
from kdbg.live.relay import Relay
from kdbg.live.session import NOBODY

BROKERS = [{"node_id": i, "host": f"kafka-{i}", "port": 9092, "rack": None} for i in range(3)]
TOPIC = {"error_code": 0, "name": "orders", "is_internal": False, "partitions": []}


def frame(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def request(api: str, version: int, number: int, **body: Any) -> bytes:
    header = {"correlation_id": number, "client_id": "me"}
    return frame(kdbg.encode(body, api=api, version=version, direction="request", header=header))


def response(api: str, version: int, number: int, **body: Any) -> bytes:
    return frame(kdbg.encode(body, api=api, version=version, direction="response", header={"correlation_id": number}))


def produce(number: int, acks: int = 1, topic: str = "orders") -> bytes:
    part = {"index": 0, "records": [{"magic": 2, "records": [{"key": None, "value": "x"}]}]}
    return request("Produce", 7, number, acks=acks, topic_data=[{"name": topic, "partition_data": [part]}])


def produced(number: int, **said: Any) -> bytes:
    part = {"index": 0, "base_offset": 5, **said}
    return response("Produce", 7, number, responses=[{"name": "orders", "partition_responses": [part]}])


METADATA = request("Metadata", 9, 1, topics=[{"name": "orders"}])
ANSWER = response("Metadata", 9, 1, brokers=BROKERS, topics=[TOPIC])


def addresses() -> Addresses:
    ports = count(19092)
    return Addresses(lambda broker: ("127.0.0.1", next(ports)))


@given(st.lists(st.integers(1, 300), min_size=1))
def test_bytes_may_be_lent_and_are_the_same(sizes: list[int]) -> None:
    """The room in which they stand is used again as soon as the queues have been worked off."""
    asked = b"".join([METADATA, produce(2), produce(3)])
    answered = b"".join([ANSWER, produced(2), produced(3)])
    lent, whole = Relay(addresses().change), Relay(addresses().change)
    whole.from_client(asked)
    whole.from_broker(answered)
    room, given = bytearray(300), bytearray()
    for data, take, out in ((asked, lent.from_client, lent.to_broker), (answered, lent.from_broker, lent.to_client)):
        cuts = itertools.cycle(sizes)
        while data:
            piece, data = data[: (size := next(cuts))], data[size:]
            room[: len(piece)] = piece
            take(memoryview(room)[: len(piece)])
            given += taken(out)
            room[:] = bytes(len(room))
    assert bytes(given) == taken(whole.to_broker) + taken(whole.to_client)


def taken(out: Out) -> bytes:
    """What an end is sent, whatever time passes."""
    sent = b"".join(effect.data for effect in out if isinstance(effect, Send))
    out.clear()
    return sent


def meddled(*rules: str, seed: int = 1) -> tuple[Relay, list[str]]:
    told = list[str]()
    faults = Faults(rules, seed=seed, tell=lambda applied: told.append(f"{applied.api} {applied.correlation_id}"))
    return Relay(None, Meddling(faults, lambda: NOBODY)), told


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    found, place, turn = [], 0, 0
    while place < len(data):
        found.append(data[place : place + sizes[turn % len(sizes)]])
        place, turn = place + len(found[-1]), turn + 1
    return found


SIZES = st.lists(st.integers(1, 200), min_size=1)


@given(SIZES, SIZES)
def test_addresses_are_rewritten_and_nothing_else(asked: list[int], answered: list[int]) -> None:
    known = addresses()
    relay = Relay(known.change)
    asks = METADATA + produce(2) + produce(3, acks=0) + request("Metadata", 9, 4)
    says = ANSWER + produced(2) + response("Metadata", 9, 4, brokers=BROKERS[:1], topics=[])
    for piece in pieces(asks, asked):
        relay.from_client(piece)
    assert taken(relay.to_broker) == asks
    for piece in pieces(says, answered):
        relay.from_broker(piece)
    seen = b"".join(effect.seen for effect in relay.to_client if isinstance(effect, Send))
    assert seen == says
    brokers = [one | {"host": "127.0.0.1", "port": 19092 + i} for i, one in enumerate(BROKERS)]
    assert taken(relay.to_client) == (
        response("Metadata", 9, 1, brokers=brokers, topics=[TOPIC])
        + produced(2)
        + response("Metadata", 9, 4, brokers=brokers[:1], topics=[])
    )
    assert known.stand_ins == {(f"kafka-{i}", 9092): ("127.0.0.1", 19092 + i) for i in range(3)}


def test_an_address_that_is_ours_or_nowhere_stays() -> None:
    known = addresses()
    assert known.change("", -1) == ("", -1)
    assert known.change("kafka", 0) == ("kafka", 0)
    told = known.change("kafka", 9092)
    assert known.change(*told) == told
    assert known.change("kafka", 9092) == told


@given(st.binary(max_size=300), st.binary(max_size=300), SIZES)
def test_bytes_that_are_no_kafka_go_through(asked: bytes, answered: bytes, sizes: list[int]) -> None:
    relay = Relay(addresses().change)
    for piece in pieces(asked, sizes):
        relay.from_client(piece)
    for piece in pieces(answered, sizes):
        relay.from_broker(piece)
    relay.ended(from_client=True)
    relay.ended(from_client=False)
    assert taken(relay.to_broker) == asked
    assert taken(relay.to_client) == answered


def test_raw_tokens_behind_a_handshake_go_through_and_what_follows_is_rewritten() -> None:
    relay = Relay(addresses().change)
    token, more = frame(b"\0user\0secret"), frame(b"")
    asks = request("SaslHandshake", 0, 7, mechanism="PLAIN") + token + METADATA
    says = response("SaslHandshake", 0, 7, error_code=0, mechanisms=["PLAIN"]) + more + ANSWER
    relay.from_client(asks)
    relay.from_broker(says)
    assert taken(relay.to_broker) == asks
    got = taken(relay.to_client)
    assert got.startswith(says[: -len(ANSWER)])
    assert b"kafka-" not in got


def test_a_client_that_wants_no_answers_is_followed_for_ever() -> None:
    relay = Relay(addresses().change)
    for number in range(12_000):
        relay.from_client(produce(number, acks=0))
        relay.to_broker.clear()
    relay.from_client(METADATA)
    relay.from_broker(ANSWER)
    assert b"kafka-" not in taken(relay.to_client)


def test_a_response_that_breaks_is_passed_on_as_it_is_and_counted() -> None:
    relay = Relay(addresses().change)
    relay.from_client(METADATA)
    broken = frame(ANSWER[4:-20])
    relay.from_broker(broken)
    assert taken(relay.to_client) == broken
    assert relay.unread == 1


# Faults


def test_an_error_is_answered_in_the_place_of_the_broker_and_in_order() -> None:
    relay, told = meddled("Produce topic=orders: error NOT_LEADER_OR_FOLLOWER 1 time")
    relay.from_client(METADATA + produce(2) + produce(3) + produce(4, topic="other"))
    assert taken(relay.to_broker) == METADATA + produce(3) + produce(4, topic="other")
    assert not relay.to_client
    relay.from_broker(ANSWER[:30])
    relay.from_broker(ANSWER[30:])
    refused = produced(2, error_code=6, base_offset=0)
    assert taken(relay.to_client) == ANSWER + refused
    relay.from_broker(produced(3))
    assert taken(relay.to_client) == produced(3)
    assert told == ["Produce 2"]


def test_an_error_of_what_only_asks_stands_in_the_brokers_own_answer() -> None:
    relay, told = meddled("Metadata: error LEADER_NOT_AVAILABLE 1 time")
    relay.from_client(METADATA)
    assert taken(relay.to_broker) == METADATA
    relay.from_broker(ANSWER)
    wrong = response("Metadata", 9, 1, brokers=BROKERS, topics=[TOPIC | {"error_code": 5}])
    assert taken(relay.to_client) == wrong
    assert told == ["Metadata 1"]


def test_fields_are_set_by_name_and_in_every_element() -> None:
    relay, _ = meddled("Metadata: set topics[].error_code=LEADER_NOT_AVAILABLE", "Metadata: set controller_id=7")
    relay.from_client(METADATA)
    relay.from_broker(response("Metadata", 9, 1, brokers=[], topics=[TOPIC, TOPIC]))
    topics = [TOPIC | {"error_code": 5}] * 2
    assert taken(relay.to_client) == response("Metadata", 9, 1, brokers=[], topics=topics, controller_id=7)


def test_a_field_of_a_request_is_set_before_the_broker_sees_it() -> None:
    relay, _ = meddled("Produce: set request acks=-1")
    relay.from_client(produce(2))
    assert taken(relay.to_broker) == produce(2, acks=-1)


def test_a_dropped_response_silences_its_connection() -> None:
    relay, told = meddled("Produce: drop response 1 time")
    relay.from_client(produce(2) + produce(3))
    assert taken(relay.to_broker) == produce(2) + produce(3)
    relay.from_broker(produced(2) + produced(3))
    assert not relay.to_client
    assert told == ["Produce 2"]


@pytest.mark.parametrize(
    ("rule", "to_broker", "to_client"),
    [
        ("Produce: delay 500ms", [Send], [Wait, Send]),
        ("Produce: delay request 2s", [Wait, Send], [Send]),
        ("Produce: close", [HangUp], []),
        ("Produce: close response", [Send], [HangUp]),
        ("*: throttle 1kB/s", [Wait, Send], [Wait, Send]),
        ("Fetch: delay 1s", [Send], [Send]),
        ("Produce topic=other: delay 1s", [Send], [Send]),
        ("Produce: delay 1s 0%", [Send], [Send]),
        ("Produce: delay 1s 0 times", [Send], [Send]),
        ("Produce where=\"request.acks == 1\": drop request", [], []),
        ("Produce where=\"request.acks == 2\": drop request", [Send], [Send]),
        ("!Fetch client-id=me: delay request 1s", [Wait, Send], [Send]),
    ],
)  # fmt: skip
def test_what_a_rule_does_to_an_exchange(rule: str, to_broker: list[type], to_client: list[type]) -> None:
    relay, _ = meddled(rule)
    relay.from_client(produce(2))
    assert [type(effect) for effect in relay.to_broker] == to_broker
    if Send in to_broker:
        relay.from_broker(produced(2))
    assert [type(effect) for effect in relay.to_client] == to_client


def test_chances_are_the_same_again_with_the_same_seed() -> None:
    def run(seed: int) -> list[str]:
        relay, told = meddled("Produce: delay 1ms 50%", seed=seed)
        for number in range(40):
            relay.from_client(produce(number))
            relay.from_broker(produced(number))
        return told

    assert run(1) == run(1)
    assert 5 < len(run(1)) < 35
    assert run(1) != run(2)


def test_untouched_messages_keep_their_bytes_among_faults() -> None:
    relay, told = meddled("EndTxn: close", "Produce topic=none-such: drop")
    asks, says = METADATA + produce(2) + produce(3), ANSWER + produced(2) + produced(3)
    relay.from_client(asks)
    relay.from_broker(says)
    assert taken(relay.to_broker) == asks
    assert taken(relay.to_client) == says
    assert not told


FORM = ("invalid rule; use API: ACTION, as in 'Fetch: delay 500ms' or "
        "'Produce topic=orders: drop response 3 times'")  # fmt: skip
FILTER = """use name=value, such as topic=orders or where="latency_ms > 10\""""
OFTEN = "use 3 times, or 20%"


def test_a_rule_for_a_topic_fits_requests_that_name_its_id() -> None:
    """Clients of Kafka 4 name topics by ids, which responses to Metadata tell."""
    relay, told = meddled("Produce topic=orders: drop request", "Fetch: close")
    topic_id, part = UUID(int=7), {"index": 0, "records": [{"records": [{"key": None, "value": "x"}]}]}
    asked = request("Metadata", 12, 1, topics=[{"name": "orders"}])
    answer = response("Metadata", 12, 1, brokers=BROKERS, topics=[TOPIC | {"topic_id": topic_id}])
    relay.from_client(asked)
    relay.from_broker(answer)
    assert (taken(relay.to_broker), taken(relay.to_client)) == (asked, answer)
    for other in (UUID(int=8), topic_id):
        relay.from_client(request("Produce", 13, 2, acks=1, topic_data=[{"topic_id": other, "partition_data": [part]}]))
        assert bool(taken(relay.to_broker)) is (other != topic_id)
    assert told == ["Produce 2"]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("", FORM),
        ("Fetch", FORM),
        ("Fetch:", FORM),
        (": drop", FORM),
        ("Fetch 'x: drop", FORM),
        ("Fetch: dance", "unknown action 'dance'; use one of delay, error, drop, close, throttle, set"),
        ("Fetch: delay", "incomplete action; use 'delay 500ms'"),
        ("Fetch: throttle", "incomplete action; use 'throttle 100kB/s'"),
        ("Fetch: error", "incomplete action; use 'error NOT_LEADER_OR_FOLLOWER'"),
        ("Fetch: set", "incomplete action; use 'set topics[0].error_code=LEADER_NOT_AVAILABLE'"),
        ("Fetch: delay soon", "invalid duration 'soon'; use 500ms, 1.5s or 2m"),
        ("*: throttle 0kB/s", "invalid rate '0kB/s'; use 100kB/s or 1MB/s"),
        ("Fetch: error NO_SUCH_ERROR_AT_ALL", "unknown error 'NO_SUCH_ERROR_AT_ALL'; list all with kdbg errors"),
        ("Fetch: error NONE", "unknown error 'NONE'; list all with kdbg errors"),
        ("Fetch: delay 1s often", f"invalid count 'often'; {OFTEN}"),
        ("Fetch: drop 3", f"invalid count '3'; {OFTEN}"),
        ("Fetch: drop 3 four", f"invalid count '3'; {OFTEN}"),
        ("Fetch colour=red: drop", f"invalid filter 'colour=red'; {FILTER}"),
        ("Fetch topic: drop", f"invalid filter 'topic'; {FILTER}"),
        ("Fetch limit=1: drop", f"invalid filter 'limit=1'; {FILTER}"),
        ("Fetch where=\"(\": drop", "--where: column 2: the expression ends where a value is expected"),
        ("Fetch: set 'x=1", "no closing quotation"),
        ("Fetch partition=x: drop", "invalid value ['x'] of partition: expected one or several integers"),
        ("Fetch: set topics",
         "--set 'topics': expected PATH=VALUE, such as --set 'topics[0].name=orders'"),
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused_in_one_line(rule: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        Faults([rule])
    assert str(caught.value) == f"fault {rule!r}: {reason}"


def test_a_rule_for_an_unknown_api_names_the_api() -> None:
    with pytest.raises(kdbg.KdbgError, match=r"^unknown API 'NoSuchApi'"):
        Faults(["NoSuchApi: drop"])
