"""One direction: whatever order the segments come in, the bytes come out as they were sent, or the gap is told."""

from __future__ import annotations

import gc
import weakref

import pytest

from kdbg.streams.tcp.stream import MASK, PATIENCE, Stream

from ..cases import for_each
from .feeder import Feeder, Gap, Recorder


def test_bytes_in_order_pass_with_their_time_and_packet() -> None:
    feed = Feeder()
    feed(0, b"abc")
    feed(3, b"de")
    assert feed.seen.calls == [("data", b"abc", 10, 1), ("data", b"de", 20, 2)]
    assert feed.stream.regular


def test_a_swapped_pair_is_put_in_order_and_keeps_its_packets() -> None:
    feed = Feeder()
    assert feed(3, b"de") == []
    assert not feed.stream.regular
    assert feed(0, b"abc") == [b"abcde"]
    assert [call[3] for call in feed.seen.calls] == [2, 1]
    assert feed.stream.regular


@for_each(
    ("segments", "expected"),
    [
        ([(0, b"abc"), (0, b"abc"), (3, b"d")], [b"abcd"]),
        ([(0, b"abc"), (0, b"XYZde")], [b"abcde"]),
        ([(0, b"abc"), (1, b"Y"), (3, b"d")], [b"abcd"]),
        ([(2, b"cd"), (0, b"abXX"), (4, b"e")], [b"abcde"]),
        ([(4, b"e"), (1, b"bcdXf"), (0, b"a")], [b"abcdef"]),
        ([(2, b"c"), (6, b"g"), (0, b"abXdefXh")], [b"abcdefgh"]),
        ([(2, b"cdef"), (2, b"X"), (0, b"ab")], [b"abcdef"]),
        ([(2, b"c"), (2, b"Xdef"), (0, b"ab")], [b"abcdef"]),
        ([(2, b"cd"), (4, b"ef"), (3, b"XX"), (0, b"ab")], [b"abcdef"]),
        ([(4, b"e"), (2, b"cd"), (2, b"XXX"), (0, b"ab")], [b"abcde"]),
    ],
    ids=[
        "sent again", "sent again and more", "a part sent again", "overlaps what waits", "surrounds what waits",
        "surrounds two", "a shorter one over a longer", "a longer one over a shorter", "between neighbours", "over two",
    ],
)  # fmt: skip
def test_overlaps_are_resolved_for_the_bytes_seen_first(
    segments: list[tuple[int, bytes]], expected: list[bytes]
) -> None:
    feed = Feeder()
    for place, payload in segments:
        feed(place, payload)
    assert feed.seen.events == expected
    assert feed.stream.regular


@pytest.mark.parametrize("payload", [b"\0", b""])
def test_a_keep_alive_is_not_data(payload: bytes) -> None:
    feed = Feeder()
    feed(0, b"abc")
    feed(2, payload)
    assert feed(3, b"d") == [b"abcd"]


def test_a_keep_alive_before_the_first_byte_is_not_data() -> None:
    feed = Feeder()
    feed(-1, b"\0")
    assert feed(0, b"a") == [b"a"]


def test_a_window_probe_is_the_byte_it_carries() -> None:
    feed = Feeder()
    feed(0, b"abc")
    feed(3, b"d")
    feed(3, b"d")
    assert feed(3, b"def") == [b"abcdef"]


def test_sequence_numbers_wrap_around() -> None:
    origin = MASK - 2
    feed = Feeder(origin, origin)
    feed(0, b"ab")
    feed(4, b"ef")
    feed(2, b"cd")
    feed(1, b"bcdef")
    assert feed(6, b"gh") == [b"abcdefgh"]


def test_the_highest_sequence_number_is_in_order_where_it_is_due() -> None:
    feed = Feeder(MASK - 4, MASK - 4)
    assert feed(0, b"ab") == [b"ab"]
    assert feed(4, b"ef") == [b"ab"], "two bytes are still to come"
    assert feed(2, b"cd") == [b"abcdef"]


def test_more_bytes_than_sequence_numbers() -> None:
    feed = Feeder(0, 0)
    step = 1 << 20
    for start in range(0, (1 << 32) + 3 * step, step):
        feed.stream.receive(start & MASK, b"", step, 1, 1)  # cut to nothing by the snaplen
    assert feed.seen.events == [Gap((1 << 32) + 3 * step)]


def test_what_the_snaplen_cut_away_is_a_gap_at_once() -> None:
    feed = Feeder()
    assert feed(0, b"abc", 10) == [b"abc", Gap(7)]
    assert feed(10, b"d") == [b"abc", Gap(7), b"d"]
    assert feed.stream.regular


def test_a_cut_segment_that_waits_keeps_its_gap() -> None:
    feed = Feeder()
    feed(5, b"f", 5)
    feed(7, b"XXXkl")
    assert feed(0, b"abcde") == [b"abcdef", Gap(4), b"kl"]


