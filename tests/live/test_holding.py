"""Messages that are held, without sockets: what each end gets once somebody has said what becomes of them."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest

from kdbg.errors import InputError
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages.peers import Peers
from kdbg.live.faults import Applied, Faults, Meddling
from kdbg.live.frames import Hold, Send
from kdbg.live.holds import BOTH, ConnectionHolds, Desk, Held, with_bytes, with_field
from kdbg.live.relay import OWN, Relay

from .test_relay import ANSWER, METADATA, addresses, produce, produced, request, response

PEERS = Peers(1, ("127.0.0.1", 50_000), ("127.0.0.1", 9092))
BOTH_WAYS = "api == 'Produce' || api == 'Metadata'"


class Person:
    """Who is told of what is held."""

    def __init__(self, *, takes: bool = True) -> None:
        self.seen: list[Held] = []
        self.over: list[int] = []
        self.applied: list[Applied] = []
        self._takes = takes

    def held(self, held: Held) -> bool:
        if self._takes:
            self.seen.append(held)
        return self._takes

    def gone(self, number: int) -> None:
        self.over.append(number)

    def done(self, applied: Applied) -> None:
        self.applied.append(applied)


class Table:
    """A connection whose messages a person may hold."""

    def __init__(self, *rules: str, person: Person | None = None, change: bool = False) -> None:
        self.person = person or Person()
        self.desk = Desk(self.person)
        self.told: list[bytes] = []
        faults = Meddling(Faults(rules), lambda: PEERS) if rules else None
        self.relay = Relay(addresses().change if change else None, faults, singly=True, own=self.told.append)
        self.wakes = 0
        self.relay.holder = self.holder = ConnectionHolds(self.desk, lambda: PEERS, self.relay, self._wake)
        self.holder.opened()

    def _wake(self) -> None:
        self.wakes += 1
        for out in (self.relay.to_broker, self.relay.to_client):
            while any(isinstance(effect, Hold) and effect.then is not None for effect in out):
                place = next(at for at, one in enumerate(out) if isinstance(one, Hold) and one.then is not None)
                hold = out[place]
                assert isinstance(hold, Hold)
                del out[place]
                for effect in reversed(hold.then or []):
                    out.insert(place, effect)

    def sent(self) -> bytes:
        """What the broker gets, up to what is held."""
        return self._front(self.relay.to_broker)

    def got(self) -> bytes:
        """What the client gets, up to what is held."""
        return self._front(self.relay.to_client)

    @staticmethod
    def _front(out: Any) -> bytes:
        parts = []
        while out and isinstance(out[0], Send):
            parts.append(out.popleft().data)
        return b"".join(parts)


def held_by(text: str, *rules: str, sides: frozenset[Any] = BOTH, **given: Any) -> Table:
    table = Table(*rules, **given)
    table.desk.want(Filters(where=text), sides)
    return table


def body(held: Held, data: bytes | None = None) -> Any:
    exchange = held.exchange({}, data)
    half = exchange.request if held.direction == "request" else exchange.response
    assert half is not None
    message = half.message()
    assert message is not None
    return message.body


def test_what_fits_is_held_with_all_behind_it_and_goes_on_unchanged() -> None:
    table = held_by("api == 'Produce'", sides=frozenset({"request"}))
    table.relay.from_client(METADATA + produce(2) + METADATA)
    assert table.sent() == METADATA
    (held,) = table.person.seen
    assert (held.direction, held.response, body(held)["acks"]) == ("request", None, 1)
    table.desk.resume(held.number)
    assert table.sent() == produce(2) + METADATA
    assert [applied.fault.split(" held for")[0] for applied in table.person.applied] == ["request"]
    assert not table.desk.held


def test_a_response_is_held_by_what_it_says_and_its_addresses_are_changed_when_it_goes() -> None:
    table = held_by("api == 'Metadata' && response.brokers[0].host == 'kafka-0'", change=True)
    table.relay.from_client(METADATA)
    assert table.sent() == METADATA
    table.relay.from_broker(ANSWER + ANSWER)
    assert table.got() == b""
    (held,) = table.person.seen
    assert held.direction == "response"
    assert held.data == ANSWER[4:]
    table.desk.resume(held.number)
    assert b"kafka-0" not in table.got()[: len(ANSWER)]


def test_names_of_topics_are_learned_from_responses_whatever_is_held() -> None:
    """Newer requests name a topic by its id alone."""
    told = {"error_code": 0, "name": "rides", "topic_id": UUID(int=7), "is_internal": False, "partitions": []}
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}
    topics = [{"topic_id": UUID(int=7), "partitions": [part]}]
    fetch = request("Fetch", 13, 2, max_wait_ms=1, min_bytes=1, topics=topics)
    table = held_by("'rides' in topics", sides=frozenset({"request"}))
    table.relay.from_client(request("Metadata", 12, 1, topics=[]) + fetch)
    assert not table.person.seen, "nobody has named it yet"
    table.sent()
    table.relay.from_broker(response("Metadata", 12, 1, brokers=[], controller_id=1, topics=[told]))
    assert table.desk.topics == {UUID(int=7): "rides"}
    table.relay.from_client(fetch)
    assert [held.direction for held in table.person.seen] == ["request"]


def test_a_field_is_changed_by_the_grammar_of_its_version() -> None:
    table = held_by(BOTH_WAYS)
    table.relay.from_client(produce(2))
    (held,) = table.person.seen
    data = with_field(held, held.data, "acks=-1", {})
    data = with_field(held, data, "topic_data[0].name=a-longer-name", {})
    assert body(held, data)["topic_data"][0]["name"] == "a-longer-name"
    table.desk.resume(held.number, data)
    assert table.sent() == produce(2, acks=-1, topic="a-longer-name")
    table.relay.from_broker(produced(2))
    (_, answer) = table.person.seen
    table.desk.resume(
        answer.number, with_field(answer, answer.data, "responses[0].partition_responses[0].base_offset=9", {})
    )
    assert table.got() == produced(2, base_offset=9)
    assert [one.fault.split(", held")[0] for one in table.person.applied] == ["request changed", "response changed"]


@pytest.mark.parametrize("text", ["no_such=1", "acks=many", "acks", "topic_data[7].name.deep=1", "acks=99999999"])
def test_what_cannot_be_put_into_a_message_is_refused_in_one_line(text: str) -> None:
    table = held_by(BOTH_WAYS)
    table.relay.from_client(produce(2))
    (held,) = table.person.seen
    with pytest.raises(InputError) as caught:
        with_field(held, held.data, text, {})
    assert str(caught.value) == f"{text!r} does not fit this message: unknown field, or wrong type"
    with pytest.raises(InputError, match=r"^these bytes are no longer a message; edit them as bytes$"):
        with_field(held, b"\xff" * 20, text, {})


def test_bytes_are_changed_and_the_size_in_front_follows() -> None:
    table = held_by(BOTH_WAYS)
    table.relay.from_client(METADATA)
    (held,) = table.person.seen
    data = with_bytes(held.data, len(held.data), len(held.data), "de ad")
    table.desk.resume(held.number, data)
    assert table.sent() == struct.pack(">i", len(data)) + METADATA[4:] + b"\xde\xad"
    with pytest.raises(InputError, match=r"^invalid hex 'zz'; use two digits per byte$"):
        with_bytes(b"", 0, 0, "zz")


def test_a_request_that_was_changed_to_another_api_is_answered_as_that() -> None:
    table = held_by("api == 'Produce'", sides=frozenset({"request"}), change=True)
    table.relay.from_client(produce(1))
    table.desk.resume(table.person.seen[0].number, METADATA[4:])
    table.relay.from_broker(ANSWER)
    assert b"kafka-0" not in table.got()


def test_a_dropped_request_is_not_sent_and_no_answer_to_what_follows_comes_but_to_what_was_before() -> None:
    table = held_by("request.acks == -1", sides=frozenset({"request"}))
    table.relay.from_client(produce(1) + produce(2, acks=-1) + produce(3))
    table.desk.drop(table.person.seen[0].number)
    assert table.sent() == produce(1) + produce(3)
    table.relay.from_broker(produced(1) + produced(3))
    assert table.got() == produced(1)
    assert "request dropped" in table.person.applied[0].fault


def test_a_dropped_response_takes_what_is_behind_it_along() -> None:
    table = held_by("response.responses[0].partition_responses[0].base_offset == 7")
    table.relay.from_client(produce(1) + produce(2) + produce(3))
    table.relay.from_broker(produced(1) + produced(2, base_offset=7) + produced(3))
    table.desk.drop(table.person.seen[0].number)
    assert table.got() == produced(1)
    table.relay.from_broker(produced(4))
    assert table.got() == b""


def test_several_are_held_and_go_in_their_order_whoever_is_resumed_first() -> None:
    table = held_by(BOTH_WAYS, sides=frozenset({"request"}))
    table.relay.from_client(produce(1) + produce(2))
    first, second = table.person.seen
    table.desk.resume(second.number)
    assert table.sent() == b""
    table.desk.resume(first.number)
    assert table.sent() == produce(1) + produce(2)


def test_who_cannot_be_told_holds_nothing_up() -> None:
    table = held_by(BOTH_WAYS, person=Person(takes=False))
    table.relay.from_client(produce(1))
    assert table.sent() == produce(1)


def test_faults_are_done_before_a_message_is_held() -> None:
    table = held_by(BOTH_WAYS, "Produce: set request acks=-1")
    table.relay.from_client(produce(1))
    (held,) = table.person.seen
    assert body(held)["acks"] == -1
    table.desk.resume(held.number)
    assert table.sent() == produce(1, acks=-1)


def test_nothing_is_held_any_more_once_nothing_is_wanted() -> None:
    table = held_by(BOTH_WAYS)
    table.desk.want(None)
    table.relay.from_client(produce(1))
    assert table.sent() == produce(1)


def test_a_request_is_repeated_between_messages_and_the_client_sees_nothing_of_it() -> None:
    table = Table()
    ask = produce(2)
    table.relay.from_client(ask[:30])
    assert table.desk.repeat(PEERS.client, METADATA[4:])
    assert table.told == []
    table.relay.from_client(ask[30:])
    own = request("Metadata", 9, 1 ^ OWN, topics=[{"name": "orders"}])
    assert table.sent() == ask + own
    assert table.told == [own]
    answer = response("Metadata", 9, 1 ^ OWN, brokers=[], topics=[])
    table.relay.from_broker(produced(2) + answer)
    seen = [effect.seen for effect in table.relay.to_client if isinstance(effect, Send)]
    assert seen == [produced(2), answer]
    assert table.got() == produced(2)
    assert (table.person.applied[-1].api, table.person.applied[-1].correlation_id) == ("Metadata", 1 ^ OWN)
    assert not table.desk.repeat(("10.0.0.1", 1), METADATA[4:])


def test_what_was_held_of_a_connection_that_ends_is_gone() -> None:
    table = held_by(BOTH_WAYS)
    table.relay.from_client(produce(1))
    table.holder.ended()
    assert table.person.over == [table.person.seen[0].number]
    table.desk.resume(table.person.seen[0].number)
    table.desk.drop(99)
    assert table.sent() == b""
    assert not table.desk.repeat(PEERS.client, METADATA[4:])
