"""Bytes of one direction in, frames out: cut anywhere, with holes, with lengths that lie, with rubbish in between."""

from __future__ import annotations

import random
import struct
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.exchanges.engine.framing import LONG
from kdbg.exchanges.engine.search import MAX_FRAME, Times
from kdbg.exchanges.messages.exchange import CapturedMessage

from ..cases import by_day, for_each
from .damage import FIRST_ID, Damaged, Line, damage, messages
from .playbook import request, response


def test_times_are_those_of_the_packets_that_brought_the_bytes() -> None:
    times = Times()
    for place, number in ((0, 1), (10, 2), (15, 3)):
        times.mark(place, number * 100, number)
    assert times.of(0, 10) == ((100, 100), (1, 1))
    assert times.of(9, 11) == ((100, 200), (1, 2))
    assert times.of(10, 15) == ((200, 200), (2, 2))
    assert times.of(0, 16) == ((100, 300), (1, 3))
    times.drop(12)
    assert times.of(0, 3) == ((200, 200), (2, 2))
    assert times.of(2, 4) == ((200, 300), (2, 3))
    times.drop(10)
    times.mark(0, 400, 4)
    assert times.of(0, 5) == ((400, 400), (4, 4))


# Segments


SHORT = st.text("abcdefgh", min_size=1, max_size=20)
CUTS = st.lists(st.integers(0, 9999), max_size=20)
BODIES = st.one_of(
    st.builds(lambda name, n: ("Metadata", 1, {"topics": [{"name": name}] * n}), SHORT, st.integers(0, 9)),
    st.builds(lambda group: ("Heartbeat", 0, {"group_id": group, "member_id": group * 3}), SHORT),
    st.builds(lambda name: ("ApiVersions", 3, {"client_software_name": name}), SHORT),
    st.just(("ListGroups", 0, {})),
)  # fmt: skip


def cut_at(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % len(data) for cut in cuts} | {0, len(data)}) if data else [0, 0]
    return [data[start:end] for start, end in pairwise(places)]


@given(
    st.lists(BODIES, min_size=1, max_size=12),
    st.lists(st.integers(0, 9999), max_size=20),
    st.lists(st.integers(0, 9999), max_size=20),
    st.integers(-(2**31), 2**31 - 1),
)
def test_any_segmentation_gives_the_same_exchanges(
    bodies: list[Any], forth: list[int], back: list[int], first: int
) -> None:
    ids = [(first + n + 2**31) % 2**32 - 2**31 for n in range(len(bodies))]
    asked = [request(cid, api, version, **body) for cid, (api, version, body) in zip(ids, bodies, strict=True)]
    told = [response(cid, api, version) for cid, (api, version, _) in zip(ids, bodies, strict=True)]
    line = Line()
    line.feed(True, *cut_at(b"".join(asked), forth))
    line.feed(False, *cut_at(b"".join(told), back)).end()
    assert [e.correlation_id for e in line.exchanges] == ids
    check_halves([e.request for e in line.exchanges], asked, cut_at(b"".join(asked), forth), 0)
    before = len(cut_at(b"".join(asked), forth))
    check_halves([e.response for e in line.exchanges], told, cut_at(b"".join(told), back), before)
    assert not any(e.findings for e in line.exchanges)


def check_halves(halves: list[CapturedMessage | None], frames: list[bytes], pieces: list[bytes], before: int) -> None:
    """The halves are these frames, with the packets that brought their first and last bytes."""
    packet_of = [before + n for n, piece in enumerate(pieces, 1) for _ in piece]
    place = 0
    for half, frame in zip(halves, frames, strict=True):
        assert half is not None
        assert half.data == frame[4:]
        first, last = packet_of[place], packet_of[place + len(frame) - 1]
        assert (half.first_packet, half.last_packet) == (first, last)
        assert (half.first_time, half.last_time) == (first * 10, last * 10)
        place += len(frame)


def test_byte_by_byte() -> None:
    asked, told = request(5) + request(6), response(5) + response(6)
    line = Line()
    line.feed(True, *(asked[n : n + 1] for n in range(len(asked))))
    line.feed(False, *(told[n : n + 1] for n in range(len(told)))).end()
    assert line.ids == [(5, True, True), (6, True, True)]


# Damage


SEEDS = st.integers(0, 2**32)
DAMAGE = (SEEDS, st.integers(1, 4), st.sampled_from([1, 20, 200, 1448]))


