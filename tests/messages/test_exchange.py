"""A request and its response as plain data: sizes, times, messages read when asked for."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.exchanges.messages import message as room
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol.grammars import by_key

from ..engine.playbook import request, response

PEERS = Peers(1, ("10.0.0.1", 51514), ("10.0.0.2", 9092))


def half(frame: bytes, direction: str = "request", api: int | None = 3, missing: int = 0) -> CapturedMessage:
    made = CapturedMessage(frame[4:], (100, 200), (1, 2), direction, missing)  # type: ignore[arg-type]
    made.api, made.version = by_key(api) if api is not None else None, 1
    return made


@pytest.fixture
def exchange() -> Exchange:
    made = Exchange(PEERS, by_key(3), 1, 5, "kdbg")
    made.request, made.response = half(request(5)), half(response(5), "response")
    return made


def test_size_counts_the_length_and_what_is_missing() -> None:
    assert half(request(5)).size == len(request(5))
    assert half(request(5), missing=100).size == len(request(5)) + 100


def test_a_message_is_read_once() -> None:
    one = half(request(5))
    assert one.message() is one.message()
    assert one.message(shallow=True) is one.message()


def test_a_shallow_message_is_read_again_for_more() -> None:
    one = half(request(5))
    shallow = one.message(shallow=True)
    assert one.message(shallow=True) is shallow
    assert one.message() is not shallow
    assert one.message() == shallow


def test_a_message_with_something_odd_is_explained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However far it is asked for, and though whoever turned it into text took it away."""
    explained: list[bytes] = []
    slowly = room.read_slowly

    def noted(*asked: Any, **named: Any) -> Any:
        explained.append(asked[3])
        return slowly(*asked, **named)

    monkeypatch.setattr(room, "read_slowly", noted)
    odd = half(request(5)[:-1])
    assert [finding.kind for finding in odd.findings(shallow=True)] == ["truncated", "encoding-mistake"]
    assert odd.message() is odd.message(shallow=True)
    taken = odd.take()
    assert taken is not None
    taken.body.clear()
    assert [finding.kind for finding in odd.findings()] == ["truncated", "encoding-mistake"]
    assert len(explained) == 1
    odd.forget()
    assert [finding.kind for finding in odd.findings()] == ["truncated", "encoding-mistake"]
    assert len(explained) == 2


def test_whoever_takes_a_message_may_change_it() -> None:
    one = half(request(5))
    taken = one.take()
    assert taken is not None
    taken.body.clear()
    again = one.message()
    assert again is not None
    assert again.body["topics"]


def test_a_response_without_a_request_has_no_message() -> None:
    assert half(response(5), "response", None).message() is None
    assert half(response(5), "response", None).take() is None


def test_forget() -> None:
    one = half(request(5))
    first = one.message()
    assert one.message() is first
    one.forget()
    assert one.message() is not first


def test_latency_and_time(exchange: Exchange) -> None:
    assert exchange.request is not None
    assert exchange.response is not None
    exchange.response.first_time = 950
    assert (exchange.latency, exchange.time) == (750, 100)
    exchange.request = None
    assert (exchange.latency, exchange.time) == (None, 950)
    exchange.response = None
    assert (exchange.latency, exchange.time) == (None, 0)


def test_messages(exchange: Exchange) -> None:
    assert [message.direction for message in exchange.messages()] == ["request", "response"]
    exchange.request = None
    assert [message.direction for message in exchange.messages()] == ["response"]


def test_findings_of_both_halves(exchange: Exchange) -> None:
    exchange.request, exchange.response = half(request(5) + b"x"), half(response(5)[:-1], "response")
    assert [finding.kind for finding in exchange.all_findings()] == ["trailing-bytes", "encoding-mistake", "truncated"]


def test_a_message_that_breaks_off_with_the_capture_is_said_once(exchange: Exchange) -> None:
    exchange.response = half(response(5)[:-1], "response", missing=1)
    assert exchange.all_findings() == []


def test_findings_of_payloads_are_among_them_unless_it_is_shallow(exchange: Exchange) -> None:
    broken = request(5, "JoinGroup", 5, protocol_type="consumer", protocols=[{"name": "range", "metadata": b"\0\1?"}])
    exchange.request = half(broken, api=11)
    exchange.request.version = 5
    assert exchange.all_findings(shallow=True) == []
    assert [finding.kind for finding in exchange.all_findings()] == ["malformed-payload"]


def test_it_says_in_one_line_what_it_is(exchange: Exchange) -> None:
    assert exchange.response is not None
    exchange.number, exchange.response.first_time = 3, 1_234_767
    assert repr(exchange) == "<Exchange 3: Metadata v1, correlation id 5, 1.23 ms>"
    exchange.response = half(response(5, topics=[{"error_code": 3}, {"error_code": 5}, {"error_code": 3}]), "response")
    exchange.request = None
    assert repr(exchange) == (
        "<Exchange 3: Metadata v1, correlation id 5, UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE>"
    )
    exchange.api, exchange.response = None, half(response(5), "response", None)
    assert repr(exchange) == "<Exchange 3: response of unknown API, correlation id 5>"
