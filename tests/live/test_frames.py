"""Whatever is asked of frames, and however the bytes come: what goes out is what came in."""

from __future__ import annotations

import struct
from itertools import accumulate, cycle

from hypothesis import example, given
from hypothesis import strategies as st

from kdbg.live.frames import MAX_FRAME, Decision, FramePiece, Frames


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


BODIES = st.lists(st.binary(max_size=40) | st.integers(0, 5000).map(bytes), max_size=8)
DECISIONS = st.lists(st.sampled_from([Decision.PASS, Decision.HOLD]), min_size=8, max_size=8)
STEPS = st.lists(st.tuples(st.integers(1, 3000), st.booleans()), min_size=1)
"""How many bytes come, and whether what is held is let go then."""


class Model:
    """What becomes of frames whose bytes are all known, by what is decided on each once so many bytes have come."""

    def __init__(self, bodies: list[bytes], decisions: list[Decision], needed: int) -> None:
        self.bodies, self.decisions, self.needed = bodies, decisions, needed
        self.starts = [0, *accumulate(4 + len(body) for body in bodies)]

    def after(self, come: int) -> tuple[int, bool, bool]:
        """How many bytes wait, whether of a frame that is held, and whether one was passed on in part."""
        for body, decision, start in zip(self.bodies, self.decisions, self.starts, strict=False):
            here = come - start
            if here < 4 + min(len(body), self.needed):
                return here, False, False
            if here < 4 + len(body):
                return (here, True, False) if decision is Decision.HOLD else (0, False, True)
        return come - self.starts[-1], False, False


@example([b"", b"", b"ab", b""], b"", [Decision.HOLD, Decision.PASS] * 4, [(1, False), (4, True)], 0, False)
@example([b"ab", b"", b""], b"", [Decision.HOLD] * 8, [(6, False), (4, False), (3, True)], 0, True)
@given(BODIES, st.binary(max_size=3), DECISIONS, STEPS, st.integers(0, 20), st.booleans())
def test_what_goes_out_is_what_came_in(
    bodies: list[bytes],
    rest: bytes,
    decisions: list[Decision],
    steps: list[tuple[int, bool]],
    needed: int,
    singly: bool,
) -> None:
    """As soon as it is decided on, or let go; each frame by itself where that is wanted."""
    decisions = decisions[:]
    model, seen, pieces = Model(bodies, decisions, needed), list[int](), list[FramePiece]()

    def judge(size: int, front: bytes) -> Decision:
        if len(front) < min(size, needed):
            return Decision.MORE
        seen.append(size)
        return decisions[len(seen) - 1]

    frames, stream, come = Frames(judge, singly=singly), b"".join(map(frame, bodies)) + rest, 0
    for size, lets_go in cycle(steps):
        pieces += frames.feed(stream[come : come + size])
        come = min(come + size, len(stream))
        assert (frames.waiting, frames.holds, frames.inside) == model.after(come)
        if lets_go and frames.holds:
            decisions[len(seen) - 1] = Decision.PASS
        if lets_go:
            pieces += frames.let_go()
            assert (frames.waiting, frames.holds, frames.inside) == model.after(come)
        if come == len(stream):
            break
    pieces += frames.end()
    assert b"".join(piece.data for piece in pieces) == stream
    assert seen == [len(body) for body in bodies]
    held = [body for body, decision in zip(bodies, decisions, strict=False) if decision is Decision.HOLD]
    assert [piece.data[4:] for piece in pieces if piece.whole] == held
    ends = set(accumulate(len(piece.data) for piece in pieces))
    assert not singly or ends >= set(model.starts[1:])


def test_a_frame_is_passed_on_before_its_end_has_come() -> None:
    frames = Frames(lambda size, front: Decision.PASS)
    assert list(frames.feed(struct.pack(">i", 10) + b"ab")) == [FramePiece(struct.pack(">i", 10) + b"ab")]
    assert frames.inside
    assert list(frames.feed(b"cdefghij")) == [FramePiece(b"cdefghij")]
    assert not frames.inside


def test_what_is_no_frame_is_passed_on_from_there_on() -> None:
    def judge(size: int, front: bytes) -> Decision:
        raise AssertionError("no judge is asked")

    for wrong in (-1, MAX_FRAME + 1):
        frames = Frames(judge)
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
    assert shown == [1024]
