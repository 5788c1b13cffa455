"""Packets of several places become those of one capture: each byte once, in the form that one place has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from kdbg.capture.packet import ACK, FIN, PSH, RST, SYN, Packet, reverse
from kdbg.exchanges.messages.capture_points import Bounds
from kdbg.exchanges.multipoint import merge as module
from kdbg.exchanges.multipoint.flows import Sight
from kdbg.exchanges.multipoint.merge import BLOCK, KEEP, MANY, MOST_BYTES, OVERHEAD, STEP, WAIT, Merger, PointStream

from .packets import BACK, FORTH, flow, packet

Shown = tuple[int, bytes, int, int, bytes, int]
"""Time, flow, sequence number, flags, payload, length."""
MARK = 1_000_000
"""By how much the clock of the second place is ahead."""


def merger(*places: Sequence[Packet], wait: int = WAIT, ahead: Sequence[int] = (0, MARK, 2 * MARK)) -> Merger:
    return Merger([PointStream([seen], late) for seen, late in zip(places, ahead, strict=False)], wait=wait)


def merged(found: Merger) -> list[Shown]:
    """The packets that come out, which are counted from 1."""
    packets = [each for block in found.blocks() for each in block]
    assert [each[0] for each in packets] == list(range(1, len(packets) + 1))
    assert all(isinstance(each[0], Sight) for each in packets)
    return [(time, name, seq, flags, payload, length) for _, time, name, seq, _, flags, payload, length in packets]


def both_turns(near: Sequence[Packet], far: Sequence[Packet], wait: int = WAIT) -> tuple[list[Shown], list[Shown]]:
    """What comes out, with the client's place as the first, and as the second; times by the client's clock."""
    turned = merged(merger(far, near, wait=wait, ahead=(0, -MARK)))
    return merged(merger(near, far, wait=wait)), [(time - MARK, *rest) for time, *rest in turned]  # type: ignore[misc]


def request(number: int, time: int, seq: int = 10, payload: bytes = b"request", flags: int = ACK) -> Packet:
    return packet(number, time, FORTH, seq, payload, flags)


def response(number: int, time: int, seq: int = 50, payload: bytes = b"response", flags: int = ACK) -> Packet:
    return packet(number, time, BACK, seq, payload, flags)


def plain(packet: Packet) -> Shown:
    _, time, name, seq, _, flags, payload, length = packet
    return time, name, seq, flags, payload, length


NEAR = (request(1, 100), response(2, 400), request(3, 410, 17, b""))
FAR = (
    request(1, MARK + 200),
    response(2, MARK + 210, 50, b""),
    response(3, MARK + 300),
    request(4, MARK + 500, 17, b""),
)


def test_packets_are_those_of_the_place_near_the_client() -> None:
    for wait in (WAIT, 150):
        for found in both_turns(NEAR, FAR, wait):
            assert found == [plain(each) for each in NEAR]


def test_what_the_first_place_lacks_comes_from_the_other() -> None:
    """The response of 300 by the clock of the first place, which comes 300 later there, if it comes."""
    found = merger(NEAR[:1], FAR)
    assert merged(found) == [plain(NEAR[0]), (300, BACK, 50, ACK, b"response", 8)]
    assert found.filled == 1
    found = merger(NEAR[1:], FAR)
    assert merged(found) == [(time - MARK, *rest) for time, *rest in map(plain, FAR)]
    assert found.filled == 0, "the place that saw the first packet tells of the connection"
    alone = merger((), FAR)
    assert merged(alone) == [(time - MARK, *rest) for time, *rest in map(plain, FAR)]
    assert merged(merger(FAR, ())) == [plain(each) for each in FAR]
    assert merged(merger()) == merged(merger((), ())) == []


def test_a_packet_that_was_sent_again_is_there_as_often_as_the_place_has_it() -> None:
    again = request(2, 150)
    near, far = (NEAR[0], again), (FAR[0], request(2, MARK + 250))
    for wait in (WAIT, 60):
        assert merged(merger(near, far, wait=wait)) == [plain(near[0]), plain(again)]
        assert merged(merger(near[:1], far, wait=wait)) == [plain(near[0])]
        assert merged(merger(near, far[:1], wait=wait)) == [plain(near[0]), plain(again)]


def test_numbers_know_where_their_bytes_were_seen() -> None:
    found = merger(NEAR, FAR)
    [asked, answered, empty] = [each[0] for block in found.blocks() for each in block]
    assert isinstance(asked, Sight)
    assert asked.run is not None
    assert (asked.run.first, asked.run.last) == ({0: (100, 1), 1: (MARK + 200, 1)},) * 2
    assert isinstance(answered, Sight)
    assert answered.run is not None
    assert (answered.run.first, answered.run.moment) == ({1: (MARK + 300, 3), 0: (400, 2)}, 300)
    assert isinstance(empty, Sight)
    assert empty.run is None
    assert asked.run.flow.conversation is answered.run.flow.conversation
    assert (asked.run.flow.side, answered.run.flow.side) == (0, 1)


def test_bytes_that_places_cut_into_other_packets() -> None:
    """A network card cuts what the client's kernel hands it as one packet."""
    whole, parts = packet(1, 100, FORTH, 10, b"abcdefghi"), [
        packet(1, MARK + 200, FORTH, 10, b"abc"), packet(2, MARK + 210, FORTH, 13, b"def"),
        packet(3, MARK + 220, FORTH, 16, b"ghi"),
    ]  # fmt: skip
    cut = [(100, FORTH, 10, ACK, b"abc", 3), (100, FORTH, 13, ACK, b"def", 3), (100, FORTH, 16, ACK, b"ghi", 3)]
    assert merged(merger([whole], parts)) == cut
    assert merged(merger([whole], parts, wait=5)) == [cut[0], (100, FORTH, 13, ACK, b"defghi", 6)]
    assert merged(merger([whole], parts[1:])) == [(100, FORTH, 10, ACK, b"abc", 3), *cut[1:]]
    lost = merger(parts[:1], [packet(1, MARK + MARK + 200, FORTH, 10, b"abcdefghi")])
    assert merged(lost) == [plain(parts[0]), (MARK + 200, FORTH, 13, ACK, b"defghi", 6)]
    assert lost.filled == 1
    together = merger([packet(1, 100, FORTH, 10, b"abc"), packet(2, 110, FORTH, 13, b"defghi")],
                      [packet(1, MARK + 200, FORTH, 10, b"abcdefghi")])  # fmt: skip
    assert merged(together) == [cut[0], (110, FORTH, 13, ACK, b"defghi", 6)]


