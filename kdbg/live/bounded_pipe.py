"""A queue of bytes on disk: blocks go in, the same bytes come out in their order, and the disk is freed as they do."""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import tempfile
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO

from ..capture import frames
from ..capture.pcapng import Counted
from ..capture.write import Buffer, Parted

LIMIT = 4 << 30
"""Bytes on disk, at most; and at most a quarter of what is free in the folder for temporary files."""
SEGMENT = 64 << 20
"""Bytes of a file; it is deleted when the last of them was taken."""
CHUNK = 1 << 20
"""Bytes that are written, and taken, at once."""


class Overflow:
    """A first-in, first-out queue of blocks in temporary files, which have no name and end with the process.

    `put` keeps a block in memory where the disk takes no more: `full` says that the caller should stop. `size` counts
    the bytes that wait. `take` returns whole blocks, so that other blocks may follow what it returns.
    """

    size: int = 0
    full: bool

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = min(limit, _free() // 4) if limit else 0
        self.full = not self.limit
        self._segments: deque[_Segment] = deque()
        self._newest: list[bytes] = []
        self._newest_size = 0

    def put(self, block: bytes) -> None:
        """Append a block."""
        self._newest.append(block)
        self._newest_size += len(block)
        self.size += len(block)
        if not self.full and self._newest_size >= CHUNK:
            self._write()

    def take(self) -> bytes:
        """Return the oldest blocks, some `CHUNK` bytes; b"" where none waits."""
        if self._segments:
            segment = self._segments[0]
            data = segment.take()
            if not segment.sizes:
                segment.file.close()
                self._segments.popleft()
        else:
            data = b"".join(self._newest)
            self._newest, self._newest_size = [], 0
        self.size -= len(data)
        if self.full and self.size <= self.limit // 2:
            self.full = not self.limit
        return data

    def clear(self) -> None:
        """Forget everything."""
        while self.take():
            pass

    def _write(self) -> None:
        try:
            if not self._segments or self._segments[-1].end >= SEGMENT:
                self._segments.append(_Segment())
            self._segments[-1].append(b"".join(self._newest))
        except OSError:  # the disk is full
            self.full = True
            if self._segments and not self._segments[-1].sizes:
                self._segments.pop().file.close()
            return
        self._newest, self._newest_size = [], 0
        self.full = self.size >= self.limit


def _free() -> int:
    """Return how many bytes are free for temporary files; 0 where there is no folder for them."""
    try:
        return shutil.disk_usage(tempfile.gettempdir()).free
    except OSError:
        return 0


class _Segment:
    """A temporary file of chunks: `sizes` are those of the chunks that were not taken, `end` is where the last ends."""

    def __init__(self) -> None:
        self.file: BinaryIO = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self.sizes: deque[int] = deque()
        self.begin = self.end = 0

    def append(self, chunk: bytes) -> None:
        """Write a chunk; raise `OSError` where the disk does not take all of it, which then counts as not written."""
        written = 0
        while written < len(chunk):
            written += os.pwrite(self.file.fileno(), memoryview(chunk)[written:], self.end + written)
        self.sizes.append(len(chunk))
        self.end += len(chunk)

    def take(self) -> bytes:
        size = self.sizes.popleft()
        data = os.pread(self.file.fileno(), size, self.begin)
        self.begin += size
        return data


MOST = 64 << 20
"""Bytes that wait in memory, at most."""
PIPE = 1 << 20
"""Bytes that the pipe is made to hold, and that are given to it at once."""
PIECES = 1000
"""Pieces that are given to it at once: systems take 1024."""


class Outflow:
    """Takes packets by `packet`, and writes by `pump` as much as the pipe takes; neither ever waits.

    `pipe` is the descriptor to write to, and stays the caller's. More than `most` bytes do not wait in memory, nor more
    than `disk` bytes in temporary files: packets are left out then, until half of either is gone. `captured` counts all
    packets, `unread` those that were left out; `dropped`, those that the system lost before, is set by the caller.
    `closed`: the reader has gone, and nothing is kept. `size` counts the bytes that wait in memory.
    """

    captured: int = 0
    unread: int = 0
    dropped: int = 0
    closed: bool = False
    pipe: int
    most: int
    size: int = 0

    def __init__(self, pipe: int, most: int = MOST, disk: int = 0) -> None:
        self.pipe, self.most = pipe, most
        self._overflow = Overflow(disk)
        self._waiting: deque[Buffer] = deque()
        self._full = False
        self._told = Counted(0, 0, 0)
        os.set_blocking(pipe, False)
        with suppress(OSError, AttributeError):  # another system, or more than a user may have
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
        self.add(frames.section())

    def interface(self, link: int, name: str = "") -> None:
        """Describe the next interface: they are numbered from 0."""
        self.add(frames.interface(link, name))

    def packet(self, interface: int, time: int, data: bytes, sent: int) -> None:
        """Take a packet, its time in nanoseconds, of which `sent` bytes were on the wire."""
        self.block(frames.enhanced(interface, time, data, sent))

    def block(self, packet: bytes) -> None:
        """Take a packet that is a block already."""
        self.captured += 1
        if self._full:
            self.unread += 1
        else:
            self.add(packet)

    def borrow(self, interface: int, time: int, packets: Iterable[Parted]) -> bool:
        """Take packets in two parts, which are not copied if the pipe takes them now, and the caller's again behind.

        Only for an outflow without `disk`.
        Return whether something waits for the pipe.
        """
        begun = len(self._waiting)
        for head, payload in packets:
            self.captured += 1
            if self._full:
                self.unread += 1
                continue
            size = len(head) + len(payload)
            front, behind = frames.around(interface, time, size, size)
            self._waiting += (front + head, payload, behind)
            self.size += len(front) + size + len(behind)
            self._full = self.size >= self.most
        added = len(self._waiting) - begun
        waits = self.pump()
        left = [self._waiting.pop() for _ in range(min(added, len(self._waiting)))]
        if left:
            self._waiting.append(b"".join(reversed(left)))
        return waits

    def add(self, block: bytes) -> None:
        """Take a block of whatever kind, whether there is room or not."""
        if self._overflow.size or (self.size >= self.most and not self._overflow.full):
            self._overflow.put(block)
        else:
            self._waiting.append(block)
            self.size += len(block)
        self._full = self._full or (self.size >= self.most and self._overflow.full)

    def tell(self, time: int) -> None:
        """Tell the reader what is missing, if that has changed, and there is room for packets."""
        counted = Counted(self.dropped, self.captured + self.dropped, self.captured - self.unread)
        if not self._full and (counted.dropped, counted.unread) != (self._told.dropped, self._told.unread):
            self._told = counted
            self.add(frames.statistics(0, time, counted))

    def pump(self) -> bool:
        """Write as much as the pipe takes; return whether something waits for it."""
        while self._waiting:
            pieces, size = self._pieces()
            try:
                written = os.writev(self.pipe, pieces)
            except BlockingIOError:
                written = 0
            except BrokenPipeError:
                self.let_go()
                return False
            self.size -= written
            if written < size:
                self._put_back(pieces, written)
            self._refill()
            if written < size:
                return True
        return False

    def drain(self, time: int) -> None:
        """Wait until all is read, or the reader goes: for the end, when nothing more comes."""
        pipe = select.poll()
        pipe.register(self.pipe, select.POLLOUT)
        while self.pump():
            pipe.poll()
            self.tell(time)

    def let_go(self) -> None:
        """Keep nothing, from now on: nobody reads."""
        self.closed = self._full = True
        self._waiting.clear()
        self._overflow.clear()
        self.size = 0

    def _refill(self) -> None:
        """Move blocks from disk to memory; take packets again once there is room."""
        while self._overflow.size and self.size <= self.most // 2:
            chunk = self._overflow.take()
            self._waiting.append(chunk)
            self.size += len(chunk)
        if self._full and (self.size <= self.most // 2 or not self._overflow.full):
            self._full = False

    def _pieces(self) -> tuple[list[Buffer], int]:
        """Take out what is to be written next; return how many bytes it has as well."""
        pieces, size, waiting = list[Buffer](), 0, self._waiting
        while waiting and size < PIPE and len(pieces) < PIECES:
            pieces.append(waiting.popleft())
            size += len(pieces[-1])
        return pieces, size

    def _put_back(self, pieces: list[Buffer], written: int) -> None:
        """Have the bytes of these pieces wait that were not written."""
        place = 0
        while written >= len(pieces[place]):
            written -= len(pieces[place])
            place += 1
        if written:
            pieces[place] = memoryview(pieces[place])[written:]
        self._waiting.extendleft(reversed(pieces[place:]))