@settings(max_examples=150)
@given(*DAMAGE)
def test_requests_outside_the_damage_are_found_and_every_byte_is_accounted_for(
    seed: int, times: int, most: int
) -> None:
    rng = random.Random(seed)
    asked = messages(rng, 20)
    stream = Damaged([request(FIRST_ID + n, api, version, **body) for n, (api, version, body, _) in enumerate(asked)])
    damage(stream, rng, times)
    line = Line()
    line.feed(True, *stream.pieces(rng, most)).end()
    stream.check(line.requests.events)


@settings(max_examples=150)
@given(*DAMAGE)
def test_responses_outside_the_damage_are_found_and_every_byte_is_accounted_for(
    seed: int, times: int, most: int
) -> None:
    rng = random.Random(seed)
    both = messages(rng, 20)
    line = Line()
    for n, (api, version, body, _) in enumerate(both):
        line.feed(True, request(FIRST_ID + n, api, version, **body))
    stream = Damaged([response(FIRST_ID + n, api, version, **body) for n, (api, version, _, body) in enumerate(both)])
    damage(stream, rng, times)
    line.feed(False, *stream.pieces(rng, most)).end()
    stream.check(line.responses.events)
    answered = {e.correlation_id - FIRST_ID for e in line.exchanges if e.request is not None and e.response is not None}
    assert answered >= set(range(20)) - stream.hurt
    assert len(line.exchanges) == 20, "one exchange for each request, and none besides"


@pytest.mark.parametrize("forth", [True, False], ids=["requests", "responses"])
@pytest.mark.parametrize("claimed", [-1, -(2**31), 2**31 - 1, MAX_FRAME + 1, 100_000_000, 300_000, 300, 3, 0])
def test_a_length_that_lies_harms_one_frame(forth: bool, claimed: int, cut: int) -> None:
    both = messages(random.Random(claimed), 12)
    asked = [request(FIRST_ID + n, api, version, **body) for n, (api, version, body, _) in enumerate(both)]
    told = [response(FIRST_ID + n, api, version, **body) for n, (api, version, _, body) in enumerate(both)]
    (asked if forth else told)[4] = struct.pack(">i", claimed) + (asked if forth else told)[4][4:]
    line = Line()
    for stream, way in ((asked, True), (told, False)):
        data = b"".join(stream)
        line.feed(way, *(data[n : n + cut] for n in range(0, len(data), cut)))
    line.end()
    whole = {cid - FIRST_ID for cid, asked_for, answered in line.ids if asked_for and answered}
    assert whole >= set(range(12)) - {4}
    assert {cid - FIRST_ID for cid, _, _ in line.ids} <= set(range(12)), "invented"


def test_a_frame_that_claims_too_much_is_cut_down_to_its_message() -> None:
    first = request(FIRST_ID)
    line = Line().feed(True, struct.pack(">i", 40_000) + first[4:] + request(FIRST_ID + 1), request(FIRST_ID + 2)).end()
    assert [e.correlation_id - FIRST_ID for e in line.exchanges] == [0, 1, 2]
    assert line.exchanges[0].request is not None
    assert line.exchanges[0].request.data == first[4:]
    kinds = [finding.kind for e in line.exchanges for finding in e.findings]
    assert kinds == ["invalid-length", "no-response", "no-response", "no-response"]


def test_a_hole_in_a_frame_needs_no_search() -> None:
    long = request(FIRST_ID, topics=[{"name": "t" * 50}] * 40)
    line = Line().feed(True, long[:1000], 500, long[1500:] + request(FIRST_ID + 1)).end()
    broken, whole = line.requests.events
    assert isinstance(broken, CapturedMessage)
    assert isinstance(whole, CapturedMessage)
    assert (broken.data, broken.missing, broken.size) == (long[4:1000], len(long) - 1000, len(long))
    assert whole.data == request(FIRST_ID + 1)[4:]


def test_two_holes_in_a_frame() -> None:
    long = request(FIRST_ID, topics=[{"name": "t" * 50}] * 40)
    line = Line().feed(True, long[:1000], 100, long[1100:1500], 100, long[1600:], request(FIRST_ID + 1)).end()
    assert [event.size for event in line.requests.events if isinstance(event, CapturedMessage)] == [
        len(long),
        len(request(1)),
    ]


def test_a_hole_beyond_the_frame_needs_a_search() -> None:
    frames = [request(FIRST_ID + n) for n in range(4)]
    size = len(frames[0])
    line = Line().feed(True, frames[0] + frames[1][:20], size, frames[2][20:] + frames[3]).end()
    assert [e.correlation_id - FIRST_ID for e in line.exchanges] == [0, 1, 3]
    assert [e.missing for e in line.requests.events if isinstance(e, CapturedMessage)] == [0, size - 20, 0]
    assert [e for e in line.requests.events if isinstance(e, int)] == [size - 20]