def test_sequence_numbers_wrap() -> None:
    high = (1 << 32) - 3
    near = packet(1, 100, FORTH, high, b"abcdefghi")
    far = (packet(1, MARK + 200, FORTH, high, b"abc"), packet(2, MARK + 210, FORTH, 0, b"defghi"))
    assert merged(merger([near], far)) == [(100, FORTH, high, ACK, b"abc", 3), (100, FORTH, 0, ACK, b"defghi", 6)]
    assert merged(merger(far[:1], [packet(1, MARK + MARK + 300, FORTH, high, b"abcdefghi")])) == [
        plain(far[0]), (MARK + 300, FORTH, 0, ACK, b"defghi", 6),
    ]  # fmt: skip


def test_a_connection_begins_and_ends_as_it_does_at_the_place_near_the_client() -> None:
    near = (
        packet(1, 100, FORTH, 9, flags=SYN), packet(2, 400, BACK, 49, flags=SYN | ACK), packet(3, 410, FORTH, 10),
        request(4, 420), response(5, 800), packet(6, 900, FORTH, 17, flags=FIN | ACK),
        packet(7, 1300, BACK, 58, flags=FIN | ACK), packet(8, 1310, FORTH, 18),
    )  # fmt: skip
    far = tuple(
        (number, MARK + time + (100 if name == FORTH else -100), name, *rest) for number, time, name, *rest in near
    )
    for wait in (WAIT, 250):
        for found in both_turns(near, far, wait):  # type: ignore[arg-type]
            assert found == [plain(each) for each in near]
    whole = merger(near, far)  # type: ignore[arg-type]
    runs = [each[0].run for block in whole.blocks() for each in block if each[0].run]  # type: ignore[attr-defined]
    assert len({id(run.flow.conversation) for run in runs}) == 1
    assert [sorted(run.first) for run in runs] == [[0, 1]] * 6
    lacks = merger(near[3:5], far)  # type: ignore[arg-type]
    assert merged(lacks) == [
        (200, FORTH, 9, SYN, b"", 0), (300, BACK, 49, SYN | ACK, b"", 0), (510, FORTH, 10, ACK, b"", 0),
        (520, FORTH, 10, ACK, b"request", 7), (700, BACK, 50, ACK, b"response", 8),
        (1000, FORTH, 17, FIN | ACK, b"", 0), (1200, BACK, 58, FIN | ACK, b"", 0), (1410, FORTH, 18, ACK, b"", 0),
    ]  # fmt: skip
    ends = merger(near[:5], far)  # type: ignore[arg-type]
    assert merged(ends) == [
        *map(plain, near[:5]), (1000, FORTH, 17, FIN | ACK, b"", 0), (1200, BACK, 58, FIN | ACK, b"", 0),
    ]  # fmt: skip
    assert ends.filled == 2