def test_a_cut_segment_sent_again_with_more() -> None:
    feed = Feeder()
    feed(0, b"ab", 6)
    assert feed(0, b"abcd", 8) == [b"ab", Gap(6)]


def test_without_a_syn_the_first_data_begins_the_stream() -> None:
    feed = Feeder(first=None)
    feed(50, b"abc")
    feed(40, b"older")
    assert feed(53, b"d") == [b"abcd"]
    assert feed.stream.first == 1050
    assert not feed.stream.certain


def test_with_a_syn_later_data_waits_for_the_first() -> None:
    feed = Feeder()
    assert feed(3, b"d") == []
    assert feed(0, b"abc") == [b"abcd"]


def test_starting_again_changes_nothing() -> None:
    feed = Feeder()
    feed(0, b"abc")
    feed.stream.start(77)
    assert feed(3, b"d") == [b"abcd"]


def test_a_fin_ends_the_stream_once() -> None:
    feed = Feeder()
    feed(0, b"abc")
    feed.finish(3)
    feed.finish(3)
    feed(3, b"after")
    feed.close()
    assert feed.seen.events == [b"abc"]
    assert feed.seen.ends == [(20, 2)]


def test_a_fin_waits_for_the_bytes_before_it() -> None:
    feed = Feeder()
    feed.finish(3)
    assert feed.seen.ends == []
    feed(0, b"abcdef")
    assert feed.seen.events == [b"abc"]
    assert feed.seen.ends == [(10, 1)]


def test_what_waits_beyond_a_fin_is_dropped() -> None:
    feed = Feeder()
    feed(2, b"cd")
    feed(6, b"gh")
    feed.finish(3)
    feed(0, b"ab")
    assert feed.seen.events == [b"abc"]
    assert len(feed.seen.ends) == 1


def test_a_fin_far_behind_is_not_believed() -> None:
    feed = Feeder()
    feed(0, b"abc")
    feed.finish(1)
    assert feed(3, b"d") == [b"abcd"]
    assert feed.seen.ends == []


def test_a_fin_alone_ends_a_stream_that_never_began() -> None:
    feed = Feeder(first=None)
    feed.finish(0)
    assert feed.seen.ends == []
    assert feed.close() == []
    assert feed.seen.ends == [(10, 1)]


def test_a_fin_may_come_before_all_that_stands_before_it() -> None:
    feed = Feeder(first=None)
    feed.finish(4)
    assert feed(0, b"ab") == [b"ab"]
    assert feed.seen.ends == []
    assert feed(2, b"cd") == [b"abcd"]
    assert len(feed.seen.ends) == 1


def test_the_end_of_the_capture_gives_up_every_hole() -> None:
    feed = Feeder()
    feed(2, b"cd")
    feed(6, b"g")
    assert feed.close() == [Gap(2), b"cd", Gap(2), b"g"]
    assert feed.seen.ends == [(9990, 999)]
    assert [call[3] for call in feed.seen.calls] == [1, 1, 2, 2]


def test_the_end_of_the_capture_tells_what_a_fin_shows_missing() -> None:
    feed = Feeder()
    feed(0, b"ab")
    feed.finish(10)
    assert feed.close() == [b"ab", Gap(8)]
    assert len(feed.seen.ends) == 1


def test_an_acknowledged_hole_is_given_up_but_not_at_once() -> None:
    feed = Feeder()
    feed(2, b"cd")
    feed.stream.acknowledged(1004, 5)
    feed.stream.overdue(5 + PATIENCE - 1)
    assert feed.seen.events == []
    feed.stream.overdue(5 + PATIENCE)
    assert feed.seen.events == [Gap(2), b"cd"]
    assert feed.stream.regular


def test_a_hole_that_is_filled_in_time_is_no_gap() -> None:
    feed = Feeder()
    feed(2, b"cd")
    feed.stream.acknowledged(1004, 5)
    feed(0, b"ab")
    feed.stream.overdue(500)
    assert feed.seen.events == [b"abcd"]


def test_only_what_was_acknowledged_is_given_up() -> None:
    feed = Feeder()
    feed(2, b"cd")
    feed(6, b"gh")
    feed(10, b"k")
    feed.stream.acknowledged(1008, 1)
    feed.stream.overdue(1 + PATIENCE)
    assert feed.seen.events == [Gap(2), b"cd", Gap(2), b"gh"]
    assert not feed.stream.regular
    assert feed(8, b"ij") == [Gap(2), b"cd", Gap(2), b"ghijk"]


@pytest.mark.parametrize("ack", [900, 1000, 1001])
def test_an_acknowledgement_before_the_hole_ends_says_nothing(ack: int) -> None:
    feed = Feeder()
    feed(2, b"cd")
    feed.stream.acknowledged(ack, 1)
    feed.stream.overdue(10_000)
    assert feed.seen.events == []


