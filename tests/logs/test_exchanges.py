"""Lines become exchanges: by connection and correlation id, with the halves, times and fields that they tell."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.analysis.logs import exchanges as module
from kdbg.analysis.logs.dialect import LineFacts
from kdbg.analysis.logs.exchanges import UNVERSIONED, Conversations, line_of
from kdbg.analysis.logs.lines import DIALECTS, ProtocolLine
from kdbg.exchanges.messages.capture_points import UNNUMBERED, LogLine
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.message import UNTIMED
from kdbg.protocol import grammars

METADATA, PRODUCE = grammars.api("Metadata"), grammars.api("Produce")
DIALECT = DIALECTS["librdkafka"]


def told(number: int, half: Any = "request", correlation_id: int | None = 1, **other: Any) -> ProtocolLine:
    """A line of a client `shop` on a connection `c`."""
    dialect = other.pop("dialect", DIALECT)
    fields: dict[str, Any] = {"api": METADATA, "version": 9, "client_id": "shop", "connection": "c"} | other
    return ProtocolLine(number, dialect, LineFacts(half, correlation_id=correlation_id, **fields))


def chunks(*blocks: list[ProtocolLine]) -> list[list[tuple[int, list[int]]]]:
    """The exchanges of each block: their numbers, and those of their lines."""
    found = Conversations().chunks(blocks)
    return [[(one.number, [line.number for line in one.lines]) for one in chunk] for chunk in found]


def test_responses_find_their_requests() -> None:
    assert chunks([told(1), told(2, "response")], [told(3)], [told(4, "response")]) == [[(1, [1, 2])], [(2, [3, 4])]]
    assert chunks([told(1), told(2, correlation_id=2), told(3, "response", 2), told(4, "response")]) == [
        [(1, [2, 3]), (2, [1, 4])]
    ]
    assert chunks([told(1, "response")]) == [[(1, [1])]]
    assert chunks([told(1)], [told(2, correlation_id=2)]) == [[(1, [1]), (2, [2])]], "in the end"
    assert chunks([]) == chunks() == []


def test_a_correlation_id_that_comes_again_ends_what_waits() -> None:
    assert chunks([told(1), told(2), told(3, "response")]) == [[(1, [1]), (2, [2, 3])]]
    assert chunks([told(1), told(2, "response", api=PRODUCE), told(3, "response")]) == [[(1, [1]), (2, [2]), (3, [3])]]


def test_lines_of_both_halves_or_without_an_id_are_exchanges() -> None:
    assert chunks([told(1, "both"), told(2, "both"), told(3, correlation_id=None), told(4, "response", None)]) == [
        [(1, [1]), (2, [2]), (3, [3]), (4, [4])]
    ]
    assert chunks([told(1), told(2, "both"), told(3, "response")]) == [[(1, [2]), (2, [1, 3])]]


def test_connections_are_told_apart_and_numbered() -> None:
    lines = [
        told(1), told(2, connection="d"), told(3, client_id="till"), told(4, dialect=DIALECTS["java"]),
        told(5, correlation_id=2),
    ]  # fmt: skip
    conversations = Conversations()
    [found] = conversations.chunks([lines])
    assert [(one.peers.number, one.lines[0].number) for one in found] == [(1, 1), (2, 2), (3, 3), (4, 4), (1, 5)]
    assert (conversations.connections, conversations.other_connections, conversations.count) == (4, 0, 5)
    assert conversations.findings == []


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 2)
    asked = [told(number, correlation_id=number) for number in range(1, 6)]
    assert chunks(asked[:3], [told(9, "response", 1)]) == [[(1, [1, 9])], [(2, [2]), (3, [3])]]
    assert chunks(asked, [told(9, "response", 1)]) == [[(1, [1]), (2, [2])], [(3, [9])], [(4, [3]), (5, [4]), (6, [5])]]
    order = "a", "b", "a", "c", "b", "a"
    [found] = Conversations().chunks([[told(at, "both", connection=name) for at, name in enumerate(order)]])
    assert [one.peers.number for one in found] == [1, 2, 1, 3, 2, 4]


def exchange(*lines: ProtocolLine) -> Exchange:
    [[found]] = Conversations().chunks([list(lines)])
    return found


def test_an_exchange_has_what_lines_tell() -> None:
    fields = {"topics": [{"name": "orders"}], "nonsense": 1}, {"controllerId": 5}
    found = exchange(
        told(3, sizes=(52, None), fields=fields, time=100, zoned=True, client=("h", 1), broker=("b", 2)),
        told(4, "response", sizes=(None, 99), fields=fields, time=300, zoned=True, latency=150),
    )
    request, response = found.request, found.response
    assert request is not None
    assert response is not None
    assert (found.api, found.version, found.correlation_id, found.client_id) == (METADATA, 9, 1, "shop")
    assert (found.peers.client, found.peers.broker, found.latency) == (("h", 1), ("b", 2), 150)
    assert found.lines == (LogLine("librdkafka", 3, "request", 100), LogLine("librdkafka", 4, "response", 300))
    assert [(half.size, half.first_time, half.last_time, half.version, half.api) for half in (request, response)] == [
        (52, 100, 100, 9, METADATA), (99, 300, 300, 9, METADATA),
    ]  # fmt: skip
    assert [(half.first_packet, half.last_packet, half.data, half.direction) for half in (request, response)] == [
        (0, 0, b"", "request"), (0, 0, b"", "response"),
    ]  # fmt: skip
    for half, body in ((request, {"topics": [{"name": "orders"}]}), (response, {"controller_id": 5})):
        message = half.message()
        assert message is not None
        assert (message.body, message.header, message.version, message.size) == (body, None, 9, half.size)
        assert half.take() is half.message(shallow=True) is message
        half.forget()
        assert half.message() is message
        assert (half.facts(), half.findings(), half.known_findings) == (None, (), ())


def test_a_line_of_both_halves_is_written_when_all_is_done() -> None:
    times = []
    for time, latency in ((1_000, 400), (1_000, 1_000), (1_000, 1_001), (1_000, None), (UNTIMED, 400)):
        found = exchange(told(1, "both", time=time, latency=latency))
        assert found.request is not None
        assert found.response is not None
        times.append((found.request.last_time, found.response.first_time, found.latency))
    assert times == [
        (600, 1_000, 400), (0, 1_000, 1_000), (0, 1_000, 1_001), (1_000, 1_000, 0), (UNTIMED, UNTIMED, 400),
    ]  # fmt: skip
    alone = exchange(told(1, time=1_000, latency=400))
    assert alone.request is not None
    assert (alone.request.last_time, alone.response) == (1_000, None)
    answered = exchange(told(1, "response"))
    assert (answered.request, answered.response is None) == (None, False)


def test_what_lines_leave_open() -> None:
    found = exchange(told(1, correlation_id=None, version=None))
    assert found.request is not None
    assert (found.version, found.correlation_id, found.request.version, found.request.size) == (
        UNVERSIONED, UNNUMBERED, UNVERSIONED, 0,
    )  # fmt: skip
    message = found.request.message()
    assert message is not None
    assert message.version == METADATA.versions[-1]
    assert UNVERSIONED == -1


def test_lines_are_shown_in_utc() -> None:
    plain, zoned, untimed = told(7, time=1_000), told(7, time=1_000, zoned=True), told(7, zoned=False)
    assert [line_of(one, "x.log", 300) for one in (plain, zoned, untimed)] == [
        LogLine("librdkafka", 7, "request", time, "x.log") for time in (700, 1_000, UNTIMED)
    ]
    assert line_of(plain) == LogLine("librdkafka", 7, "request", 1_000, "")