def test_a_hole_between_frames_needs_a_search() -> None:
    line = Line().feed(True, request(FIRST_ID), 77, b"\0\0\0\1" * 9 + request(FIRST_ID + 1)).end()
    assert [event if isinstance(event, int) else event.missing for event in line.requests.events] == [0, 36, 0]


@pytest.mark.parametrize("headroom", [60, 96])
def test_frames_cut_by_the_snaplen_keep_in_step(headroom: int) -> None:
    """Every packet lacks its end; the lengths tell where the next message is."""
    asked = [request(FIRST_ID + n, topics=[{"name": "topic"}] * 30) for n in range(5)]
    told = [
        response(FIRST_ID + n, brokers=[{"node_id": 1, "host": "h" * 90, "port": 1, "rack": None}]) for n in range(5)
    ]
    line = Line()
    for question, answer in zip(asked, told, strict=True):
        line.feed(True, question[:headroom], len(question) - headroom)
        line.feed(False, answer[:headroom], len(answer) - headroom)
    assert line.end().ids == [(FIRST_ID + n, True, True) for n in range(5)]
    assert all(e.request is not None and e.request.size == len(asked[0]) for e in line.exchanges)


def test_a_response_behind_a_hole_that_came_before_its_request_is_found() -> None:
    """Where it was searched for in vain, it is searched for again once its request is known."""
    line = Line().feed(True, request(FIRST_ID)).feed(False, 1000, b"rubbish" + response(FIRST_ID + 1))
    line.feed(True, request(FIRST_ID + 1)).end()
    assert line.ids == [(FIRST_ID, True, False), (FIRST_ID + 1, True, True)]


@pytest.mark.parametrize("ended", [True, False], ids=["at the end", "before another hole"])
def test_an_odd_frame_that_nothing_follows_is_found_behind_a_hole(ended: bool) -> None:
    """A byte too long, it would need the next one to speak for it."""
    odd = request(FIRST_ID + 1)[4:] + b"x"
    line = Line().feed(True, request(FIRST_ID), 77, b"\xff" * 30 + struct.pack(">i", len(odd)) + odd)
    if not ended:
        line.feed(True, 50)
    assert line.end().ids == [(FIRST_ID, True, False), (FIRST_ID + 1, True, False)]


def test_frames_cut_by_the_snaplen_are_found_again_after_a_hole() -> None:
    """No frame can prove itself where all are cut; one that stands right behind a hole is believed by its header."""
    asked = [request(FIRST_ID + n, topics=[{"name": "topic"}] * 30) for n in range(5)]
    size = len(asked[0])
    line = Line()
    line.feed(True, asked[0][:60], size - 60, size, asked[2][:60], size - 60, asked[3][:60], size - 60).end()
    assert [e.correlation_id - FIRST_ID for e in line.exchanges] == [0, 2, 3]


def test_a_stream_that_starts_midway_finds_its_feet() -> None:
    frames = [request(FIRST_ID + n) for n in range(3)]
    line = Line(synced=False).feed(True, frames[0][17:] + frames[1] + frames[2]).end()
    assert [e.correlation_id - FIRST_ID for e in line.exchanges] == [1, 2]
    assert line.requests.events[0] == len(frames[0]) - 17


def test_what_is_left_over_is_not_given_back_unless_a_frame_begins_in_it() -> None:
    """librdkafka's Metadata request for all topics is three bytes too long."""
    odd = request(FIRST_ID, topics=None)
    odd = struct.pack(">i", len(odd) - 1) + odd[4:] + b"\1\0\0"
    line = Line().feed(True, odd, b"\xff" * 40 + request(FIRST_ID + 1)).end()
    assert [event if isinstance(event, int) else len(event.data) for event in line.requests.events] == [
        len(odd) - 4, 40, len(request(1)) - 4,
    ]  # fmt: skip