def test_an_acknowledged_fin_gives_up_the_hole_before_it() -> None:
    feed = Feeder()
    feed.finish(4)
    feed.stream.acknowledged(1005, 1)
    feed.stream.overdue(1 + PATIENCE)
    assert feed.seen.events == [Gap(4)]
    assert len(feed.seen.ends) == 1


def test_too_many_segments_behind_a_hole_give_it_up() -> None:
    feed = Feeder(segments=3)
    for place in (2, 4, 6):
        feed(place, b"x")
    assert feed.seen.events == []
    assert feed(8, b"y") == [Gap(2), b"x"]
    assert feed(10, b"z") == [Gap(2), b"x", Gap(1), b"x"]


def test_too_many_bytes_behind_a_hole_give_it_up() -> None:
    feed = Feeder(size=10)
    feed(2, b"0123456789")
    assert feed.seen.events == []
    assert feed(12, b"a") == [Gap(2), b"0123456789a"]
    assert feed.stream.regular


def test_one_segment_larger_than_the_bound() -> None:
    feed = Feeder(size=4)
    assert feed(2, b"0123456789") == [Gap(2), b"0123456789"]


def test_a_great_loss_is_a_gap_and_not_the_past() -> None:
    feed = Feeder()
    feed(0, b"abc")
    feed(3_000_000_000, b"later")
    assert feed.close() == [b"abc", Gap(2_999_999_997), b"later"]


def test_an_ignored_stream_says_nothing_and_holds_nothing() -> None:
    feed = Feeder()
    feed(2, b"cd")
    feed.stream.ignore()
    feed(0, b"ab")
    feed.finish(4)
    feed.close()
    assert feed.seen.calls == []
    assert feed.seen.ends == []
    assert feed.stream.ended


@pytest.mark.parametrize("places", [(0, 2, 4), (2, 4, 0), (4, 2, 0)])
def test_a_receiver_may_ignore_the_stream_from_within(places: tuple[int, ...]) -> None:
    class Once(Recorder):
        def data(self, payload: bytes, time: int, number: int) -> None:
            super().data(payload, time, number)
            stream.ignore()

    seen = Once()
    stream = Stream(seen)
    stream.start(1000)
    for number, place in enumerate(places, 1):
        stream.receive(1000 + place, b"xy", 3, number, number)
    stream.close(9, 9)
    assert seen.events == [b"xy"]
    assert seen.ends == []


def test_a_stream_is_regular_from_its_start_to_its_end_and_says_what_comes_next() -> None:
    feed = Feeder(first=None)
    assert not feed.stream.regular
    feed.stream.start(MASK)
    assert feed.stream.regular
    assert (feed.stream.receiver, feed.stream.due & MASK) == (feed.seen, MASK)
    feed.stream.receive(MASK, b"abc", 3, 1, 1)
    assert (feed.stream.receiver, feed.stream.due & MASK) == (feed.seen, 2)
    feed.close()
    assert not feed.stream.regular


def test_an_ignored_stream_has_nothing_to_come() -> None:
    feed = Feeder()
    feed.stream.ignore()
    assert not feed.stream.regular


def test_an_ended_stream_frees_its_receiver() -> None:
    feed = Feeder()
    gone = weakref.ref(feed.seen)
    feed.finish(0)
    del feed.seen
    gc.collect()
    assert gone() is None
    assert feed.stream.ended


@pytest.mark.parametrize("off", [16 << 20, -(16 << 20), 5])
def test_a_number_within_16_mib_is_of_now(off: int) -> None:
    feed = Feeder(first=100 << 20)
    assert feed.stream.near((100 << 20) + off)


@pytest.mark.parametrize("off", [(16 << 20) + 1, -(16 << 20) - 1, 1 << 30])
def test_a_number_further_off_is_of_an_earlier_connection(off: int) -> None:
    feed = Feeder(first=100 << 20)
    assert not feed.stream.near((100 << 20) + off)


def test_an_acknowledgement_up_to_the_holes_end_gives_it_up() -> None:
    feed = Feeder()
    feed(2, b"cd")
    feed.stream.acknowledged(1002, 1)
    feed.stream.overdue(1 + PATIENCE)
    assert feed.seen.events == [Gap(2), b"cd"]


def test_a_fin_is_when_the_stream_ended_though_bytes_before_it_are_missing() -> None:
    feed = Feeder()
    feed.finish(10)
    assert feed.close() == [Gap(10)]
    assert feed.seen.ends == [(10, 1)]


def test_what_waits_and_is_sent_again_counts_once() -> None:
    feed = Feeder(segments=3)
    for _ in range(10):
        feed(2, b"x")
    assert feed.seen.events == []
    assert feed(0, b"ab") == [b"abx"]
