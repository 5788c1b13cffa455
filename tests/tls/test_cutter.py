"""Bytes of one direction are cut into records: in pieces, behind gaps, and where what follows is no record."""

from __future__ import annotations

from typing import Any

from kdbg.streams.tls.cutter import Cutter
from kdbg.streams.tls.record import Record

from .records import DATA, HANDSHAKE, record

ONE, TWO, THREE = record(HANDSHAKE, b"one"), record(DATA, b"the second", b"\3\1"), record(DATA, b"")


class Owner:
    """Takes notes of what it is given. `proven` are the bodies that it can prove."""

    def __init__(self, *proven: bytes) -> None:
        self.events: list[Any] = []
        self.proven, self.takes = proven, True

    def record(self, record: Record) -> bool:
        self.events.append((record.body, record.marks) if self.takes else "wait")
        return self.takes

    def broken(self, length: int, time: int, number: int) -> None:
        self.events.append(("broken", length, time, number))

    def proves(self, record: Record, passed: int) -> bool:
        self.events.append(("proves", record.body, passed, record.marks))
        return record.body in self.proven

    def lost(self, length: int, time: int, number: int) -> None:
        self.events.append(("lost", length, time, number))


def cutter(*proven: bytes) -> tuple[Cutter, list[Any]]:
    owner = Owner(*proven)
    return Cutter(owner), owner.events


def test_records_have_their_kind_and_version() -> None:
    found: list[Record] = []

    class Keeps(Owner):
        def record(self, record: Record) -> bool:
            found.append(record)
            return True

    Cutter(Keeps()).data(ONE + TWO + THREE, 7, 1)
    assert found == [
        Record(HANDSHAKE, b"\3\3", b"one", [(0, 7, 1)]),
        Record(DATA, b"\3\1", b"the second", [(-8, 7, 1)]),
        Record(DATA, b"\3\3", b"", [(-23, 7, 1)]),
    ]


def test_each_piece_of_a_record_is_known_by_its_packet() -> None:
    made, events = cutter()
    made.data(ONE + TWO[:3], 10, 1)
    assert made.held == 3
    made.data(TWO[3:7], 20, 2)
    made.data(TWO[7:], 30, 3)
    made.data(THREE[:5], 40, 4)
    assert events == [
        (b"one", [(0, 10, 1)]),
        (b"the second", [(-8, 10, 1), (3, 20, 2), (7, 30, 3)]),
        (b"", [(0, 40, 4)]),
    ]
    assert made.held == 0
    for size in range(1, 9):
        made, events = cutter()
        stream = ONE + TWO + THREE
        for place in range(0, len(stream), size):
            made.data(stream[place : place + size], place, place)
        assert [event[0] for event in events] == [b"one", b"the second", b""]
        for (_, marks), start in zip(events, (0, 8, 23), strict=True):
            assert marks[0][0] <= 0 < marks[0][0] + size
            assert [mark[0] + start for mark in marks] == [mark[1] for mark in marks], "each where its packet begins"


def test_a_record_that_must_wait_is_given_again() -> None:
    owner = Owner()
    made, events = Cutter(owner), owner.events
    owner.takes = False
    made.data(ONE, 10, 1)
    made.data(TWO, 20, 2)
    assert events == ["wait"]
    assert made.held == len(ONE + TWO)
    owner.takes = True
    made.go_on()
    assert events[1:] == [(b"one", [(0, 10, 1)]), (b"the second", [(0, 20, 2)])]
    made.data(ONE, 30, 3)
    assert events[3:] == [(b"one", [(0, 30, 3)])]


def test_bytes_that_are_missing_within_a_record_break_it_alone() -> None:
    for have in (5, 9, 14):
        for missing in range(1, len(TWO) - have + 1):
            made, events = cutter()
            made.data(ONE + TWO[:have], 10, 1)
            made.gap(missing, 20, 2)
            made.data(TWO[have + missing :] + THREE, 30, 3)
            assert events == [
                (b"one", [(0, 10, 1)]),
                ("broken", 10, 20, 2),
                (b"", [(0, 30, 3)]),
            ]
            assert made.held == 0


def test_a_broken_record_may_miss_more_bytes_later() -> None:
    made, events = cutter()
    made.data(TWO[:6], 10, 1)
    made.gap(2, 20, 2)
    made.data(TWO[8:10], 30, 3)
    made.gap(3, 40, 4)
    made.data(TWO[13:] + ONE, 50, 5)
    assert events == [("broken", 10, 20, 2), (b"one", [(0, 50, 5)])]
    made, events = cutter(b"one")
    made.data(TWO[:6], 10, 1)
    made.gap(2, 20, 2)
    made.gap(len(TWO) - 8 + 30, 30, 3)
    made.data(ONE, 40, 4)
    assert events[1:] == [("proves", b"one", 30, [(0, 40, 4)]), (b"one", [(0, 40, 4)])]


def test_behind_a_gap_the_next_record_is_the_one_that_proves_itself() -> None:
    made, events = cutter(b"one")
    made.data(ONE + TWO[:4], 10, 1)
    made.gap(100, 20, 2)
    made.data(b"no" + TWO + b"\x17\3" + ONE + THREE, 30, 3)
    assert events == [
        (b"one", [(0, 10, 1)]),
        ("proves", b"the second", 106, [(-2, 30, 3)]),
        ("proves", b"one", 123, [(-19, 30, 3)]),
        (b"one", [(-19, 30, 3)]),
        (b"", [(-27, 30, 3)]),
    ]


