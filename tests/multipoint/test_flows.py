"""What is known of a connection's bytes: which place saw which of them when, and which of two places is nearer."""

from __future__ import annotations

from kdbg.capture.packet import ACK, SYN, Packet
from kdbg.exchanges.messages.capture_points import Bounds
from kdbg.exchanges.multipoint.flows import (
    AGREED,
    BEHIND,
    DRIFT,
    NEAR,
    OLD,
    SETTLED,
    ClockOffset,
    Conversation,
    Flow,
    Path,
)
from kdbg.exchanges.multipoint.merge import opener

FORTH = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + (50_000).to_bytes(2, "big") + (9092).to_bytes(2, "big")
BACK = bytes([10, 0, 0, 2, 10, 0, 0, 1]) + (9092).to_bytes(2, "big") + (50_000).to_bytes(2, "big")
WRAP = 1 << 32


def flow(*seen: tuple[int, int, int]) -> Flow:
    """A direction of which bytes were seen: place, sequence number and length, one nanosecond after the other."""
    found = Conversation(FORTH, BACK).flows[0]
    for number, (place, seq, length) in enumerate(seen, 1):
        see(found, number, place, seq, length)
    return found


def see(flow: Flow, number: int, place: int, seq: int, length: int) -> list[tuple[int, int]]:
    """Which of these bytes another place had seen before: from, to."""
    packet: Packet = (number, number * 10, FORTH, seq, 0, ACK, b"", length)
    return [(run.start - WRAP, run.end - WRAP) for run in flow.see(place, seq, length, packet, number)]


def shown(flow: Flow) -> list[tuple[int, int, dict[int, int], dict[int, int]]]:
    """Each run: from, to, and the packets by which each place saw its first byte, and its last."""
    assert [flow.starting[run.start] for run in flow.runs] == flow.runs
    assert all(mark[0] == mark[1] * 10 for run in flow.runs for mark in (*run.first.values(), *run.last.values()))
    assert all(run.flow is flow and run.emitted == -1 for run in flow.runs)
    return [
        (run.start - WRAP, run.end - WRAP, numbers(run.first), numbers(run.last)) for run in flow.runs
    ]  # fmt: skip


def numbers(marks: dict[int, tuple[int, int]]) -> dict[int, int]:
    return {place: number for place, (_, number) in marks.items()}


def test_who_opened_a_connection() -> None:
    def by(source: int, destination: int, flags: int = ACK) -> bool:
        return opener(bytes(8) + source.to_bytes(2, "big") + destination.to_bytes(2, "big"), flags)

    assert [by(1, 2, SYN), by(1, 2, SYN | ACK), by(2, 1, SYN), by(2, 1, SYN | ACK)] == [True, False, True, False]
    assert [by(50_000, 9092), by(9092, 50_000), by(9092, 9092), by(32_767, 32_768), by(32_768, 40_000)] == [
        True, False, True, False, True,
    ]  # fmt: skip
    assert by(9092, 0x1_00_00 - 1) is False
    assert by(0x0100, 0x0201) is False
    assert by(0x0201, 0x0100) is True


def test_sequence_numbers_do_not_wrap() -> None:
    found = flow()
    assert [found.place(0), found.place(WRAP - 1)] == [WRAP, 2 * WRAP - 1]
    found.due = WRAP + 5
    assert found.place(5) == WRAP + 5
    assert found.place(0) == WRAP
    assert found.place(WRAP - 1) == WRAP - 1
    found.due = 3 * WRAP - 2
    assert found.place(1) == 3 * WRAP + 1
    assert found.place(WRAP - 2 - BEHIND) == found.due - BEHIND
    assert found.place(WRAP - 3 - BEHIND) == found.due - BEHIND - 1 + WRAP
    found.due = 0
    assert found.place(7) == 7
    assert BEHIND == 1 << 30


def test_a_syn_begins_another_connection_where_its_number_is_another() -> None:
    found = flow()
    assert not found.is_new(5)
    found.origin = 5
    assert [found.is_new(5), found.is_new(6)] == [False, True]
    unseen = flow((0, 100, 10))
    assert [unseen.is_new(110 + NEAR), unseen.is_new(111 + NEAR)] == [False, True]
    assert [unseen.is_new((110 - NEAR) % WRAP), unseen.is_new((109 - NEAR) % WRAP)] == [False, True]
    unseen.origin, unseen.due = None, 0
    assert [unseen.is_new(NEAR), unseen.is_new(NEAR + 1)] == [False, True]
    assert NEAR == 1 << 24