def test_the_last_bytes_and_the_end_may_be_one_packet() -> None:
    near = (request(1, 100), packet(2, 150, FORTH, 17, b"bye", FIN | PSH | ACK))
    far = (packet(1, MARK + 200, FORTH, 10, b"requestbye", ACK), packet(2, MARK + 210, FORTH, 20, flags=FIN | ACK))
    assert merged(merger(near, far)) == [
        plain(near[0]), (150, FORTH, 17, PSH | ACK, b"bye", 3), (150, FORTH, 20, FIN | PSH | ACK, b"", 0),
    ]  # fmt: skip
    assert merged(merger(near, ())) == [plain(each) for each in near]
    assert merged(merger(near[:1], far)) == [
        plain(near[0]), (200, FORTH, 17, ACK, b"bye", 3), (210, FORTH, 20, FIN | ACK, b"", 0),
    ]  # fmt: skip
    opens = packet(1, 100, FORTH, 9, b"early", SYN)
    later = [packet(1, MARK + 200, FORTH, 9, b"", SYN), packet(2, MARK + 210, FORTH, 10, b"early")]
    assert merged(merger([opens], later)) == [
        (100, FORTH, 9, SYN, b"", 0), (100, FORTH, 10, 0, b"early", 5),
    ]  # fmt: skip
    assert merged(merger([opens], [])) == [plain(opens)]


def test_a_reset_is_there_once_where_the_first_place_lacks_it() -> None:
    resets = (packet(2, MARK + 300, BACK, 50, flags=RST), packet(3, MARK + 310, BACK, 50, flags=RST))
    assert merged(merger(NEAR[:1], (FAR[0], *resets))) == [plain(NEAR[0]), (300, BACK, 50, RST, b"", 0)]
    own = (packet(2, 290, BACK, 50, flags=RST), packet(3, 295, BACK, 50, flags=RST))
    assert merged(merger((NEAR[0], *own), (FAR[0], *resets))) == [plain(each) for each in (NEAR[0], *own)]


