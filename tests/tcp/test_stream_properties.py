"""Any cut, order, overlap and loss of one direction: every byte comes out once, or its gap is told."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.streams.tcp.stream import MASK, PATIENCE

from .feeder import Feeder, Gap

# Contents are random and never zero, so that an invented byte would show.
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