def test_each_place_sees_the_same_bytes_in_its_own_packets() -> None:
    twice = flow((0, 100, 10), (0, 110, 10))
    assert [see(twice, 3, 1, 100, 10), see(twice, 4, 1, 110, 10)] == [[(100, 110)], [(110, 120)]]
    assert see(twice, 5, 1, 100, 20) == [], "seen here before"
    assert shown(twice) == [(100, 110, {0: 1, 1: 3}, {0: 1, 1: 3}), (110, 120, {0: 2, 1: 4}, {0: 2, 1: 4})]
    assert twice.due == WRAP + 120
    joined = flow((0, 100, 20))
    assert see(joined, 2, 1, 100, 10) == [(100, 110)]
    assert see(joined, 3, 1, 110, 10) == [(110, 120)]
    assert shown(joined) == [(100, 110, {0: 1, 1: 2}, {0: 1, 1: 2}), (110, 120, {0: 1, 1: 3}, {0: 1, 1: 3})]
    middle = flow((0, 100, 30))
    assert see(middle, 2, 1, 110, 10) == [(110, 120)]
    assert shown(middle) == [
        (100, 110, {0: 1}, {0: 1}), (110, 120, {0: 1, 1: 2}, {0: 1, 1: 2}), (120, 130, {0: 1}, {0: 1}),
    ]  # fmt: skip


def test_bytes_between_and_before_those_that_were_seen_are_new() -> None:
    late = flow((0, 100, 10), (0, 130, 10))
    assert see(late, 3, 0, 80, 10) == []
    assert see(late, 4, 1, 105, 40) == [(105, 110), (130, 140)]
    assert shown(late) == [
        (80, 90, {0: 3}, {0: 3}), (100, 105, {0: 1}, {0: 1}), (105, 110, {0: 1, 1: 4}, {0: 1, 1: 4}),
        (110, 130, {1: 4}, {1: 4}), (130, 140, {0: 2, 1: 4}, {0: 2, 1: 4}), (140, 145, {1: 4}, {1: 4}),
    ]  # fmt: skip
    assert late.due == WRAP + 145
    gap = flow((0, 100, 10), (0, 130, 10))
    assert see(gap, 3, 1, 112, 5) == []
    assert see(gap, 4, 1, 122, 12) == [(130, 134)]
    assert [one[:2] for one in shown(gap)] == [(100, 110), (112, 117), (122, 130), (130, 134), (134, 140)]
    assert gap.due == WRAP + 140
    again = flow((0, 100, 10), (1, 90, 10), (0, 90, 20))
    assert shown(again) == [(90, 100, {1: 2, 0: 3}, {1: 2, 0: 3}), (100, 110, {0: 1}, {0: 1})]


def test_a_run_that_was_told_is_not_cut() -> None:
    found = flow((0, 100, 30))
    found.runs[0].emitted = 0
    assert see(found, 2, 1, 110, 20) == [(100, 130)]
    [run] = found.runs
    assert (numbers(run.first), numbers(run.last)) == ({0: 1}, {0: 1, 1: 2})
    found = flow((0, 100, 30))
    found.runs[0].emitted = 1
    assert see(found, 2, 1, 100, 20) == [(100, 130)]
    assert (numbers(found.runs[0].first), numbers(found.runs[0].last)) == ({0: 1, 1: 2}, {0: 1})


def test_parts_have_the_times_of_the_ends_that_they_have() -> None:
    found = flow((0, 100, 30))
    run = found.runs[0]
    run.first, run.last, run.moment = {0: (10, 1), 1: (20, 2)}, {0: (30, 3)}, 9
    rest = run.split(WRAP + 110)
    assert (run.start - WRAP, run.end - WRAP, run.first, run.last) == (
        100, 110, {0: (10, 1), 1: (20, 2)}, {0: (10, 1), 1: (20, 2)},
    )  # fmt: skip
    assert (rest.start - WRAP, rest.end - WRAP, rest.first, rest.last, rest.moment, rest.emitted) == (
        110, 130, {0: (30, 3)}, {0: (30, 3)}, 9, -1,
    )  # fmt: skip