def test_bytes_that_a_capture_cut_off_come_from_the_other() -> None:
    cut = packet(1, 100, FORTH, 10, b"req", length=7)
    whole = (FAR[0], *FAR[2:3])
    assert merged(merger([cut], whole)) == [(100, FORTH, 10, ACK, b"req", 3), (200, FORTH, 13, ACK, b"uest", 4),
                                            (300, BACK, 50, ACK, b"response", 8)]  # fmt: skip
    assert merged(merger([cut], [])) == [plain(cut)]
    less = packet(1, MARK + 200, FORTH, 10, b"re", length=7)
    assert merged(merger([cut], [less])) == [(100, FORTH, 10, ACK, b"re", 2), (100, FORTH, 13 - 1, ACK, b"q", 5)]
    more = packet(1, MARK + 200, FORTH, 10, b"reques", length=7)
    assert merged(merger([cut], [more])) == [(100, FORTH, 10, ACK, b"req", 7), (200, FORTH, 13, ACK, b"ues", 3)]
    none = packet(1, 100, FORTH, 10, b"", length=7)
    assert merged(merger([none], [FAR[0]])) == [(100, FORTH, 10, ACK, b"", 7), (200, FORTH, 10, ACK, b"request", 7)]
    ends = packet(1, 100, FORTH, 10, b"req", FIN | ACK, length=7)
    assert merged(merger([ends], [packet(1, MARK + 200, FORTH, 10, b"request", FIN | ACK)])) == [
        (100, FORTH, 10, ACK, b"req", 3), (200, FORTH, 13, FIN | ACK, b"uest", 4),
    ]  # fmt: skip
    syn = packet(1, 100, FORTH, 9, b"ea", SYN, length=5)
    assert merged(merger([syn], [packet(1, MARK + 200, FORTH, 9, b"early", SYN)])) == [
        (100, FORTH, 9, SYN, b"ea", 2), (200, FORTH, 12, 0, b"rly", 3),
    ]  # fmt: skip
    parts = [packet(1, MARK + 200, FORTH, 10, b"reque"), packet(2, MARK + 210, FORTH, 15, b"st")]
    assert merged(merger([cut], parts)) == [
        (100, FORTH, 10, ACK, b"req", 3), (200, FORTH, 13, ACK, b"ue", 2), (210, FORTH, 15, ACK, b"st", 2),
    ]  # fmt: skip
    gap = [packet(1, MARK + 200, FORTH, 10, b"requ"), packet(2, MARK + 210, FORTH, 15, b"st")]
    assert merged(merger([cut], gap)) == [
        (100, FORTH, 10, ACK, b"req", 7), (200, FORTH, 13, ACK, b"u", 1), (210, FORTH, 15, ACK, b"st", 2),
    ]  # fmt: skip


def test_another_connection_on_the_same_ports_is_another() -> None:
    def connection(seq: int, start: int) -> tuple[list[Packet], list[Packet]]:
        near = [packet(1, start, FORTH, seq, flags=SYN), request(2, start + 400, seq + 1)]
        far = [packet(1, MARK + start + 100, FORTH, seq, flags=SYN), request(2, MARK + start + 500, seq + 1)]
        return near, far

    first, second = connection(9, 100), connection(9_000, 5_000)
    found = merger(first[0] + second[0], first[1] + second[1])
    numbers = [each[0] for block in found.blocks() for each in block]
    runs = [number.run for number in numbers if isinstance(number, Sight)]
    assert [run.flow.conversation is runs[0].flow.conversation for run in runs if run and runs[0]] == [
        True, True, False, False,
    ]  # fmt: skip
    assert [run.flow.origin for run in runs if run] == [9, 9, 9_000, 9_000]
    assert [sorted(run.first) for run in runs if run] == [[0, 1]] * 4


def test_the_place_nearest_to_the_client_tells_by_what_was_seen_of_the_connection() -> None:
    """By the clocks the broker's place sees all first, but the way there and back is longer from the client's."""
    near, far = [], []
    for number in range(4):
        time, number = 1_000 * (number + 1), 2 * number
        near += [request(number, time, 10 + 100 * number), response(number + 1, time + 500, 50 + 100 * number)]
        far += [request(number, time - 10, 10 + 100 * number), response(number + 1, time - 5, 50 + 100 * number)]
    for places in ((near, far), (far, near)):
        assert merged(merger(*places, ahead=(0, 0))) == [plain(each) for each in near]


