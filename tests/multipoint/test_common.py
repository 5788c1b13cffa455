"""Which captures belong together: by segments that are in both, how many of them, and how long messages took."""

from __future__ import annotations

from zlib import crc32

import pytest

from kdbg.capture.packet import reverse
from kdbg.exchanges.multipoint import common
from kdbg.exchanges.multipoint.common import ENOUGH, LEAST, SAME, PacketMatcher, Together

from .packets import BACK, FORTH, flow, packet

Seen = tuple[int, bytes, int, int]
"""Capture, flow, sequence number, time."""
OTHER = flow(3, 2)
NATTED = flow(9, 2, 40_000)


def see(comparison: PacketMatcher, *seen: Seen) -> PacketMatcher:
    """Take packets of which each has as payload what its sequence number says."""
    for capture, name, seq, time in seen:
        comparison.take(capture, [packet(1, time, name, seq, b"%012d" % seq)])
    return comparison


def together(captures: int, *seen: Seen) -> list[Together]:
    return see(PacketMatcher(captures), *seen).together()


def one(captures: tuple[int, ...], ahead: tuple[int, ...], *, same: bool = False) -> list[Together]:
    """Captures that belong together, of the same addresses."""
    return [Together(captures, ahead, ({},) * len(captures), same)]


def test_one_segment_in_both_captures_is_enough_where_the_addresses_are_the_same() -> None:
    assert together(2, (0, FORTH, 1, 1000), (1, FORTH, 1, 1500)) == one((0, 1), (0, 500))
    assert together(2, (1, FORTH, 1, 1500), (0, FORTH, 1, 1000)) == one((0, 1), (0, 500))
    assert together(2, (0, FORTH, 1, 1000), (1, OTHER, 1, 1500)) == []
    assert together(2, (0, FORTH, 1, 1000), (1, FORTH, 2, 1500)) == []
    assert together(2, (0, FORTH, 0xFFFFFFFF, 1000), (1, FORTH, 0xFFFFFFFF, 1500)) == one((0, 1), (0, 500))
    assert together(2, (0, FORTH, 1, 1000), (0, FORTH, 1, 1500)) == []


def test_segments_are_the_same_by_their_first_bytes() -> None:
    def found(first: bytes, second: bytes) -> bool:
        comparison = PacketMatcher(2)
        for capture, payload in enumerate((first, second)):
            comparison.take(capture, [packet(1, 0, FORTH, 7, payload)])
        return bool(comparison.together())

    assert [found(b"x" * length, b"x" * length) for length in (LEAST - 1, LEAST)] == [False, True]
    assert [found(b"x" * 15 + b"a", b"x" * 15 + b"b"), found(b"x" * 16 + b"a", b"x" * 16 + b"b")] == [False, True]
    assert LEAST == 12
    comparison = PacketMatcher(2)
    for capture in range(2):
        comparison.take(capture, [packet(1, 0, FORTH, 1, b"short"), packet(2, 0, FORTH, 6, b"long enough.")])
    assert comparison.together(), "short ones are passed over"


def test_the_first_capture_is_the_one_from_which_messages_take_longer() -> None:
    """By the clocks a request takes 5 µs, a response -10: there and back it is 15 µs, and a clock is 2.5 behind."""
    client = ((FORTH, 1, 100_000), (BACK, 2, 130_000))
    broker = ((FORTH, 1, 105_000), (BACK, 2, 120_000))
    for far, near in ((0, 1), (1, 0)):
        seen = [(near, *each) for each in client] + [(far, *each) for each in broker]
        assert together(2, *seen) == together(2, *seen[::-1]) == one((near, far), (0, -2_500))


