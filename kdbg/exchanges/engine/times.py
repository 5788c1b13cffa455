"""When the bytes of one direction came, and in which packets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

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