def test_runs_between_two_positions() -> None:
    found = flow((0, 100, 10), (0, 110, 10), (0, 130, 10))

    def between(start: int, end: int) -> list[int]:
        return [run.start - WRAP for run in found.between(WRAP + start, WRAP + end)]

    assert [between(100, 140), between(109, 111), between(110, 130), between(0, 100), between(0, 101)] == [
        [100, 110, 130], [100, 110], [110], [], [100],
    ]  # fmt: skip
    assert [between(120, 130), between(139, 999), between(140, 999), between(105, 106)] == [[], [130], [], [100]]
    assert flow().between(0, WRAP) == []


def test_runs_that_are_old_are_forgotten_where_there_are_many() -> None:
    def left(count: int, moment: int) -> list[int]:
        found = flow(*((0, 100 * number, 100) for number in range(count)))
        found.forget(moment)
        assert sorted(found.starting) == [run.start for run in found.runs]
        return [run.moment for run in found.runs]

    assert left(OLD, 999) == list(range(1, OLD + 1))
    assert left(OLD + 1, OLD) == list(range(1, OLD + 2))
    assert left(OLD + 1, OLD + 1) == [OLD + 1]
    assert left(OLD + 1, 999) == []
    assert left(OLD + 6, OLD + 3) == [OLD + 3, OLD + 4, OLD + 5, OLD + 6]
    assert OLD == 64


def test_nearer_is_the_place_from_which_messages_take_longer_there_and_back() -> None:
    path, clock = Path(), ClockOffset(7)
    seen = []
    for side, apart in ((0, 100), (1, 40), (0, 90), (1, 30), (0, 80), (1, 95), (1, 50)):
        path.learn(side, apart, 0, clock)
        seen.append((path.votes, clock.latest, clock.bounds))
    assert seen == [
        (0, 7, None), (1, 40, None), (1, 65, Bounds(40, 90)), (2, 65, Bounds(40, 90)), (2, 60, Bounds(40, 80)),
        (1, 60, Bounds(40, 80)), (1, 65, Bounds(50, 80)),
    ]  # fmt: skip
    other, clock = Path(), ClockOffset(7)
    for side, apart in ((0, 40), (1, 100), (0, 45), (1, 100)):
        other.learn(side, apart, 0, clock)
    assert (other.votes, clock.bounds) == (-2, Bounds(45, 100))


def test_a_run_votes_once() -> None:
    """One of two copies is lost at a place: the run of the other is seen much later there, or here."""
    path, clock = Path(), ClockOffset(7)
    for side, apart in ((0, 100), (1, 40), (0, -9_000), (1, 40), (1, 40), (1, 40)):
        path.learn(side, apart, 0, clock)
    assert path.votes == 0
    for side in (0, 1) * 3:
        path.learn(side, 100 if side == 0 else 40, 0, clock)
    assert (path.votes, clock.bounds) == (3, Bounds(40, 100))


def test_a_vote_says_more_than_clocks_drift() -> None:
    for there, back, time, votes in (
        (60, 40, 20 * DRIFT, 0), (60, 40, 20 * DRIFT - 1, 1), (40, 60, 20 * DRIFT - 1, -1), (40, 60, 20 * DRIFT, 0),
    ):  # fmt: skip
        for times in ((0, time), (time, 0), (time, 2 * time)):
            path, clock = Path(), ClockOffset(7)
            path.learn(0, there, times[0], clock)
            path.learn(1, back, times[1], clock)
            assert path.votes == votes
            assert (clock.latest == 7) == (votes == 0)


def test_once_votes_agree_there_are_few_more() -> None:
    for sign in (1, -1):
        path, clock = Path(), ClockOffset(0)
        for vote in range(1, AGREED + 1):
            path.learn(0, 100 * sign, 0, clock)
            path.learn(1, 0, 0, clock)
            assert path.votes == vote * sign
        for _ in range(SETTLED):
            path.learn(1, 1000 * sign, 0, clock)
        path.learn(0, 0, 0, clock)
        assert path.votes == AGREED * sign
        path.learn(1, 1000 * sign, 0, clock)
        assert path.votes == (AGREED - 1) * sign
        path.learn(1, -1000 * sign, 0, clock)
        path.learn(0, 0, 0, clock)
        assert path.votes == AGREED * sign
        path.learn(0, 0, 0, clock)
        path.learn(0, 0, 0, clock)
        assert path.votes == AGREED * sign
    assert (AGREED, SETTLED) == (8, 61)
