"""Exchanges say which places saw them, in which order from the client to the broker, and when by the client's clock."""

from __future__ import annotations

import kdbg
from kdbg.capture.packet import reverse
from kdbg.exchanges.messages.capture_points import Bounds, CapturePoints, Half, PointView
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.exchanges.multipoint.annotate import tell
from kdbg.exchanges.multipoint.flows import Conversation, FlowRun, Path, Sight
from kdbg.exchanges.multipoint.merge import Merger, PointStream
from kdbg.protocol.grammars import find

from .packets import BACK, FORTH, flow

Marks = dict[int, tuple[int, int]]
"""By place: time, and number of the packet."""
FILES = ("first.pcap", "second.pcap", "third.pcap")
CLIENT, BROKER = ("10.0.0.1", 50_000), ("10.0.0.2", 9092)
MARK = 1_000_000


def merger(*, bounded: bool = True) -> Merger:
    """Three places: the second's clock is MARK ahead, and 900 to 1100 more by what was seen, the third's 2 MARK."""
    found = Merger([PointStream([]), PointStream([], MARK), PointStream([], 2 * MARK)])
    if bounded:
        found.offsets[0, 1].learn(1, MARK + 1_100, 0)
        found.offsets[0, 1].learn(0, MARK + 900, 0)
        found.offsets[0, 1].learn(1, MARK + 1_100, 10**10)
        found.offsets[0, 1].learn(0, MARK + 900, 10**10)
    return found


def sight(conversation: Conversation, side: int, first: Marks, last: Marks | None = None) -> Sight:
    number = Sight(77)
    number.run = run = FlowRun(conversation.flows[side], 0, 9, 0, 0, (0, 0))
    run.first, run.last = first, first if last is None else last
    return number


def exchange(
    request: tuple[Sight, Sight] | None, response: tuple[Sight, Sight] | None, client: tuple[str, int] = CLIENT
) -> Exchange:
    found = Exchange(Peers(1, client, BROKER), find(18), 0, 1, "shop")
    if request is not None:
        found.request = CapturedMessage(b"", (1, 2), request, "request")
    if response is not None:
        found.response = CapturedMessage(b"", (3, 4), response, "response")
    return found


def talk(
    request: Marks | None, response: Marks | None, *, votes: int = 0, pair: tuple[int, int] = (0, 1),
    aliases: dict[int, bytes] | None = None, turned: bool = False, clocks: Merger | None = None,
) -> Exchange:  # fmt: skip
    """An exchange whose messages are a packet each, told of."""
    conversation = Conversation(*((BACK, FORTH) if turned else (FORTH, BACK)))
    conversation.aliases = aliases or {}
    if votes:
        path = conversation.paths[pair] = Path()
        path.votes = votes
    asked = sight(conversation, 0, request) if request is not None else None
    answered = sight(conversation, 1, response) if response is not None else None
    found = exchange(asked and (asked, asked), answered and (answered, answered))
    tell(found, clocks or merger(), FILES)
    return found


def half(time: int, number: int) -> Half:
    return Half(time, time, number, number)


def times(found: Exchange) -> list[tuple[int, int, int, int] | None]:
    """Of each message: first and last time, numbers of the first and last packet."""
    return [
        each and (each.first_time, each.last_time, each.first_packet, each.last_packet)
        for each in (found.request, found.response)
    ]


NEAR_ASKS, NEAR_HEARS = (10**10, 3), (10**10 + 5_000, 4)
FAR_ASKS, FAR_HEARS = (10**10 + MARK + 2_000, 30), (10**10 + MARK + 4_500, 31)


def test_both_places_saw_both_messages() -> None:
    found = talk({0: NEAR_ASKS, 1: FAR_ASKS}, {0: NEAR_HEARS, 1: FAR_HEARS}, votes=1)
    assert found.capture_points == CapturePoints(
        (
            PointView("first.pcap", half(*NEAR_ASKS), half(*NEAR_HEARS)),
            PointView("second.pcap", half(*FAR_ASKS), half(*FAR_HEARS)),
        ),
        Bounds(MARK + 800, MARK + 1_200), True,
    )  # fmt: skip
    assert times(found) == [(10**10, 10**10, 3, 3), (10**10 + 5_000, 10**10 + 5_000, 4, 4)]
    assert (found.capture_points.network, found.capture_points.broker) == (2_500, 2_500)


def test_the_nearest_place_may_have_another_clock() -> None:
    """The second place is the client's: times are by the clock of the first all the same."""
    found = talk({1: NEAR_ASKS, 0: FAR_ASKS}, {1: NEAR_HEARS, 0: FAR_HEARS}, votes=-1)
    assert found.capture_points is not None
    assert [place.file for place in found.capture_points.seen] == ["second.pcap", "first.pcap"]
    ahead = MARK + 1_000
    assert times(found) == [(10**10 - ahead, 10**10 - ahead, 3, 3), (10**10 + 5_000 - ahead,) * 2 + (4, 4)]
    assert found.capture_points.ahead is None, "these messages contradict what is known"
    unknown = talk({1: NEAR_ASKS, 0: FAR_ASKS}, {1: NEAR_HEARS, 0: FAR_HEARS}, votes=-1, clocks=merger(bounded=False))
    assert unknown.capture_points is not None
    assert unknown.capture_points.ahead == Bounds(MARK - 500 - 1, MARK + 2_000 + 1)


