"""The bytes of one direction in, the same bytes out: passed on as they come, or frame by frame where somebody asks.

What comes out, put together, is what went in. Only the front of a frame is waited for, and frames that are held whole.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import NamedTuple

from ..budget import MEMORY
from ..capture.write import Buffer

SIZE = struct.Struct(">i")
"""The size in front of a frame."""
MAX_FRAME = 128 << 20
"""Bytes of the longest frame that a broker may send or take by any setting that is in use; a longer one is none."""
MAX_HELD = 64 << 20
"""Bytes of the longest frame that is held whole, if --max-memory allows it; longer ones are passed on as they come."""
SHARE = 16
"""Part of --max-memory that one frame may take."""


class Decision(Enum):
    """What becomes of a frame, said by whoever has seen its front."""

    PASS = auto()
    HOLD = auto()
    MORE = auto()
    """Not to be said yet: more bytes of it are needed."""
    NO_FRAME = auto()
    """These are no frames; all bytes from here on are passed on."""


class FramePiece(NamedTuple):
    """Bytes of a direction: a part of a frame, or with `whole` one that was held, its size in front."""

    data: Buffer
    whole: bool = False


Judge = Callable[[int, bytes], Decision]
"""Decides on a frame, given its size and the front of it, without the four bytes that say the size."""
FRONT = 1 << 10
"""Bytes of a frame that a judge is shown at most; with so many, or all there are, it must not ask for more."""


class Frames:
    """One direction. `judge` is called for each frame until it decides; `lost` says that frames are no longer cut.

    Frames that are passed on come out together, as the bytes that went in, unless they are wanted `singly`.
    """

    lost: bool = False

    def __init__(self, judge: Judge, *, singly: bool = False) -> None:
        self._judge, self._singly = judge, singly
        self._rest = 0
        self._wanted = 4
        self._holding = False
        self._held = bytearray()

    @property
    def waiting(self) -> int:
        """Bytes that came and were not given out yet."""
        return len(self._held)

    @property
    def inside(self) -> bool:
        """Whether the last piece given out was a part of a frame whose end is still to come."""
        return self._rest > 0

    @property
    def holds(self) -> bool:
        """Whether a part of a frame is held until the rest has come."""
        return self._holding

    def feed(self, data: Buffer) -> Iterator[FramePiece]:
        """Yield what can be passed on now that these bytes came: views, of a view."""
        if self.lost or len(data) <= self._rest:
            self._rest -= len(data)
            yield FramePiece(data)
            return
        if self._held:
            self._held += data
            if len(self._held) < self._wanted:
                return
            data = bytes(self._held)
            self._held.clear()
        given, at, self._rest = 0, self._rest, 0
        if at and self._singly:
            yield FramePiece(data[:at])
            given = at
        while len(data) - at >= self._wanted:
            if self._holding:
                if at > given:
                    yield FramePiece(data[given:at])
                end = at + self._wanted
                self._wanted, self._holding = 4, False
                yield FramePiece(data[at:end], True)
                given = at = end
                continue
            size = int.from_bytes(data[at : at + 4], signed=True)
            decision = self._decide(size, data, at + 4)
            if decision is Decision.MORE:
                break
            if decision is Decision.NO_FRAME:
                self.lost = True
                at = len(data)
            elif decision is Decision.HOLD and size <= min(MAX_HELD, MEMORY.limit // SHARE):
                self._wanted, self._holding = 4 + size, True
            else:
                self._rest = max(at + 4 + size - len(data), 0)
                at = min(at + 4 + size, len(data))
                if self._singly:
                    yield FramePiece(data[given:at])
                    given = at
        if at > given:
            yield FramePiece(data[given:at])
        self._held += data[at:]

    def let_go(self) -> Iterator[FramePiece]:
        """Yield what has come of a frame that was to be held whole; its rest is passed on as it comes."""
        if self._holding:
            data = bytes(self._held)
            self._held.clear()
            self._rest, self._wanted, self._holding = self._wanted - len(data), 4, False
            yield FramePiece(data)

    def end(self) -> Iterator[FramePiece]:
        """Yield what was waited for in vain: no more bytes come."""
        if self._held:
            data = bytes(self._held)
            self._held.clear()
            yield FramePiece(data)

    def _decide(self, size: int, data: Buffer, start: int) -> Decision:
        if not 0 <= size <= MAX_FRAME:
            return Decision.NO_FRAME
        return self._judge(size, bytes(data[start : start + min(size, FRONT)]))