def test_captures_of_one_place_are_told_by_messages_that_take_no_time() -> None:
    for took, same in ((SAME, True), (SAME + 1, False)):
        for near, far in ((0, 1), (1, 0)):
            seen = ((near, FORTH, 1, 0), (far, FORTH, 1, took), (near, BACK, 2, 9000), (far, BACK, 2, 9000))
            assert together(2, *seen) == one((near, far), (0, took // 2 if near == 0 else -(-took // 2)), same=same)
    quick, slow = ((0, FORTH, 1, 0), (1, FORTH, 1, 9), (0, BACK, 2, 20), (1, BACK, 2, 18)), [
        (0, OTHER, 3, 0), (1, OTHER, 3, 900_000), (0, reverse(OTHER), 4, 950_000), (1, reverse(OTHER), 4, 950_000),
    ]  # fmt: skip
    assert [one.same for one in (*together(2, *quick), *together(2, *quick, *slow))] == [True, False]
    assert SAME == 2_000


def test_of_several_messages_the_quickest_says_how_far_it_is_and_the_first_how_clocks_are() -> None:
    seen: list[Seen] = []
    for seq, (there, back) in enumerate(((4_000, -200), (900, -300), (1_000, -2_000))):
        seen += (0, FORTH, seq, 10_000), (1, FORTH, seq, 10_000 + there)
        seen += (0, BACK, 10 + seq, 30_000), (1, BACK, 10 + seq, 30_000 + back)
    assert together(2, *seen) == one((0, 1), (0, 1_900))
    assert together(2, *seen[4:8]) == one((0, 1), (0, 300), same=True), "900 + 300"
    assert together(2, *seen[4:]) == one((0, 1), (0, 300)), "900 + 2000"


def test_most_connections_say_which_capture_is_first() -> None:
    def connection(client: int, near: int, far: int) -> list[Seen]:
        name = flow(client, 2)
        return [
            (near, name, client, 0), (far, name, client, 50_000), (far, reverse(name), 90 + client, 60_000),
            (near, reverse(name), 90 + client, 110_000),
        ]  # fmt: skip

    assert together(2, *connection(1, 0, 1), *connection(3, 1, 0), *connection(4, 1, 0)) == one((1, 0), (0, 0))
    assert together(2, *connection(1, 0, 1), *connection(3, 1, 0)) == one((0, 1), (0, 0))


def test_groups_are_joined_by_pairs() -> None:
    """0–2 and 2–4 have connections in common, 1–5 have another, 3 has none."""
    chain = (
        (1, NATTED, 3, 7), (5, NATTED, 3, 2), (0, FORTH, 1, 100), (2, FORTH, 1, 350), (2, OTHER, 2, 1_000),
        (4, OTHER, 2, 1_030), (3, flow(7, 2), 4, 0),
    )  # fmt: skip
    assert together(6, *chain) == [*one((0, 2, 4), (0, 250, 280)), *one((1, 5), (0, -5))]
    voted = [(2, FORTH, 10, 0), (0, FORTH, 10, 50_000), (0, BACK, 11, 60_000), (2, BACK, 11, 110_000)]
    [first, *_] = together(6, *chain, *voted)
    assert (first.captures, first.aliases) == ((2, 0, 4), ({}, {}, {}))
    assert first.ahead == (0, -((250 + 50_000) // 2), 30)
    nearest_last = [(4, OTHER, 12, 0), (2, OTHER, 12, 50_000)]
    nearest_last += [(2, reverse(OTHER), 13, 60_000), (4, reverse(OTHER), 13, 110_000)]
    [first, _] = together(6, *chain, *nearest_last)
    assert (first.captures, first.ahead[0]) == ((4, 0, 2), 0)
    assert first.ahead[1] == first.ahead[2] - 250


def test_translated_addresses_need_several_segments_both_ways() -> None:
    def seen(*segments: tuple[bytes, bytes]) -> list[Seen]:
        return [
            (at, name, seq, at * 10 if name[-2:] == FORTH[-2:] else -at * 10)
            for seq, both in enumerate(segments)
            for at, name in enumerate(both)
        ]

    forth, back = (FORTH, NATTED), (BACK, reverse(NATTED))
    aliases = {NATTED: FORTH, reverse(NATTED): BACK}
    assert together(2, *seen(forth, back)) == []
    assert together(2, *seen(forth, forth, forth)) == []
    for enough in ((forth, forth, back), (forth, back, back)):
        assert together(2, *seen(*enough)) == [Together((0, 1), (0, 0), ({}, aliases), True)]
    assert together(2, *seen(forth, forth, back, (FORTH, FORTH), (BACK, BACK)))[0].aliases == ({}, {})


def test_aliases_lead_to_the_flows_of_the_first_capture() -> None:
    again = flow(8, 2, 30_000)

    def through(*names: bytes) -> list[Seen]:
        found: list[Seen] = []
        for seq in range(4):
            way = [reverse(name) for name in names] if seq % 2 else names
            late = -10 if seq % 2 else 10
            found += [(at, name, seq, at * late) for at, name in enumerate(way[:2])]
            found += [(at + 1, name, 100 + seq, at * late) for at, name in enumerate(way[1:])]
        return found

    seen = through(FORTH, NATTED, again)
    [found] = together(3, *seen)
    assert found.aliases == (
        {}, {NATTED: FORTH, reverse(NATTED): BACK}, {again: FORTH, reverse(again): BACK},
    )  # fmt: skip
    nearest: list[Seen] = []
    for seq, name in ((900, OTHER), (950, flow(4, 2))):
        nearest += [(2, name, seq, 0), (1, name, seq, 50_000)]
        nearest += [(1, reverse(name), seq + 1, 60_000), (2, reverse(name), seq + 1, 110_000)]
    [found] = together(3, *seen, *nearest)
    assert found.captures == (2, 0, 1)
    assert found.aliases == (
        {}, {FORTH: again, BACK: reverse(again)}, {NATTED: again, reverse(NATTED): reverse(again)},
    )  # fmt: skip
    assert together(3, *through(FORTH, NATTED, FORTH))[0].aliases == ({}, {NATTED: FORTH, reverse(NATTED): BACK}, {})


def test_no_more_packets_are_needed_once_each_way_has_enough() -> None:
    def comparison(captures: int, forth: int, back: int) -> PacketMatcher:
        found = PacketMatcher(captures)
        for name, count in ((FORTH, forth), (BACK, back)):
            for seq in range(count):
                see(found, *((at, name, 1000 * (name is BACK) + seq, 0) for at in range(2)))
        return found

    assert [
        comparison(*counts).enough()
        for counts in ((2, ENOUGH, ENOUGH), (2, ENOUGH, ENOUGH - 1), (2, ENOUGH - 1, ENOUGH), (2, ENOUGH, 0))
    ] == [True, False, False, False]
    assert not comparison(3, ENOUGH, ENOUGH).enough(), "of the third nothing is known"
    assert ENOUGH == 64


def test_of_many_segments_the_same_part_is_known_of_all_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "MOST", 16)
    comparison = PacketMatcher(2)
    packets = [packet(1, 0, FORTH, seq, b"%012d" % seq) for seq in range(400)]
    comparison.take(0, packets[:16])
    assert len(comparison._known) == 16
    comparison.take(0, packets[16:200])
    comparison.take(0, packets[200:])
    keys = [seq.to_bytes(4, "big") + b"%012d" % seq for seq in range(400)]
    parts = [{key for key in keys if crc32(key) % (1 << halved) == 0} for halved in range(9)]
    assert {*comparison._known} in [part for part in parts if len(part) <= 16], "half of them, some times"
    comparison.take(1, packets[::-1])
    assert comparison.together() == one((0, 1), (0, 0))
    [match] = comparison._matches[0, 1].values()
    assert 4 <= match.count == len(comparison._known)


def test_feeds_have_what_is_known_of_each_capture() -> None:
    blocks = [iter([[packet(1, 0, FORTH, at)]]) for at in range(2)]
    found = Together((1, 0), (0, 9), ({}, {NATTED: FORTH}), False).feeds(blocks)
    assert [(feed.blocks, feed.ahead, feed.aliases) for feed in found] == [
        (blocks[0], 0, {}), (blocks[1], 9, {NATTED: FORTH}),
    ]  # fmt: skip
