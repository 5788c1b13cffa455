"""Which line goes to which exchange of a capture: by what it says, and where several may, by broker and time."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.analysis.logs import join as module
from kdbg.analysis.logs.dialect import LineFacts
from kdbg.analysis.logs.join import APART, FARTHEST_ZONE, QUARTER, SOON, Join
from kdbg.analysis.logs.lines import DIALECTS, ProtocolLine
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol import grammars

METADATA, PRODUCE = grammars.api("Metadata"), grammars.api("Produce")
SECOND = 10**9
START = 1_000_000 * SECOND
ALL_TOPICS, ORDERS = b"\xff\xff\xff\xff", b"\0\0\0\1\0\6orders"
"""Bodies of Metadata requests of version 1."""


def exchange(
    start: int = START, took: int | None = SECOND, *, id: int = 1, body: bytes = ALL_TOPICS, **other: Any
) -> Exchange:
    """A Metadata request of a client `shop`, port 50000, to the broker's 9092, and its response `took` later."""
    given: dict[str, Any] = {"version": 1, "client_id": "shop", "api": METADATA} | other
    found = Exchange(Peers(1, ("h", 50_000), ("b", 9092)), given["api"], given["version"], id, given["client_id"])
    data = b"\0\3\0\1" + id.to_bytes(4, "big") + b"\0\4shop" + body
    found.request = CapturedMessage(data, (start, start), (1, 1), "request")
    found.request.api, found.request.version = given["api"], given["version"]
    if took is not None:
        found.response = CapturedMessage(b"x" * 20, (start + took, start + took), (2, 2), "response")
    return found


def line(number: int, time: int = START, half: Any = "request", id: int | None = 1, **other: Any) -> ProtocolLine:
    """A line on such a request."""
    said = {"api": METADATA, "version": 1, "client_id": "shop", "zoned": True, "correlation_id": id} | other
    return ProtocolLine(number, DIALECTS["java"], LineFacts(half, time=time, **said))  # type: ignore[arg-type]


def joined(exchanges: list[Exchange], *lines: ProtocolLine) -> list[list[int]]:
    """The numbers of the lines that each exchange gets."""
    join = Join("some.log", [lines])
    for one in exchanges:
        join.join(one)
    join.finish()
    assert join.lines == len(lines)
    assert join.joined == sum(len(one.lines) for one in exchanges)
    assert all(found.log == "some.log" for one in exchanges for found in one.lines)
    return [[found.number for found in one.lines] for one in exchanges]


def takes(**other: Any) -> bool:
    """Whether an exchange takes a line that says other things of it."""
    return joined([exchange()], line(1, **other)) == [[1]]


def test_a_line_must_say_nothing_else_than_the_exchange() -> None:
    assert takes()
    assert takes(client_id=None)
    assert takes(version=None)
    assert takes(client=("elsewhere", 0))
    assert takes(client=("elsewhere", 50_000))
    assert takes(broker=("elsewhere", 9092))
    assert takes(broker=("b", 19_092)), "what forwards ports changes them"
    assert takes(sizes=(4 + 14 + 4, None))
    assert takes(sizes=(None, 24))
    for other in (
        {"client_id": "till"}, {"version": 2}, {"id": 2}, {"api": PRODUCE}, {"client": ("h", 50_001)},
        {"sizes": (23, None)}, {"sizes": (None, 23)},
    ):  # fmt: skip
        assert not takes(**other), other
    unknown = exchange(api=None)
    unknown.api = None
    assert joined([unknown], line(1)) == [[]]
    unanswered = exchange(took=None)
    assert joined([unanswered], line(1, sizes=(None, 99))) == [[1]]


def test_a_line_is_written_near_its_message() -> None:
    for half, at in (("request", 0), ("response", SECOND), ("both", SECOND)):
        for late, near in ((0, True), (APART, True), (APART + 1, False), (-APART, True), (-APART - 1, False)):
            assert takes(half=half, time=START + at + late) is near, (half, late)
    assert takes(time=-1), "a line without a time"
    assert joined([exchange(took=None)], line(1, START + APART, "response")) == [[1]], (
        "the request, where there is no response"
    )
    answer = exchange()
    answer.request = None
    assert joined([answer], line(1, START - 10 * APART)) == [[1]], "nothing says when the request was"
    assert APART == 60 * SECOND


def test_each_half_has_its_lines_once() -> None:
    lines = [line(1), line(2, half="response"), line(3, half="both"), line(4), line(5, half="response")]
    assert joined([exchange(), exchange(), exchange()], *lines) == [[1, 2, 3], [4, 5], []]


def test_of_several_lines_the_one_of_this_broker_is_taken_then_the_nearest() -> None:
    assert joined([exchange()], line(1, START + 9), line(2, START - 5), line(3, START + 7)) == [[2]]
    elsewhere, here = {"broker": ("b", 1)}, {"broker": ("b", 9092)}
    assert joined([exchange()], line(1, **elsewhere), line(2, START + 9, **here)) == [[2]]
    assert joined([exchange()], line(1, START + 9, **elsewhere), line(2, START + 9)) == [[2]]
    assert joined([exchange()], line(1, START + 3), line(2, START + 3)) == [[1]]
    assert joined([exchange()], line(1, START + 3), line(2, -1)) == [[2]]