def test_messages_bound_the_clocks_where_nothing_else_does() -> None:
    """There and back: by how much the second clock is ahead at most, and at least, and what they drift meanwhile."""
    clocks = merger(bounded=False)
    for late, drifted in ((5_000, 1), (4_999, 0), (9_999, 1), (10_000, 2)):
        hears = (10**10 + late, 4)
        found = talk({0: NEAR_ASKS, 1: FAR_ASKS}, {0: hears, 1: FAR_HEARS}, votes=1, clocks=clocks)
        assert found.capture_points is not None
        assert found.capture_points.ahead == Bounds(MARK + 4_500 - late - drifted, MARK + 2_000 + drifted)
    slow = talk(
        {0: NEAR_ASKS, 1: FAR_ASKS}, {0: (10**10 + 9_000, 4), 1: (FAR_ASKS[0] + 10_000, 5)}, votes=1, clocks=clocks
    )
    assert slow.capture_points is not None
    assert slow.capture_points.ahead is None or slow.capture_points.ahead.low <= slow.capture_points.ahead.high
    for request, response in (
        ({0: NEAR_ASKS, 1: FAR_ASKS}, {0: NEAR_HEARS}),
        ({0: NEAR_ASKS}, {0: NEAR_HEARS, 1: FAR_HEARS}),
    ):
        found = talk(request, response, votes=1, clocks=clocks)
        assert found.capture_points is not None
        assert found.capture_points.ahead is None
        known = talk(request, response, votes=1)
        assert known.capture_points is not None
        assert known.capture_points.ahead == Bounds(MARK + 800, MARK + 1_200)


def test_a_message_bounds_the_clocks_more_closely() -> None:
    there = talk({0: NEAR_ASKS, 1: (10**10 + MARK + 1_050, 30)}, {0: NEAR_HEARS}, votes=1)
    back = talk({0: NEAR_ASKS}, {0: NEAR_HEARS, 1: (NEAR_HEARS[0] + MARK + 950, 30)}, votes=1)
    assert there.capture_points is not None
    assert there.capture_points.ahead == Bounds(MARK + 800, MARK + 1_050 + 1)
    assert back.capture_points is not None
    assert back.capture_points.ahead == Bounds(MARK + 950 - 1, MARK + 1_200)


def test_bounds_are_those_of_the_time_of_the_first_place() -> None:
    """A second after the last that was seen of the clocks they are 200 µs weaker, by the clock of the lower place."""
    later = 10**9
    for request, response in (
        ({0: (10**10 + later, 1)}, {1: (10**10 + later, 2)}), ({1: (10**10 + later, 1)}, {0: (10**10 + later, 2)}),
    ):  # fmt: skip
        found = talk(request, response, votes=1)
        assert found.capture_points is not None
        assert found.capture_points.ahead == Bounds(MARK + 900 - 200_100, MARK + 1_100 + 200_100)
    turned = talk({1: NEAR_ASKS}, {0: (10**10 + later, 2)}, votes=-1)
    assert turned.capture_points is not None
    assert turned.capture_points.ahead == Bounds(-MARK - 1_100 - 200_100, -MARK - 900 + 200_100)


def test_the_order_is_by_the_connection_or_by_this_exchange_or_as_it_was_seen() -> None:
    def order(found: Exchange) -> tuple[list[str], bool]:
        assert found.capture_points is not None
        return [
            place.file.partition(".")[0] for place in found.capture_points.seen
        ], found.capture_points.ahead is not None

    loose = merger(bounded=False)
    longer, shorter = (NEAR_ASKS, NEAR_HEARS), ((10**10 + 2_000, 30), (10**10 + 4_500, 31))
    for votes, turned, first in ((0, False, 0), (1, False, 0), (-1, False, 1), (1, True, 1), (-1, True, 0)):
        found = talk(
            {0: longer[0], 1: shorter[0]}, {0: longer[1], 1: shorter[1]}, votes=votes, turned=turned, clocks=loose
        )
        assert order(found)[0] == (["first", "second"] if first == 0 else ["second", "first"])
    found = talk({0: shorter[0], 1: longer[0]}, {0: shorter[1], 1: longer[1]}, clocks=loose)
    assert order(found) == (["second", "first"], True)
    for late, sure in ((10_002, False), (10_003, True)):
        found = talk({0: (0, 1), 1: (MARK, 1)}, {0: (late, 2), 1: (MARK + 10_000, 2)}, clocks=loose)
        assert order(found) == (["first", "second"], sure), late
        found = talk({0: (0, 1), 1: (MARK, 1)}, {0: (10_000, 2), 1: (MARK + late, 2)}, clocks=loose)
        assert order(found) == ((["second", "first"], True) if sure else (["first", "second"], False)), late
    only = talk({0: (5_000, 1), 1: (MARK + 4_000, 2)}, None, clocks=loose)
    assert order(only) == (["second", "first"], False)
    only = talk(None, {0: (5_000, 1), 1: (MARK + 4_000, 2)}, clocks=loose)
    assert order(only) == (["first", "second"], False), "a response is seen last by the client's place"
    apart = talk({0: (5_000, 1)}, {1: (MARK + 6_000, 2)}, clocks=loose)
    assert order(apart) == (["second", "first"], False)
    three = talk(
        {0: (100, 1), 1: (MARK + 200, 1), 2: (2 * MARK + 300, 1)},
        {0: (1_000, 2), 1: (MARK + 3_200, 2), 2: (2 * MARK + 5_000, 2)},
        clocks=loose,
    )  # fmt: skip
    assert order(three)[0] == ["third", "second", "first"]
    outer = talk({0: (300, 1), 2: (2 * MARK + 100, 1)}, {0: (1_000, 2), 2: (2 * MARK + 1_500, 2)}, votes=1, pair=(0, 2))
    assert order(outer)[0] == ["first", "third"]


