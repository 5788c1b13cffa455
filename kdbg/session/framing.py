"""The bytes of one direction in, Kafka's length-prefixed frames out (the guide's "RequestOrResponse").

A frame is believed when its owner accepts its header. Where a header is not believable, or bytes are missing, the
framer searches on for the next place that its owner can prove, and says how many bytes it passed over. A frame whose
middle is missing from the capture is handed over as far as it goes: its end is known, so the next one is found
without a search. Memory is bounded by the largest frame that an owner accepts.
"""

from __future__ import annotations

import struct
from typing import Any, Protocol

MAX_FRAME = 128 << 20
"""Larger than any frame that brokers and clients accept by default (100 MiB)."""
SEARCH_WINDOW = 4 << 20
"""How many bytes a search keeps while it waits for the rest of a frame that may prove itself."""
TAIL = 16
"""Bytes kept at the end of a search that found nothing: a frame's length and header may be cut there."""
_size = struct.Struct(">i").unpack_from


class Times:
    """Where in the bytes at hand which packet's bytes begin, so that any byte's time can be told."""

    __slots__ = ("marks",)

    def __init__(self) -> None:
        self.marks: list[tuple[int, int, int]] = []

    def of(self, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """((first time, last time), (first packet, last packet)) of the bytes start to end."""
        first = last = self.marks[0]
        for mark in self.marks:
            if mark[0] <= start:
                first = mark
            if mark[0] >= end:
                break
            last = mark
        return (first[1], last[1]), (first[2], last[2])

    def drop(self, length: int) -> None:
        """Forget the first bytes; the others move up."""
        kept = 0
        for i, mark in enumerate(self.marks):
            if mark[0] <= length:
                kept = i
        self.marks = [(max(start - length, 0), time, number) for start, time, number in self.marks[kept:]]


class Owner(Protocol):
    """Who knows what the frames of this direction look like. `token` is whatever `judge` wants `frame` to have."""

    def judge(self, data: bytes, start: int, size: int) -> tuple[bool | None, Any]:
        """Whether a frame of `size` bytes can begin at `start` (behind its length); None: more bytes are needed."""

    def search(self, data: bytes, start: int) -> int | None:
        """The first place at or behind `start` where a frame's length may stand, with 8 bytes behind it, or None."""

    def prove(self, data: bytes, start: int, end: int) -> bool:
        """Whether the complete frame at these bytes is one beyond doubt."""

    def leftover(self, frame: bytes, token: Any) -> int:
        """How many bytes at the end of a frame its message has no use for."""

    def frame(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        """One frame without its length; `missing` bytes of its end are not in the capture."""

    def skipped(self, length: int, time: int, number: int) -> None:
        """So many bytes belong to no frame."""

    def lost(self, length: int, time: int, number: int) -> None:
        """So many bytes are missing from the capture."""

    def end(self) -> None:
        """This direction has ended."""


class Framer:
    """A tcp.Receiver that cuts one direction into frames. `synced`: the next byte begins a frame."""

    def __init__(self, owner: Owner, *, synced: bool) -> None:
        self.owner, self.synced = owner, synced
        self._data = b""
        self._parts: list[bytes] = []
        self._length = 0
        self._needed = 4
        self._times = Times()
        self._passed = 0
        self._ignored = 0
        self._previous: tuple[bytes, Any] = b"", None

    def data(self, payload: bytes, time: int, number: int) -> None:
        """Take the next bytes of the stream."""
        if self._ignored:
            payload = self._ignore(payload)
            if not payload:
                return
        if not self._length and self.synced:
            size = len(payload) - 4
            if size >= 0 and _size(payload)[0] == size:
                accepted, token = self.owner.judge(payload, 4, size)
                if accepted:
                    self._previous = frame, _ = payload[4:], token
                    self.owner.frame(frame, (time, time), (number, number), 0, token)
                    return
        self._times.marks.append((self._length, time, number))
        self._parts.append(payload)
        self._length += len(payload)
        if self._length >= self._needed:
            self._advance()

    def gap(self, length: int, time: int, number: int) -> None:
        """So many bytes of the stream are not in the capture."""
        self.owner.lost(length, time, number)
        if self._ignored:
            covered = min(self._ignored, length)
            self._ignored -= covered
            length -= covered
        if not length:
            return
        self._advance(final=True)
        left = self._break_off() if self.synced and self._length else None
        if left is None or left < length:
            self._pass(self._length)
            self.synced = False
        else:
            self._ignored = left - length
        self._needed = 4

    def end(self, time: int, number: int) -> None:
        """No more bytes will come."""
        self._advance(final=True)
        if self.synced and self._length:
            self._break_off()
        self._pass(self._length)
        self._report(time, number)
        self.owner.end()

    def _ignore(self, payload: bytes) -> bytes:
        """Pass over the rest of a frame that was handed over broken."""
        covered = min(self._ignored, len(payload))
        self._ignored -= covered
        return payload[covered:]

    def _drop(self, length: int) -> None:
        """Forget bytes at the front: they were handed over, or passed over."""
        self._data = self._data[length:]
        self._length -= length
        self._times.drop(length)
        if not self._length:
            self._times.marks.clear()

    def _pass(self, length: int) -> None:
        """Give up bytes that belong to no frame."""
        self._passed += length
        self._drop(length)

    def _report(self, time: int, number: int) -> None:
        if self._passed:
            self.owner.skipped(self._passed, time, number)
            self._passed = 0

    def _advance(self, *, final: bool = False) -> None:
        """Hand over every complete frame; search where there is none. `final`: what is not here will not come."""
        self._data = b"".join([self._data, *self._parts])
        self._parts.clear()
        start = 0
        while self._length:
            if not self.synced:
                self._drop(start)
                start = 0
                if not self._search(final):
                    return
            end = self._take(start)
            if end is not None:
                start = end
            elif self.synced:
                break
        self._drop(start)

    def _take(self, start: int) -> int | None:
        """Hand over the frame at `start`; its end, or None where more bytes are needed or the sync is lost."""
        data = self._data
        self._needed = 4
        if len(data) - start < 4:
            return None
        size = _size(data, start)[0]
        accepted, token = self.owner.judge(data, start + 4, size) if 0 <= size <= MAX_FRAME else (False, None)
        if accepted is None:
            self._needed = len(data) - start + 1
            return None
        if not accepted:
            self._drop(start)
            self._reopen()
            self.synced = False
            return 0
        end = start + 4 + size
        if end > len(data):
            self._needed = 4 + size
            return None
        times, packets = self._times.of(start, end)
        self._report(times[0], packets[0])
        self._previous = frame, _ = data[start + 4 : end], token
        self.owner.frame(frame, times, packets, 0, token)
        return end

    def _reopen(self) -> None:
        """The frame before may have claimed too much: put the bytes it had no use for back, for the search to see."""
        frame, token = self._previous
        self._previous = b"", None
        length = self.owner.leftover(frame, token) if frame else 0
        if length:
            _, time, number = self._times.marks[0]
            self._times.marks = [(0, time, number), *((at + length, t, n) for at, t, n in self._times.marks)]
            self._data = frame[-length:] + self._data
            self._length += length

    def _search(self, final: bool) -> bool:
        """Find the next frame that proves itself; False where more bytes are needed first."""
        data, start = self._data, 0
        while (place := self.owner.search(data, start)) is not None:
            size = _size(data, place)[0]
            end = place + 4 + size
            if 0 <= size <= SEARCH_WINDOW and end > len(data) and not final:
                accepted, _ = self.owner.judge(data, place + 4, size)
                if accepted is not False:
                    self._pass(place)
                    self._needed = 4 + size if accepted else self._length + 1
                    return False
            elif size >= 0 and end <= len(data) and self.owner.prove(data, place + 4, end):
                self._pass(place)
                self.synced = True
                return True
            start = place + 1
        self._pass(max(self._length - TAIL, 0))
        self._needed = self._length + 1
        return False

    def _break_off(self) -> int | None:
        """Hand over what there is of a frame that is broken off: how many bytes of it are missing, None: no frame."""
        data = self._data
        size = _size(data)[0] if len(data) >= 4 else -1
        accepted, token = self.owner.judge(data, 4, size) if 0 <= size <= MAX_FRAME else (False, None)
        if not accepted:
            return None
        times, packets = self._times.of(0, len(data))
        missing = 4 + int(size) - len(data)
        self._report(times[0], packets[0])
        self.owner.frame(data[4:], times, packets, missing, token)
        self._drop(len(data))
        return missing
