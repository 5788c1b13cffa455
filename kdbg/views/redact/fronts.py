"""What stays of frames that are no messages: as much of their beginnings as says where the next frame is due.

Where a frame is broken, it depends on its length, its API and its ids how many of the bytes behind it are passed over,
and whether the frames beside it prove themselves. These are numbers, and stay where they are small ones: never more
than three bytes in a row that could be text.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import NamedTuple

from .substitutes import blank

SIZE, IDS, CLIENT = 4, 8, 12
"""Where the parts of a front end, and a request's client id begins."""
LONGEST = 14
"""Bytes of a request up to its client id, with the length of that; a response has `IDS` alone."""
LARGEST = 0x07
"""The first byte of the largest size that is believed (`engine.search.MAX_FRAME`)."""
MOST = 1 << 62
"""More bytes than a stream has."""
SMALL = frozenset({0x00, 0xFF})
"""First bytes of small numbers."""


class Front(NamedTuple):
    """The position of a front, and the bytes that stand there afterwards."""

    start: int
    data: bytes


class Fronts:
    """Finds the fronts in one direction, whose bytes it is fed in order with the places of messages in them.

    In front of the first message there are none: there it is not even sure where a frame begins.

    `requests`: it is the client's; positions are those of the stream.
    """

    def __init__(self, *, requests: bool) -> None:
        self._requests = requests
        self._messages: list[tuple[int, int, int]] = []
        self._front = bytearray()
        self._due: int | None = None
        self._claimed = 0
        self._seen: int | None = None

    def message(self, start: int, end: int, missing: int) -> None:
        """Take note of a message with its size, of which so many bytes behind its end are missing."""
        insort(self._messages, (start, end, missing))

    def feed(self, start: int, data: bytes | bytearray) -> Iterator[Front]:
        """Take the next bytes, in which all messages that begin are known; yield what stays of them.

        Where bytes are missing in front of these, the next frame is due here, if no message claims more.
        """
        end = start + len(data)
        if start != self._seen:
            yield from self.close()
            self._due = max(start, self._claimed) if self._claimed else None
        self._seen = end
        while (stop := self._stop(end)) is not None and self._due is not None:
            begun, wanted = self._due + len(self._front), min(self._due + self._longest, stop)
            self._front += data[begun - start : min(wanted, end) - start]
            if wanted > end:
                return
            yield from self.close()

    def close(self) -> Iterator[Front]:
        """Yield what stays of the front at hand, of which no more comes."""
        front, due = bytes(self._front), self._due
        self._front.clear()
        self._due = None
        if due is None or len(front) < SIZE or front[0] > LARGEST:
            return
        self._due = due + SIZE + int.from_bytes(front[:SIZE])
        yield Front(due, self._written(front))

    def _stop(self, end: int) -> int | None:
        """Pass over messages where a frame is due; return where the next begins behind that, None where none is due.

        `end` is that of the bytes at hand, behind which nothing is known. If none is due, one is behind a message.
        """
        while self._messages and self._messages[0][0] < end:
            first, last, missing = self._messages[0]
            if self._due is not None and first > self._due:
                return first
            del self._messages[0]
            self._due, self._claimed = last, last + missing
        return None if self._due is None or self._due >= end else MOST

    @property
    def _longest(self) -> int:
        return LONGEST if self._requests else IDS

    def _written(self, front: bytes) -> bytes:
        """Return what stands in place of a front: numbers that are not small become other large ones."""
        ids = SIZE
        if self._requests:
            if len(front) < IDS or front[SIZE] or front[SIZE + 2]:
                return front[:SIZE]
            ids = IDS
        made, behind = bytearray(front), ids + 4
        is_small = len(front) >= behind and front[ids] in SMALL
        if not is_small:
            made[ids:behind] = blank(len(front[ids:behind]))
        if is_small and len(front) > CLIENT and front[CLIENT] not in (*SMALL, 1):
            made[CLIENT:] = blank(len(front) - CLIENT)
        return bytes(made)
