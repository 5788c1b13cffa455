"""When the bytes of one direction came, and in which packets."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from typing import Any, Final, Protocol, TypeAlias

NO_STARTS: Final = list[int]()
NO_PACKETS: Final = list[tuple[int, int]]()
"""Of a direction whose frames each came in a packet: there is nothing to remember."""


class Times:
    """Which packet brought which of the bytes at hand, so that any byte's time can be told."""

    __slots__ = ("_base", "_packets", "_starts")

    def __init__(self) -> None:
        self._base = 0
        self._starts: list[int] = NO_STARTS
        self._packets: list[tuple[int, int]] = NO_PACKETS

    def mark(self, place: int, time: int, number: int) -> None:
        """Take note that the bytes from this place on came in packet `number`, at `time` (ns)."""
        if not self._starts:
            self._starts, self._packets = [], []
        self._starts.append(self._base + place)
        self._packets.append((time, number))

    def of(self, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return ((first time, last time), (first packet, last packet)) of the bytes from start to end."""
        first = self._packets[max(bisect_right(self._starts, self._base + start) - 1, 0)]
        last = self._packets[max(bisect_left(self._starts, self._base + end) - 1, 0)]
        return (first[0], last[0]), (first[1], last[1])

    def drop(self, length: int) -> None:
        """Forget the first `length` bytes; their packets are kept until the next call, as they may be put back."""
        past = bisect_right(self._starts, self._base) - 1
        if past > 0:
            del self._starts[:past], self._packets[:past]
        self._base += length

    def put_back(self, length: int, packet: tuple[int, int] | None) -> tuple[int, int]:
        """Put so many bytes in front again; return the time and the number of the packet of the byte before them.

        `packet` is that of all of them and that byte, if it is one.
        """
        if packet is not None:
            old = bisect_left(self._starts, self._base)
            self._starts = [self._base - length - 1, *self._starts[old:]]
            self._packets = [packet, *self._packets[old:]]
        self._base -= length
        (_, time), (_, number) = self.of(-1, 0)
        return time, number


MAX_FRAME = (128 << 20) - 1
"""Larger than any frame that brokers and clients accept by default (100 MiB)."""
REFUSED = 100 << 20
"""The largest request that brokers take, if socket.request.max.bytes is not configured."""
WEAK_FRAME = 4 << 20
"""The largest frame that a search waits for where little more than a length speaks for it."""
HEADER = 16
"""Bytes at the end that a place is looked for in again: a frame's length and header may be cut there."""
MAX_PENDING = 256
"""Places that wait for their frames; beyond that those whose frames would be complete soonest are kept."""
Buffer: TypeAlias = bytes | bytearray
size_at: Final = struct.Struct(">i").unpack_from


class Seeker(Protocol):
    """Who knows what the frames that are searched for look like."""

    __slots__ = ()
    keep: int
    """Bytes at the end to hold on to, though nothing was found in them; at least `HEADER`."""

    def judge(self, data: Buffer, start: int, size: int) -> tuple[bool | None, Any]:
        """Return whether a frame of `size` bytes can begin at `start` (after its length), and a token for its owner.

        None instead of a bool: more bytes are needed.
        """

    def search(self, data: Buffer, start: int) -> int | None:
        """Return the first place at or after `start` where a length may stand, 4 bytes after it; None for none."""

    def prove(self, data: Buffer, start: int, end: int, final: bool = False) -> bool | None:
        """Return whether the complete frame at these bytes is one beyond doubt; None: what follows it will tell."""


NOTHING: Final = list[tuple[int, int]]()
"""What waits where there was no search yet."""


class Search:
    """`find` a frame that proves itself in bytes that only the caller holds, and tells about with `dropped`."""

    __slots__ = ("_pending", "looked", "seeker")

    def __init__(self, seeker: Seeker) -> None:
        self.seeker: Seeker = seeker
        self.looked: int = 0
        self._pending: list[tuple[int, int]] = NOTHING

    def start(self, place: int = 0) -> None:
        """Begin anew, at this place."""
        self.looked = place
        self._pending = NOTHING

    def again(self, data: Buffer) -> None:
        """Look again at the bytes that are kept at the end: the seeker knows more than it did."""
        self.looked = min(self.looked, max(len(data) - self.seeker.keep, 0))
        self._pending = [(place, end) for place, end in self._pending if place < self.looked]

    def find(self, data: Buffer, *, final: bool = False) -> int | None:
        """Return where the first frame that proves itself begins, else None; `final`: no more bytes follow."""
        earlier, self._pending = self._pending, []
        for place, end in earlier:
            if end > len(data) and not final:
                self._pending.append((place, end))
            elif self._proved(data, place, final):
                return place
        while (found := self.seeker.search(data, self.looked)) is not None:
            self.looked = found + 1
            if self._proved(data, found, final):
                return found
        self.looked = max(self.looked, len(data) - HEADER)
        return None

    @property
    def first(self) -> int:
        """The first place that may still prove itself."""
        return min((place for place, _ in self._pending), default=MAX_FRAME)

    def idle(self, data: Buffer) -> int:
        """Return how many bytes at the front need not be kept."""
        return max(0, min(self.first, len(data) - self.seeker.keep))

    def dropped(self, length: int) -> None:
        """Take note that the first `length` bytes were dropped: places are counted from the next one."""
        self.looked = max(self.looked - length, 0)
        self._pending = [(place - length, end - length) for place, end in self._pending if place >= length]

    def _proved(self, data: Buffer, place: int, final: bool) -> bool:
        """Return whether the frame at this place proves itself now; it becomes pending where that may come later."""
        start, size = place + 4, size_at(data, place)[0]
        end = start + size
        if end <= len(data):
            proved = self.seeker.prove(data, start, end, final)
            if proved is None and not final:
                self._await(place, len(data) + 1)
            return bool(proved)
        if not final and self.seeker.judge(data, start, size)[0] is not False:
            self._await(place, end)
        return False

    def _await(self, place: int, end: int) -> None:
        self._pending.append((place, end))
        if len(self._pending) > MAX_PENDING:
            soonest = sorted(self._pending, key=lambda pending: pending[1])
            self._pending = sorted(soonest[: MAX_PENDING // 2])