@for_each(
    "rubbish",
    by_day(
        [bytes(4096), bytes(range(256)) * 16, (b"\0\0\1\0" * 16 + b"\xff" * 960) * 4, b"POST / HTTP/1.1\r\n" * 200], 2
    ),
)
@for_each("forth", [True, False], ids=["requests", "responses"])
def test_rubbish_takes_neither_memory_nor_exchanges(rubbish: bytes, forth: bool) -> None:
    line = Line().feed(True, request(3), request(4)).feed(forth, 1000)
    tracemalloc.start()
    try:
        for _ in range(2000):
            line.feed(forth, rubbish)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 6 << 20, "8 MB of rubbish came"
    line.feed(forth, request(5) if forth else response(3) + response(4)).end()
    assert [e.correlation_id for e in line.exchanges] == [3, 4, *([5] if forth else [])]
    skipped = [event for event in line.requests.events + line.responses.events if isinstance(event, int)]
    assert skipped == [2000 * len(rubbish)]


def test_a_frame_without_end_is_held_no_longer_than_the_largest_frame() -> None:
    """A false length of 127 MB with nothing readable behind it: its rest is waited for, once."""
    head = struct.pack(">i", MAX_FRAME) + request(FIRST_ID)[4:30]
    line = Line().feed(True, head, *(bytes(1 << 20) for _ in range(8)))
    assert not line.exchanges
    line.end()
    assert [e.request.size for e in line.exchanges if e.request is not None] == [MAX_FRAME + 4]


def test_a_long_message_that_claims_too_much_is_cut_down_too() -> None:
    long = request(FIRST_ID, topics=[{"name": "t" * 250}] * 3500)
    assert len(long) > 800_000
    line = Line().feed(True, struct.pack(">i", 100_000_000) + long[4:] + request(FIRST_ID + 1)).end()
    assert [e.request.data for e in line.exchanges if e.request is not None] == [long[4:], request(FIRST_ID + 1)[4:]]


def test_a_long_frame_is_looked_into_before_it_is_complete() -> None:
    """Its message ends early and others follow: they need not wait for 100 MB."""
    lie = struct.pack(">i", 100_000_000) + request(FIRST_ID)[4:]
    silent = b"".join(request(FIRST_ID + n, acks=0, api="Produce", version=3) for n in range(1, 4))
    line = Line().feed(True, lie + silent[:20], silent[20:])
    assert not line.exchanges
    count = LONG // len(request(FIRST_ID)) + 1
    line.feed(True, b"".join(request(FIRST_ID + 4 + n) for n in range(count)))
    assert [e.correlation_id - FIRST_ID for e in line.exchanges] == [1, 2, 3]
    assert len(line.pairing.in_flight) == count + 1


def test_a_packet_that_begins_with_a_frame_ends_one_that_claims_more() -> None:
    """Its message is whole, and the next packet begins with the next one: nothing is waited for."""
    lie = struct.pack(">i", 5_000) + request(FIRST_ID)[4:]
    line = Line().feed(True, lie, request(FIRST_ID + 1, acks=0, api="Produce", version=3))
    assert [e.correlation_id - FIRST_ID for e in line.exchanges] == [1]
    assert len(line.pairing.in_flight) == 1


def test_two_packets_that_begin_with_frames_end_one_that_claims_more_and_cannot_be_read() -> None:
    lie = struct.pack(">i", 5_000) + request(FIRST_ID)[4:-10] + b"\x7f" * 10
    silent = [request(FIRST_ID + n, acks=0, api="Produce", version=3) for n in (1, 2)]
    line = Line().feed(True, lie, silent[0])
    assert not line.exchanges, "it may hold a request"
    line.feed(True, silent[1])
    assert [e.correlation_id - FIRST_ID for e in line.exchanges] == [1, 2]


def test_a_response_that_claims_too_much_ends_where_the_next_one_begins() -> None:
    lie = struct.pack(">i", 5_000) + response(FIRST_ID)[4:]
    line = Line().feed(True, request(FIRST_ID), request(FIRST_ID + 1)).feed(False, lie)
    assert not line.exchanges
    line.feed(False, response(FIRST_ID + 1))
    assert line.ids == [(FIRST_ID, True, True), (FIRST_ID + 1, True, True)]


def test_a_message_may_hold_what_looks_like_a_frame_at_the_start_of_a_packet() -> None:
    """A token that is a request of the same client: it is read as what it is."""
    inner = request(FIRST_ID + 9)
    long = request(FIRST_ID, "SaslAuthenticate", 1, auth_bytes=inner + bytes(9))
    place = long.index(inner)
    line = Line().feed(True, request(FIRST_ID - 1), long[:place], long[place:], request(FIRST_ID + 1)).end()
    assert [e.correlation_id - FIRST_ID for e in line.exchanges] == [-1, 0, 1]
    assert line.requests.events[1].data == long[4:]  # type: ignore[union-attr]