def test_a_place_without_a_whole_message_says_nothing_of_it() -> None:
    conversation = Conversation(FORTH, BACK)
    asked = sight(conversation, 0, {0: (100, 1)}, {}), sight(conversation, 0, {}, {1: (MARK + 300, 2), 0: (250, 5)})
    answered = sight(conversation, 1, {0: (400, 8)}, {}), sight(conversation, 1, {2: (9, 9)}, {2: (2 * MARK + 500, 7)})
    found = exchange(asked, answered)
    tell(found, merger(bounded=False), FILES)
    assert found.capture_points is not None
    assert {place.file: (place.request, place.response) for place in found.capture_points.seen} == {
        "first.pcap": (Half(100, 250, 1, 5), None), "second.pcap": (None, None), "third.pcap": (None, None),
    }  # fmt: skip
    assert times(found) == [(100, 250, 1, 5), (3, 4, 8, 7)]


def test_packets_of_a_message_that_no_place_has_whole_are_those_of_the_places_that_have_them() -> None:
    conversation = Conversation(FORTH, BACK)
    asked = sight(conversation, 0, {1: (MARK + 100, 1)}, {}), sight(conversation, 0, {}, {0: (300, 2)})
    found = exchange(asked, None)
    tell(found, merger(bounded=False), FILES)
    assert times(found) == [(1, 2, 1, 2), None]
    nobody = exchange((sight(conversation, 0, {1: (5, 5)}, {}), sight(conversation, 0, {}, {})), None)
    tell(nobody, merger(bounded=False), FILES)
    assert times(nobody) == [(1, 2, 5, 77), None]


def test_ends_are_named_as_the_place_has_them() -> None:
    natted = flow(7, 8, 40_000)
    for alias in (natted, reverse(natted)):
        turned = alias != natted
        found = talk(
            {0: NEAR_ASKS, 1: FAR_ASKS}, {0: NEAR_HEARS, 1: FAR_HEARS}, votes=-1 if turned else 1, turned=turned,
            aliases={1: alias},
        )  # fmt: skip
        assert found.capture_points is not None
        assert not found.capture_points.certain
        assert [(place.client, place.broker) for place in found.capture_points.seen] == [
            ("", ""), ("10.0.0.7:40000", "10.0.0.8:9092"),
        ]  # fmt: skip


def test_what_no_place_knows_is_left_as_it_is() -> None:
    conversation = Conversation(FORTH, BACK)
    unknown = sight(conversation, 0, {0: (1, 1)})
    unknown.run = None
    known = sight(conversation, 0, {0: (1, 1)})
    for numbers in ((unknown, known), (known, unknown), (5, known), (known, 5), (5, 6)):
        found = exchange(numbers, None)  # type: ignore[arg-type]
        tell(found, merger(), FILES)
        assert found.capture_points is None
        assert times(found) == [(1, 2, *map(int, numbers)), None]
    found = exchange(None, None)
    tell(found, merger(), FILES)
    assert found.capture_points is None
    half_known = exchange((unknown, unknown), (sight(conversation, 1, {1: (MARK + 500, 3)}),) * 2)
    tell(half_known, merger(bounded=False), FILES)
    assert half_known.capture_points == CapturePoints(
        (PointView("second.pcap", None, half(MARK + 500, 3)),), None, True
    )
    assert times(half_known) == [(1, 2, 77, 77), (500, 500, 3, 3)]


def test_a_reading_of_one_file_has_no_places() -> None:
    from .sites import CAPTURES

    assert all(exchange.capture_points is None for exchange in kdbg.read(CAPTURES / "errors.pcap"))