def test_the_place_that_tells_is_the_first_by_the_time_of_the_first_packet() -> None:
    third = (request(1, 2 * MARK + 150), response(2, 2 * MARK + 350))
    assert merged(merger(NEAR, FAR, third)) == [plain(each) for each in NEAR]
    late = [response(1, 400), response(2, 500, 58)]
    early = [response(1, MARK + 300), response(2, MARK + 450, 58)]
    between = [response(1, 2 * MARK + 350), response(2, 2 * MARK + 470, 58)]
    assert merged(merger(late, early, between)) == [plain(each) for each in late], "a response comes last to its client"
    assert merged(merger(early, late, ahead=(0, -MARK))) == [
        (MARK + 400, *plain(late[0])[1:]),
        (MARK + 500, *plain(late[1])[1:]),
    ]


SYNS = (
    packet(1, 100, FORTH, 9, flags=SYN), packet(2, 400, BACK, 49, flags=SYN | ACK, ack=10), packet(3, 410, FORTH, 10),
    request(4, 420),
)  # fmt: skip
NATTED = flow(7, 2, 40_000)


def translated(packets: Sequence[Packet], late: int) -> list[Packet]:
    return [
        (number, MARK + time + (late if name == FORTH else -late), NATTED if name == FORTH else reverse(NATTED), *rest)
        for number, time, name, *rest in packets
    ]  # type: ignore[misc]


def test_a_handshake_shows_that_addresses_were_translated() -> None:
    for wait in (WAIT, 5):
        found = merger(SYNS, translated(SYNS, 100), wait=wait)
        packets = [each for block in found.blocks() for each in block]
        if wait == WAIT:
            assert list(map(plain, packets)) == list(map(plain, SYNS))
        run = packets[-1][0].run  # type: ignore[attr-defined]
        assert sorted(run.first) == [0, 1]
        assert run.flow.conversation.aliases == {1: NATTED}
    swapped = merger(translated(SYNS, -100), SYNS, ahead=(0, -MARK))
    packets = [each for block in swapped.blocks() for each in block]
    assert {each[2] for each in packets} == {NATTED, reverse(NATTED)}
    assert packets[-1][0].run.flow.conversation.aliases == {1: FORTH}  # type: ignore[attr-defined]


def test_a_syn_alone_shows_nothing() -> None:
    """Two clients may begin with the same number."""
    others = [packet(1, MARK + 110, NATTED, 9, flags=SYN), packet(2, MARK + 450, NATTED, 10, b"request")]
    found = merger(SYNS, others)
    assert sorted(merged(found)) == sorted(
        [*map(plain, SYNS), (110, NATTED, 9, SYN, b"", 0), (450, NATTED, 10, ACK, b"request", 7)]
    )
    same = [(time + MARK, *rest) for time, *rest in map(plain, SYNS)]
    assert merged(merger((), SYNS, ahead=(0, -MARK))) == same, "one place alone translates nothing"
    again = (*SYNS[:2], packet(3, 405, NATTED, 49, flags=SYN | ACK, ack=10))
    assert len(merged(merger(again, ()))) == 3


def test_aliases_that_are_known_are_used_from_the_start() -> None:
    other = flow(5, 6)
    far = [*translated([request(1, 100)], 100), packet(2, MARK + 300, other, 1, b"other")]
    feeds = [PointStream([[request(1, 100)]]), PointStream([far], MARK, {NATTED: FORTH, reverse(NATTED): BACK})]
    found = Merger(feeds)
    [number, (_, _, name, *_)] = [each[0] if each[2] == FORTH else each for block in found.blocks() for each in block]  # type: ignore[misc]
    assert name == other
    assert isinstance(number, Sight)
    assert number.run is not None
    assert number.run.first == {0: (100, 1), 1: (MARK + 200, 1)}
    assert number.run.flow.conversation.aliases == {1: NATTED}
    back = Merger(
        [
            PointStream([[]]),
            PointStream([translated([response(1, 100)], 100)], MARK, {NATTED: FORTH, reverse(NATTED): BACK}),
        ]
    )
    [[only]] = back.blocks()
    assert only[1:3] == (0, BACK)
    assert only[0].run.flow.conversation.aliases == {1: NATTED}  # type: ignore[attr-defined]


