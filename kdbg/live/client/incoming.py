"""What a broker sends, cut into frames: bytes in as they come, frames out, with the times of their first and last."""

from __future__ import annotations

import struct
from typing import NamedTuple

_size = struct.Struct(">i").unpack_from


class Frame(NamedTuple):
    """A frame without its size; `times` are nanoseconds since the epoch."""

    data: bytes
    times: tuple[int, int]


class Incoming:
    """Feed it with `feed`, and `take` frames until there are none."""

    times: tuple[int, int]

    def __init__(self) -> None:
        self._data = bytearray()
        self._first = self._last = 0
        self.times = (0, 0)
        """When the first and the last byte came of what was taken latest (ns)."""

    def feed(self, data: bytes, time: int) -> None:
        """Add bytes that came at `time` (ns since the epoch)."""
        if not self._data:
            self._first = time
        self._last = time
        self._data += data

    @property
    def received(self) -> int:
        """How many bytes of the next frame are there, its size included; 0 between frames."""
        return len(self._data)

    @property
    def size(self) -> int | None:
        """What the next frame says its size is, the 4 bytes that say so not counted; None until they are there."""
        return int(_size(self._data)[0]) if len(self._data) >= 4 else None

    @property
    def head(self) -> bytes:
        """The first bytes that were not taken: enough to see what they are."""
        return bytes(self._data[:16])

    def take(self) -> Frame | None:
        """Take the next frame and return it without its size; None while it is incomplete."""
        size = self.size
        if size is None or size < 0 or len(self._data) < 4 + size:
            return None
        return Frame(self._cut(4 + size)[4:], self.times)

    def take_raw(self) -> bytes:
        """Take the next frame and return it with its size, or as many of its bytes as are there."""
        size = self.size
        return self._cut(4 + size if size is not None and size >= 0 else len(self._data))

    def _cut(self, end: int) -> bytes:
        """Take the first `end` bytes and set `times`; bytes behind them came with the last of them, or later."""
        data, self.times = bytes(self._data[:end]), (self._first, self._last)
        del self._data[:end]
        self._first = self._last
        return data
