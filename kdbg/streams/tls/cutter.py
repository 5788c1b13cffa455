"""The bytes of one direction in, TLS records out, with the packets that brought them.

Where bytes are missing from the capture, the next place is looked for that its owner can prove to begin a record.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from .record import HEAD, Mark, Record

if TYPE_CHECKING:
    from kdbg.streams.tls.side import TlsDirection

LARGEST = (1 << 14) + 2048
"""Bytes that the body of a record may have (RFC 5246, 6.2.3)."""
BEGINNING = re.compile(rb"[\x14-\x17]\x03[\x00-\x04]")


class Cutter:
    """Cuts one direction into records, which its owner takes; one that must wait is given again by `go_on`."""

    __slots__ = ("_base", "_data", "_ignored", "_marks", "_needed", "_passed", "_searching", "owner")

    def __init__(self, owner: TlsDirection) -> None:
        self.owner: TlsDirection = owner
        self._data = bytearray()
        self._marks: list[Mark] = []
        self._base = self._ignored = self._passed = 0
        self._needed = HEAD
        self._searching = False

    @property
    def held(self) -> int:
        """Bytes that wait."""
        return len(self._data)

    def peek(self) -> bytes:
        """Return what waits."""
        return bytes(self._data)

    def data(self, payload: bytes, time: int, number: int) -> None:
        """Take the next bytes of the direction."""
        if self._ignored:
            passed = min(self._ignored, len(payload))
            self._ignored -= passed
            payload = payload[passed:]
        if payload:
            self._marks.append((self._base + len(self._data), time, number))
            self._data += payload
            if len(self._data) >= self._needed:
                self.go_on()

    def go_on(self, *, final: bool = False) -> None:
        """Hand over every whole record. `final`: no more bytes follow these without a gap."""
        while self._find(final) if self._searching else self._take():
            pass

    def gap(self, length: int, time: int, number: int) -> None:
        """Take note that `length` bytes of the direction are not in the capture."""
        if self._ignored:
            passed = min(self._ignored, length)
            self._ignored -= passed
            length -= passed
            if not length:
                return
        if self._searching:
            self.go_on(final=True)
        size = self._size(0) if not self._searching and len(self._data) >= HEAD else None
        have = len(self._data)
        self._drop(have)
        self._needed = HEAD
        if size is not None and HEAD + size - have >= length:
            self._ignored = HEAD + size - have - length
            self.owner.broken(size, time, number)
        else:
            self._passed += have + length
            self._searching = True

    def end(self, time: int, number: int) -> None:
        """Take note that no more bytes come."""
        self.go_on(final=True)
        if left := self._passed + len(self._data):
            self.owner.lost(left, time, number)
        self.stop()

    def stop(self) -> None:
        """Forget what waits."""
        self._data.clear()
        self._marks.clear()
        self._base = self._passed = 0
        self._needed = HEAD

    def _take(self) -> bool:
        """Hand over the record in front; False where more bytes are needed, or it must wait."""
        if len(self._data) < HEAD:
            self._needed = HEAD
            return False
        size = self._size(0)
        if size is None:
            self._searching = True
            return True
        if len(self._data) < HEAD + size:
            self._needed = HEAD + size
            return False
        if not self.owner.record(self._record(0, size)):
            self._needed = 1 << 62
            return False
        self._drop(HEAD + size)
        return True

    def _find(self, final: bool) -> bool:
        """Find the next place that proves itself; False where more bytes are needed."""
        place = 0
        while (found := BEGINNING.search(self._data, place)) is not None:
            start, place = found.span()
            here = len(self._data) - start
            size = self._size(start) if here >= HEAD else 0
            if size is None:
                continue
            if here < HEAD + size and not final:
                self._pass(start)
                self._needed = HEAD + size
                return False
            if here >= HEAD + size and self.owner.proves(self._found(start, size), self._passed + start):
                self._drop(start)
                self._passed, self._searching = 0, False
                return True
        self._pass(max(len(self._data) - (0 if final else 2), 0))
        self._needed = HEAD
        return False

    def _size(self, place: int) -> int | None:
        """Return the length of the body of a record that begins here; None where none can begin."""
        data = self._data
        size = data[place + 3] << 8 | data[place + 4]
        return size if BEGINNING.match(data, place) is not None and size <= LARGEST else None

    def _record(self, place: int, size: int) -> Record:
        data, start = self._data, self._base + place
        body = bytes(data[place + HEAD : place + HEAD + size])
        end = start + HEAD + size
        first = max(bisect_right(self._marks, start, key=_place) - 1, 0)
        last = bisect_left(self._marks, end, first, key=_place)
        marks = [(mark - start, time, number) for mark, time, number in self._marks[first:last]]
        return Record(data[place], bytes(data[place + 1 : place + 3]), body, marks)

    def _found(self, place: int, size: int) -> Record:
        """Return a record that may be one, and whether another one follows it."""
        after = place + HEAD + size
        chained = after == len(self._data) or BEGINNING.match(self._data, after) is not None
        return self._record(place, size)._replace(chained=chained)

    def _pass(self, length: int) -> None:
        self._passed += length
        self._drop(length)

    def _drop(self, length: int) -> None:
        """Forget bytes at the front."""
        del self._data[:length]
        self._base += length
        if not self._data:
            self._marks.clear()
        else:
            del self._marks[: bisect_right(self._marks, self._base, key=_place) - 1]


def _place(mark: Mark) -> int:
    return mark[0]