def test_a_gap_longer_than_the_record_is_one_behind_which_is_searched() -> None:
    made, events = cutter(b"one")
    made.data(TWO[:6], 10, 1)
    made.gap(len(TWO) - 6 + 1, 20, 2)
    made.data(ONE, 30, 3)
    assert events == [("proves", b"one", len(TWO) + 1, [(0, 30, 3)]), (b"one", [(0, 30, 3)])]


def test_a_place_that_may_begin_a_record_waits_for_its_end_and_is_given_up_at_the_next_gap() -> None:
    made, events = cutter(b"one")
    made.gap(10, 10, 1)
    made.data(b"...." + TWO[:9], 20, 2)
    assert (events, made.held) == ([], 9)
    made.gap(7, 30, 3)
    assert made.held == 0
    made.data(TWO[4:8] + ONE[:2], 40, 4)
    made.data(ONE[2:], 50, 5)
    assert events == [
        ("proves", b"one", 10 + 4 + 9 + 7 + 4, [(-4, 40, 4), (2, 50, 5)]),
        (b"one", [(-4, 40, 4), (2, 50, 5)]),
    ]


def test_behind_a_gap_a_record_may_come_in_pieces() -> None:
    for cut in range(1, len(TWO)):
        made, events = cutter(b"the second")
        made.gap(10, 10, 1)
        made.data(b"....." + TWO[:cut], 20, 2)
        made.data(TWO[cut:] + ONE, 30, 3)
        assert [event[:3] for event in events[:1]] == [("proves", b"the second", 15)], cut
        assert [event[0] for event in events[1:]] == [b"the second", b"one"]


def test_bytes_that_begin_no_record_are_not_held() -> None:
    made, events = cutter(b"one")
    made.gap(10, 10, 1)
    for byte in b"abcdefgh":
        made.data(bytes([byte]), 20, 2)
        assert made.held <= 5
    made.data(bytes(1000), 30, 3)
    assert made.held <= 5
    made.data(ONE, 40, 4)
    assert [event[:3] for event in events[:1]] == [("proves", b"one", 1018)]


def test_a_record_behind_one_that_is_not_proven_has_its_own_packets() -> None:
    made, events = cutter(b"one")
    made.gap(10, 10, 1)
    made.data(TWO[:8], 20, 2)
    made.data(TWO[8:10], 30, 3)
    made.data(TWO[10:] + ONE[:3], 40, 4)
    made.data(ONE[3:], 50, 5)
    assert events == [
        ("proves", b"the second", 10, [(0, 20, 2), (8, 30, 3), (10, 40, 4)]),
        ("proves", b"one", 25, [(-5, 40, 4), (3, 50, 5)]),
        (b"one", [(-5, 40, 4), (3, 50, 5)]),
    ]


def test_what_cannot_be_a_record_is_searched_for_the_next() -> None:
    for wrong in (b"\x13\3\3\0\1", b"\x18\3\3\0\1", b"\x17\2\3\0\1", b"\x17\3\5\0\1", b"\x17\3\3\x48\1"):
        made, events = cutter(b"one")
        made.data(wrong + ONE, 10, 1)
        assert events[-2:] == [("proves", b"one", 5, [(-5, 10, 1)]), (b"one", [(-5, 10, 1)])] or events[-1] == (
            b"one", [(0, 10, 1)]
        )  # fmt: skip
    made, events = cutter()
    body = bytes(18_432)
    made.data(record(DATA, body), 10, 1)
    assert events == [(body, [(0, 10, 1)])]
    made, events = cutter()
    made.data(record(DATA, body + b"?") + ONE, 10, 1)
    assert events == [("proves", b"one", 18_438, [(-18_438, 10, 1)])], "of more bytes there is none"


def test_what_is_left_at_the_end_is_lost() -> None:
    for data, missing, told in (
        (ONE, 0, []),
        (ONE + TWO[:4], 0, [("lost", 4, 90, 9)]),
        (TWO[:9], 0, [("lost", 9, 90, 9)]),
    ):
        made, events = cutter()
        made.data(data, 10, 1)
        made.end(90, 9)
        assert [event for event in events if event[0] == "lost"] == told
        assert made.held == missing
    made, events = cutter()
    made.gap(30, 10, 1)
    made.data(b"what is it" + TWO[:5], 20, 2)
    made.end(90, 9)
    assert events == [("lost", 45, 90, 9)]
    made, events = cutter(b"one")
    made.gap(30, 10, 1)
    made.data(b"\x17\3\3\0\x09" + ONE, 20, 2)
    assert events == []
    made.end(90, 9)
    assert events == [("proves", b"one", 35, [(-5, 20, 2)]), (b"one", [(-5, 20, 2)])]


def test_after_a_stop_it_begins_anew() -> None:
    made, events = cutter()
    made.data(TWO[:9], 10, 1)
    made.stop()
    assert made.held == 0
    made.data(ONE, 20, 2)
    made.end(30, 3)
    assert events == [(b"one", [(0, 20, 2)])]
