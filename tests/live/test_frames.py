"""Whatever is asked of frames, and however the bytes come: what goes out is what came in."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from kdbg.live.frames import FRONT, MAX_FRAME, Decision, FramePiece, Frames


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


BODIES = st.lists(st.binary(max_size=40) | st.integers(0, 5000).map(bytes), max_size=8)


@given(BODIES, st.binary(max_size=6), st.lists(st.integers(1, 3000), min_size=1), st.data())
def test_what_goes_out_is_what_came_in(bodies: list[bytes], rest: bytes, sizes: list[int], data: st.DataObject) -> None:
    decisions = [data.draw(st.sampled_from([Decision.PASS, Decision.HOLD])) for _ in bodies]
    needed = data.draw(st.integers(0, 20))
    seen: list[int] = []

    def judge(size: int, front: bytes) -> Decision:
        if len(front) < min(size, needed):
            return Decision.MORE
        seen.append(size)
        return decisions[len(seen) - 1] if len(seen) <= len(bodies) else Decision.PASS

    frames, stream, pieces = Frames(judge), b"".join(map(frame, bodies)) + rest, list[FramePiece]()
    place, turn = 0, 0
    while place < len(stream):
        size = sizes[turn % len(sizes)]
        pieces += frames.feed(stream[place : place + size])
        place, turn = place + size, turn + 1
    pieces += frames.end()
    assert b"".join(piece.data for piece in pieces) == stream
    assert seen[: len(bodies)] == [len(body) for body in bodies]
    held = [body for body, decision in zip(bodies, decisions, strict=True) if decision is Decision.HOLD]
    assert [piece.data[4:] for piece in pieces if piece.whole] == held


def test_a_frame_is_passed_on_before_its_end_has_come() -> None:
    frames = Frames(lambda size, front: Decision.PASS)
    assert list(frames.feed(struct.pack(">i", 10) + b"ab")) == [FramePiece(struct.pack(">i", 10) + b"ab")]
    assert frames.inside
    assert list(frames.feed(b"cdefghij")) == [FramePiece(b"cdefghij")]
    assert not frames.inside


def test_what_is_no_frame_is_passed_on_from_there_on() -> None:
    frames = Frames(lambda size, front: Decision.PASS)
    for wrong in (-1, MAX_FRAME + 1):
        frames = Frames(lambda size, front: Decision.PASS)
        data = struct.pack(">i", wrong) + b"GET / HTTP/1.1"
        assert list(frames.feed(data)) == [FramePiece(data)]
        assert frames.lost
        assert list(frames.feed(b"more")) == [FramePiece(b"more")]


def test_a_judge_is_shown_no_more_than_the_front() -> None:
    shown = list[int]()

    def judge(size: int, front: bytes) -> Decision:
        shown.append(len(front))
        return Decision.HOLD

    frames = Frames(judge)
    assert [piece.whole for piece in frames.feed(frame(bytes(9000)))] == [True]
    assert shown == [FRONT]
