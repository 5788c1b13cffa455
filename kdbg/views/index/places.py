"""Where the bytes of messages are in a capture, by the packets that they came in."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...capture import Capture
from ...exchanges.messages.exchange import CapturedMessage
from .layout import NO_HALF, PIECES, Unfit

if TYPE_CHECKING:
    from ...capture.pcap import RawPacket

BATCHES, MOST = 4, 256
"""Batches of packets that are kept: few, as memory that is in use already costs less. Earlier ones are read again, but
a message of packets in more of them has no place."""
HEADERS = 256
"""Bytes of a packet in which a message goes on."""
SURE = 16
"""Bytes that a message has in a packet, at least, unless they are its last."""
ABSENT = CapturedMessage(b"", (0, 0), (0, 0), "request")
"""Stands for the half that an exchange does not have."""
Batch = tuple[int, bytes, "list[RawPacket]", int]
"""How many packets are before a batch, its bytes, its packets in them, and where it begins in the file."""


class Places:
    """Takes the batches of a capture, and finds the bytes of messages.

    `before` has how many packets are before each batch, `starts` where it begins, and where the one after the last does
    if that is known. `pieces` has the places of messages that are in several pieces, to be taken away.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._kept: deque[Batch] = deque(maxlen=BATCHES)
        self.before, self.starts = array("q"), array("q")
        self.pieces: list[list[tuple[int, int]]] = []
        self._again: tuple[int, Batch] | None = None

    def add(self, data: bytes, raw: list[RawPacket], start: int) -> None:
        """Take the next batch."""
        if len(self.starts) == len(self.before):
            self.starts.append(start)
        self.before.append(self._capture.packets)
        self._kept.append((self._capture.packets, data, raw, start))

    def of(self, halves: Sequence[CapturedMessage], sizes: list[int], firsts: list[int], lasts: list[int]) -> list[int]:
        """Return where the bytes of messages are, given their sizes, first and last packets; see `layout.HALF`."""
        before, batch, raw, place = self._kept[-1]
        base = before + 1
        ends = [raw[first - base][3] - size if first > before else 0 for first, size in zip(firsts, sizes, strict=True)]
        stand = map(batch.startswith, [half.data for half in halves], ends)  # most are the end of a packet
        places = [place + end if is_end and end > 0 else NO_HALF for is_end, end in zip(stand, ends, strict=True)]
        if firsts != lasts or NO_HALF in places:
            for row, half in enumerate(halves):
                if (places[row] == NO_HALF or firsts[row] != lasts[row]) and half is not ABSENT:
                    places[row] = self._place(half)
        return places

    def _place(self, half: CapturedMessage) -> int:
        """Return where the bytes of a message are, in one piece or in several."""
        found = self.find(half.data, half.first_packet, half.last_packet)
        if len(found) == 1:
            return found[0][0]
        self.pieces.append(found)
        return PIECES + 1 - len(self.pieces)

    def find(self, data: bytes, first: int, last: int) -> list[tuple[int, int]]:
        """Return the pieces in which bytes are in these packets; raise `Unfit` where they are not as they were sent."""
        if first == last and (number := bisect_left(self.before, first)):
            before, batch, raw, place = self._batch(number - 1)
            if (at := batch.find(data, *raw[first - before - 1][2:])) >= 0:
                return [(place + at, len(data))]
        packets, found, at = self._packets(first, last), list[tuple[int, int]](), -1
        while at < len(data) and at != (at := sum(size for _, size in found)):
            for batch, start, end, place in packets:
                sure = data[at : at + SURE]
                where = batch.find(sure, start, min(end, start + HEADERS) if found else end)
                size = min(end - where, len(data) - at)
                if where < 0 or (at + size < len(data) and size < SURE):
                    continue
                if batch[where : where + size] == data[at : at + size]:
                    found.append((place + where, size))
                    at += size
                    if at == len(data):
                        break
        if at != len(data) or not found:
            raise Unfit("a message is not in it as it was sent")
        return found

    def _packets(self, first: int, last: int) -> list[tuple[bytes, int, int, int]]:
        """Return the bytes, begin, end, and place of packets."""
        found: list[tuple[bytes, int, int, int]] = []
        begin, end = (bisect_left(self.before, number) for number in (first, last))
        if not begin or end - begin >= MOST:
            raise Unfit("the packets of a message are too far from each other")
        for number in range(begin - 1, end):
            before, data, raw, place = self._batch(number)
            found += [(data, start, end, place) for _, _, start, end in raw[max(first - before - 1, 0) : last - before]]
        return found

    def _batch(self, number: int) -> Batch:
        kept = number - len(self.before) + len(self._kept)
        if kept >= 0:
            return self._kept[kept]
        if self._again is None or self._again[0] != number:
            start, before = self.starts[number], self.before[number]
            data = os.pread(self._capture.source.raw.fileno(), self.starts[number + 1] - start, start)
            raw = self._capture.packets_in(data)
            if len(raw) != [*self.before[number + 1 : number + 2], self._capture.packets][0] - before:
                raise Unfit("packets cannot be read again")
            self._again = number, (before, data, raw, start)
        return self._again[1]