def test_packets_come_out_in_blocks_once_they_have_waited() -> None:
    count = 2 * BLOCK + 50
    packets = [request(number, 10 * number, 7 * number) for number in range(1, count + 1)]
    for wait in (WAIT, 100, 0):
        sizes = [len(block) for block in merger(packets, (), wait=wait).blocks()]
        assert sizes == [BLOCK, BLOCK, 50]
        assert [len(block) for block in merger(packets, (), wait=wait).blocks(singly=True)] == [1] * count
    assert [len(block) for block in merger(packets[:BLOCK], ()).blocks()] == [BLOCK]
    taken: list[int] = []

    def source() -> object:
        for each in packets:
            taken.append(each[0])
            yield [each]

    found = Merger([PointStream(source()), PointStream([])], wait=100)  # type: ignore[arg-type]
    next(iter(found.blocks(singly=True)))
    assert taken[-1] in (11, 12)
    assert (BLOCK, STEP, WAIT, KEEP) == (256, 64, 10**9, 4 * 10**9)


def test_packets_wait_within_a_bound_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10 * (OVERHEAD + 7))
    taken: list[int] = []

    def source() -> object:
        for number in range(1, 100):
            taken.append(number)
            yield [request(number, number, 7 * number)]

    found = iter(Merger([PointStream(source()), PointStream([])]).blocks(singly=True))  # type: ignore[arg-type]
    next(found)
    assert taken[-1] in (11, 12)
    next(found)
    assert taken[-1] in (12, 13)
    assert (MOST_BYTES, OVERHEAD) == (64 << 20, 1024)


def test_clocks_are_followed_by_what_both_places_see() -> None:
    """The second clock is 500 ahead of what was believed; a step of packets later that is put right."""
    near, far = [], []
    for number in range(100):
        time = 10_000 * number
        near += [request(2 * number, time, 7 * number), response(2 * number + 1, time + 400, 8 * number)]
        far += [
            request(2 * number, time + 100 + MARK + 500, 7 * number),
            response(2 * number + 1, time + 300 + MARK + 500, 8 * number),
        ]
    found = merger(near, far)
    assert found.ahead(1) == MARK
    assert found.offsets[0, 1].bounds is None
    assert len(merged(found)) == 200
    assert (found.ahead(0), found.ahead(1)) == (0, MARK + 500)
    assert found.offsets[0, 1].first == (10_000, Bounds(MARK + 400, MARK + 600))
    assert found.offsets[0, 1].steps == []
    lacking = [each for each in near if each[0] != 190]
    [filled] = [each for each in merged(merger(lacking, far)) if each[2] == 7 * 95]
    assert filled[0] == 950_000 + 100, "not 500 later"


def test_a_third_place_tells_of_clocks_that_have_nothing_in_common() -> None:
    found = merger((), (), (), ahead=(0, 10, 30))
    assert sorted(found.offsets) == [(0, 1), (0, 2), (1, 2)]
    assert [found.offsets[pair].latest for pair in sorted(found.offsets)] == [10, 30, 20]
    assert [found.ahead(place) for place in range(3)] == [0, 10, 30]
    found.offsets[0, 1].learn(1, 1_100, 0)
    found.offsets[0, 1].learn(0, 900, 0)
    assert [found.ahead(place) for place in range(3)] == [0, 1_000, 30]
    found.offsets[1, 2].learn(1, 60, 0)
    assert found.ahead(2) == 30
    found.offsets[1, 2].learn(0, 40, 0)
    assert [found.ahead(place) for place in range(3)] == [0, 1_000, 1_050]
    found.offsets[0, 2].learn(1, 1_020, 0)
    found.offsets[0, 2].learn(0, 1_000, 0)
    assert found.ahead(2) == 1_010
    other = merger((), (), (), ahead=(0, 10, 30))
    for pair, apart in (((0, 2), 1_000), ((1, 2), 50)):
        other.offsets[pair].learn(1, apart, 0)
        other.offsets[pair].learn(0, apart, 0)
    assert [other.ahead(place) for place in range(3)] == [0, 950, 1_000]


