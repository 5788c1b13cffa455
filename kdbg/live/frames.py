"""The bytes of one direction in, the same bytes out: passed on as they come, or frame by frame where somebody asks.

What comes out, put together, is what went in. Only the front of a frame is waited for, and frames that are held whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import NamedTuple

MAX_FRAME = 128 << 20
"""Bytes of the longest frame that a broker may send or take by any setting that is in use; a longer one is none."""
MAX_HELD = 64 << 20
"""Bytes of the longest frame that is held whole; longer ones are passed on as they come."""


class Decision(Enum):
    """What becomes of a frame, said by whoever has seen its front."""

    PASS = auto()
    HOLD = auto()
    MORE = auto()
    """Not to be said yet: more bytes of it are needed."""
    NO_FRAME = auto()
    """These are no frames; all bytes from here on are passed on."""


class Piece(NamedTuple):
    """Bytes of a direction: a part of a frame, or with `whole` one that was held, its size in front."""

    data: bytes
    whole: bool = False


Judge = Callable[[int, bytes], Decision]
"""Decides on a frame, given its size and the front of it, without the four bytes that say the size."""
FRONT = 1 << 10
"""Bytes of a frame that a judge is shown at most; with so many, or all there are, it must not ask for more."""


class Frames:
    """One direction. `judge` is called for each frame until it decides; `lost` says that frames are no longer cut."""

    lost: bool

    def __init__(self, judge: Judge) -> None:
        self.lost = False
        self._judge = judge
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

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Yield what can be passed on now that these bytes came."""
        if self.lost or len(data) <= self._rest:
            self._rest = max(self._rest - len(data), 0)
            yield Piece(data)
            return
        if self._rest:
            yield Piece(data[: self._rest])
            data, self._rest = data[self._rest :], 0
        self._held += data
        while len(self._held) >= self._wanted and not self.lost:
            piece = self._next()
            if piece is None:
                return
            yield piece

    def end(self) -> Iterator[Piece]:
        """Yield what was waited for in vain: no more bytes come."""
        if self._held:
            yield Piece(self._take(len(self._held)))

    def _next(self) -> Piece | None:
        """Return the next piece; None where more bytes are needed first."""
        if self._holding:
            whole, self._wanted, self._holding = Piece(self._take(self._wanted), True), 4, False
            return whole
        size = int.from_bytes(self._held[:4], signed=True)
        decision = self._decide(size)
        if decision is Decision.MORE:
            return None
        if decision is Decision.NO_FRAME:
            self.lost = True
            return Piece(self._take(len(self._held)))
        if decision is Decision.HOLD and size <= MAX_HELD:
            self._wanted, self._holding = 4 + size, True
            return self._next() if len(self._held) >= self._wanted else None
        passed = self._take(4 + size)
        self._rest = 4 + size - len(passed)
        return Piece(passed)

    def _decide(self, size: int) -> Decision:
        if not 0 <= size <= MAX_FRAME:
            return Decision.NO_FRAME
        return self._judge(size, bytes(self._held[4 : 4 + min(size, FRONT)]))

    def _take(self, length: int) -> bytes:
        data = bytes(self._held[:length])
        del self._held[:length]
        return data