def test_a_line_without_an_id_is_written_just_before_its_request() -> None:
    at_once = {"id": None, "fields": ({}, {}), "broker": ("b", 9092)}
    for late, near in ((0, True), (-SOON, True), (-SOON - 1, False), (1, False)):
        assert takes(time=START + late, **at_once) is near, late
    assert not takes(**at_once | {"time": -1})
    assert not takes(**at_once | {"broker": ("b", 1)})
    assert takes(**at_once | {"broker": ("", 0)})
    orders = at_once | {"fields": ({"topics": [{"name": "orders"}]}, {})}
    assert not takes(**orders)
    assert joined([exchange(), exchange(body=ORDERS)], line(1, **orders), line(2, **at_once)) == [[2], [1]]
    answer = exchange()
    answer.request = None
    assert joined([answer], line(1, START + SECOND, **at_once)) == [[]]
    assert SOON == SECOND // 20
    assert joined([exchange()], line(1, **at_once), line(2)) == [[2, 1]]


def test_times_without_a_zone_are_of_one_zone_which_the_first_line_tells() -> None:
    hour = 4 * QUARTER
    for zone in (0, QUARTER, -QUARTER, 14 * hour, -14 * hour):
        exchanges = [exchange(START + number * SECOND, id=number) for number in range(2)]
        lines = [line(number, START + number * SECOND + zone + 9, id=number, zoned=False) for number in range(2)]
        join = Join("", [lines])
        for one in exchanges:
            join.join(one)
        assert [[found.time for found in one.lines] for one in exchanges] == [[START + 9], [START + SECOND + 9]]
    far = joined([exchange()], line(1, START + 14 * hour + QUARTER, zoned=False))
    assert far == [[]]
    later = [line(1, START + hour, zoned=False), line(2, START + 2 * hour, id=2, zoned=False), line(3, START, id=3)]
    assert joined([exchange(), exchange(id=2), exchange(id=3)], *later) == [[1], [], [3]]
    zoned_first = [line(1), line(2, START + hour, id=2, zoned=False)]
    assert joined([exchange(), exchange(id=2)], *zoned_first) == [[1], [2]]
    untimed_first = [line(1, -1, zoned=False), line(2, START + hour, id=2, zoned=False)]
    assert joined([exchange(), exchange(id=2)], *untimed_first) == [[1], [2]]
    assert not takes(time=START + hour)
    between = joined([exchange()], line(1, START + QUARTER // 2, zoned=False))
    assert between == [[]]
    assert (900 * SECOND, 14 * hour) == (QUARTER, FARTHEST_ZONE)


def test_lines_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older ones give way, by their times, or by their order where they have none."""
    monkeypatch.setattr(module, "MOST", 4)

    def read(exchanges: list[Exchange], *lines: ProtocolLine) -> tuple[list[list[int]], int]:
        taken: list[int] = []

        def source() -> Any:
            for each in lines:
                taken.append(each.number)
                yield [each]

        join = Join("", source())
        for one in exchanges:
            join.join(one)
        return [[found.number for found in one.lines] for one in exchanges], len(taken)

    old = [line(number, START - 3 * APART, id=90 + number) for number in range(1, 5)]
    assert read([exchange()], *old, line(5)) == ([[]], 4)
    assert read([exchange(START - 2 * APART, id=7), exchange()], *old, line(5)) == ([[], [5]], 5)
    gone = exchange(START - 3 * APART, id=91)
    assert read([exchange(START - 2 * APART, id=7), exchange(), gone], *old, line(5)) == ([[], [5], []], 5)
    young = [line(number, START - 2 * APART, id=90 + number) for number in range(1, 5)]
    assert read([exchange(id=7), exchange()], *young, line(5)) == ([[], []], 4)
    younger = [line(number, START - 2 * APART - 1, id=90 + number) for number in range(1, 5)]
    assert read([exchange(id=7), exchange()], *younger, line(5)) == ([[], [5]], 5)
    untimed = [line(number, -1, id=90 + number) for number in range(1, 5)]
    assert read([exchange(id=94), exchange(id=7), exchange()], *untimed, line(5, -1)) == ([[4], [], [5]], 5)
    assert read([exchange(id=91), exchange(id=7), exchange()], *untimed, line(5, -1)) == ([[1], [], [5]], 5)
    unzoned = [line(number, START - 3 * APART, id=90 + number, zoned=False) for number in range(1, 5)]
    assert read([exchange(id=7), exchange()], *unzoned, line(5)) == ([[], []], 4), "their zone is not known"
    known = [line(1, START + QUARTER, zoned=False), *(one._replace(number=one.number + 1) for one in unzoned)]
    assert read([exchange(), exchange(id=2), exchange(id=3)], *known, line(6, id=3)) == ([[1], [], [6]], 6)
    for late, forgotten in ((0, False), (-1, True)):
        shifted = [line(1, START + QUARTER, zoned=False)]
        at = START + QUARTER - 2 * APART + late
        shifted += [line(number, at, id=90 + number, zoned=False) for number in range(2, 6)]
        found = read([exchange(), exchange(id=2), exchange(id=3)], *shifted, line(6, id=3))
        assert found == (([[1], [], [6]], 6) if forgotten else ([[1], [], []], 5))