def test_places_are_read_in_the_order_of_time() -> None:
    times = ((0, 30, 60, 90), (10, 20, 70), (5, 95), (30, 30, 31))
    places = [
        [
            packet(number + 1, time + place * 1_000, flow(place + 1, 9), 10 * number, b"xxxx")
            for number, time in enumerate(each)
        ]
        for place, each in enumerate(times)
    ]
    found = merged(merger(*places, ahead=[0, 1_000, 2_000, 3_000]))
    assert [time for time, *_ in found] == sorted(time for each in times for time in each)


def test_packets_that_places_cut_otherwise_bound_the_clocks_too() -> None:
    near = [packet(1, 0, FORTH, 10, b"abcdef"), response(2, 1_000), packet(3, 2_000, FORTH, 16, b"abcdef")]
    far = [
        packet(1, MARK + 100, FORTH, 10, b"abc"), packet(2, MARK + 150, FORTH, 13, b"def"), response(3, MARK + 700),
        packet(4, MARK + 2_300, FORTH, 16, b"abc"), packet(5, MARK + 2_350, FORTH, 19, b"def"),
    ]  # fmt: skip
    found = merger(near, far)
    merged(found)
    assert found.offsets[0, 1].bounds == Bounds(MARK - 300, MARK + 300)


def test_what_waits_is_known_even_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of packets that wait are not forgotten: the other place has them once more."""
    monkeypatch.setattr(module, "MOST_BYTES", module.SLACK)
    near = [request(number, 10 * number, 7 * number) for number in range(4 * MANY)]
    far = [request(number, MARK + 100_000 + 10 * number, 7 * number) for number in range(4 * MANY)]
    assert merged(merger(near, far)) == [plain(each) for each in near]


def test_connections_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FLOWS", 8)
    packets = [packet(number, number, flow(1, 2, 1_000 + number), 1, b"x") for number in range(50)]
    found = merger(packets, ())
    counts = []
    for _ in found.blocks(singly=True):
        counts.append(len(found._flows))
    assert len(counts) == 50
    assert max(counts) <= 2 * 8 + 2
    few = merger(packets[:8], [])
    merged(few)
    assert len(few._flows) == 16
    more = merger(packets[:9], [])
    merged(more)
    assert len(more._flows) == 18
    forgotten = merger(packets[:10], [])
    merged(forgotten)
    assert len(forgotten._flows) == 18 - 8 + 2


def test_all_connections_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many packets, old runs of those are forgotten that have no packets any more."""
    monkeypatch.setattr(module, "SWEEP", 4 * STEP)
    idle = [packet(number, number, flow(1, 2, 1_000), 7 * number, b"request") for number in range(2 * STEP)]
    busy = [packet(number, 2 * KEEP + number, flow(1, 2, 2_000), 7 * number, b"request") for number in range(2 * STEP)]

    def left(packets: Sequence[Packet]) -> int:
        found = merger((packet(1, 0, FORTH, 9, flags=SYN | ACK), *packets), ())
        merged(found)
        handshakes = len(found._handshakes)
        runs = len(found._flows[flow(1, 2, 1_000)].runs)
        assert handshakes == (1 if runs else 0)
        return runs

    assert [left(idle + busy[:-2]), left(idle + busy)] == [2 * STEP, 0]


def test_runs_that_are_old_are_forgotten() -> None:
    """Retransmissions are known for some seconds, where memory allows."""

    def sent(apart: int) -> list[int]:
        packets = [request(number, number * apart, 7 * number) for number in range(4 * MANY)]
        found = merger(packets, ())
        numbers = [each[0] for block in found.blocks() for each in block]
        last = numbers[-1]
        assert isinstance(last, Sight)
        assert last.run is not None
        return [run.moment for run in last.run.flow.runs]

    assert len(sent(1_000)) == 4 * MANY
    old = sent(KEEP // 64)
    assert len(old) <= MANY + STEP + 64
    assert all(second - first == KEEP // 64 for first, second in pairwise(old))
    assert old[-1] == (4 * MANY - 1) * (KEEP // 64)
