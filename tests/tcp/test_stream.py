"""One direction: whatever order the segments come in, the bytes come out as they were sent, or the gap is told."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.tcp.stream import MASK, PATIENCE, Stream


class Gap(NamedTuple):
    length: int


class Recorder:
    """A receiver that keeps what it is told, joining pieces of data."""

    def __init__(self) -> None:
        self.events: list[bytes | Gap] = []
        self.calls: list[tuple[str, object, int, int]] = []
        self.ends: list[tuple[int, int]] = []

    def data(self, payload: bytes, time: int, number: int) -> None:
        assert payload
        assert not self.ends
        self.calls.append(("data", payload, time, number))
        if self.events and isinstance(self.events[-1], bytes):
            self.events[-1] += payload
        else:
            self.events.append(payload)

    def gap(self, length: int, time: int, number: int) -> None:
        assert length > 0
        assert not self.ends
        self.calls.append(("gap", length, time, number))
        if self.events and isinstance(self.events[-1], Gap):
            self.events[-1] = Gap(self.events[-1].length + length)
        else:
            self.events.append(Gap(length))

    def end(self, time: int, number: int) -> None:
        self.ends.append((time, number))


class Feeder:
    """A stream and its recorder; positions are counted from the first byte sent."""

    def __init__(self, first: int | None = 1000, origin: int = 1000, **limits: int) -> None:
        self.seen = Recorder()
        self.stream = Stream(self.seen, **limits)
        self.origin, self.number = origin, 0
        if first is not None:
            self.stream.start(first)

    def __call__(self, place: int, payload: bytes, length: int | None = None) -> list[bytes | Gap]:
        self.number += 1
        size = len(payload) if length is None else length
        self.stream.receive((self.origin + place) & MASK, payload, size, self.number * 10, self.number)
        return self.seen.events

    def finish(self, place: int) -> None:
        self.number += 1
        self.stream.finish((self.origin + place) & MASK, self.number * 10, self.number)

    def close(self) -> list[bytes | Gap]:
        self.stream.close(9990, 999)
        return self.seen.events


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


@pytest.mark.parametrize(
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
    assert feed.seen.ends == [(10, 1)]


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


# Properties. Contents are random and never zero, so that an invented byte would show.

CONTENT = st.binary(min_size=1, max_size=400).map(lambda data: bytes(byte or 1 for byte in data))
ORIGIN = st.one_of(st.integers(0, MASK), st.integers(-400, 400).map(lambda near: near & MASK))


def cut(content: bytes, choice: random.Random) -> list[tuple[int, bytes]]:
    """The content in segments of random size."""
    places = sorted({0, len(content), *(choice.randrange(len(content) + 1) for _ in range(choice.randrange(12)))})
    return [(start, content[start:end]) for start, end in pairwise(places)]


@settings(max_examples=200, deadline=None)
@given(content=CONTENT, origin=ORIGIN, choice=st.randoms(use_true_random=False))
def test_any_cut_shuffled_repeated_and_overlapped_gives_the_bytes(
    content: bytes, origin: int, choice: random.Random
) -> None:
    segments = cut(content, choice) + cut(content, choice)[: choice.randrange(6)]
    for _ in range(choice.randrange(6)):
        start = choice.randrange(len(content))
        segments.append((start, content[start : start + choice.randrange(1, 60)]))
    choice.shuffle(segments)
    feed = Feeder(origin, origin)
    for place, payload in segments:
        feed(place, payload)
    assert feed.seen.events == [content]
    assert feed.stream.regular
    feed.finish(len(content))
    assert len(feed.seen.ends) == 1


@settings(max_examples=200, deadline=None)
@given(content=CONTENT, origin=ORIGIN, choice=st.randoms(use_true_random=False), fin=st.booleans())
def test_one_lost_segment_is_one_gap_of_its_size(content: bytes, origin: int, choice: random.Random, fin: bool) -> None:
    segments = cut(content, choice)
    start, lost = segments.pop(choice.randrange(len(segments)))
    choice.shuffle(segments)
    feed = Feeder(origin, origin)
    if fin:
        feed.finish(len(content))
    for place, payload in segments:
        feed(place, payload)
    end = start + len(lost)
    expected = [content[:start], Gap(len(lost)), content[end:]]
    if end == len(content) and not fin:
        expected.pop(1)  # nothing tells of it
    assert feed.close() == [part for part in expected if part]
    assert len(feed.seen.ends) == 1


@settings(max_examples=200, deadline=None)
@given(content=CONTENT, origin=ORIGIN, choice=st.randoms(use_true_random=False))
def test_any_loss_and_any_snaplen_account_for_every_byte(content: bytes, origin: int, choice: random.Random) -> None:
    feed = Feeder(origin, origin, segments=choice.randrange(1, 5), size=choice.randrange(1, 100))
    segments = [segment for _ in range(2) for segment in cut(content, choice) if choice.random() < 0.7]
    choice.shuffle(segments)
    for place, payload in segments:
        feed(place, payload[: choice.randrange(len(payload) + 1)], len(payload))
        if choice.random() < 0.3:
            feed.stream.acknowledged((origin + choice.randrange(len(content))) & MASK, feed.number)
            feed.stream.overdue(feed.number + choice.randrange(2 * PATIENCE))
    feed.finish(len(content))
    place = 0
    for event in feed.close():
        if isinstance(event, Gap):
            place += event.length
        else:
            assert event == content[place : place + len(event)]
            place += len(event)
    assert place == len(content)
    assert len(feed.seen.ends) == 1


@settings(max_examples=100, deadline=None)
@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["receive", "finish", "acknowledged", "overdue", "start"]),
            st.one_of(st.integers(0, MASK), st.integers(0, 50)),
            st.binary(max_size=20),
            st.integers(0, 10),
        ),
        max_size=40,
    )
)
def test_any_nonsense_raises_nothing_and_ends_once(calls: list[tuple[str, int, bytes, int]]) -> None:
    feed = Feeder(first=None, segments=5, size=50)
    for number, (name, seq, payload, more) in enumerate(calls):
        match name:
            case "receive":
                feed.stream.receive(seq, payload, len(payload) + more, number, number)
            case "finish":
                feed.stream.finish(seq, number, number)
            case "start":
                feed.stream.start(seq)
            case _:
                getattr(feed.stream, name)(*([seq, number] if name == "acknowledged" else [number * 40]))
    feed.close()
    assert len(feed.seen.ends) == 1
