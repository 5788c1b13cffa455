"""Packets on their way to whoever shows them: through a pipe that is never waited on, bounded, and counted.

What goes through the pipe is a pcapng file without an end. Where packets had to be left out, a block of statistics
says how many, so that the reader learns of it at that place of the stream.
"""

from __future__ import annotations

import fcntl
import os
import select
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from kdbg.capture import blocks
from kdbg.capture.pcapng import Counted
from kdbg.capture.write import Buffer, Parted
from kdbg.live.overflow import Overflow

MOST = 64 << 20
"""Bytes that wait in memory, at most."""
PIPE = 1 << 20
"""Bytes that the pipe is made to hold, and that are given to it at once."""
PIECES = 1000
"""Pieces that are given to it at once: systems take 1024."""


class Outflow:
    """Takes packets by `packet`, and writes by `pump` as much as the pipe takes; neither ever waits.

    `pipe` is the descriptor to write to, and stays the caller's. More than `most` bytes do not wait in memory, nor more
    than `disk` bytes in temporary files: packets are left out then, until half of either is gone. `taken` counts all
    packets, `unread` those that were left out; `dropped`, those that the system lost before, is set by the caller.
    `closed`: the reader has gone, and nothing is kept. `size` counts the bytes that wait in memory.
    """

    taken: int
    unread: int
    dropped: int
    closed: bool
    pipe: int
    most: int
    size: int

    def __init__(self, pipe: int, most: int = MOST, disk: int = 0) -> None:
        self.pipe, self.most = pipe, most
        self._overflow = Overflow(disk)
        self.taken = self.unread = self.dropped = 0
        self.closed = False
        self.size = 0
        self._waiting: deque[Buffer] = deque()
        self._full = False
        self._told = Counted(0, 0, 0)
        os.set_blocking(pipe, False)
        with suppress(OSError, AttributeError):  # another system, or more than a user may have
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
        self.add(blocks.section())

    def interface(self, link: int, name: str = "") -> None:
        """Describe the next interface: they are numbered from 0."""
        self.add(blocks.interface(link, name))

    def packet(self, interface: int, time: int, data: bytes, sent: int) -> None:
        """Take a packet, its time in nanoseconds, of which `sent` bytes were on the wire."""
        self.block(blocks.enhanced(interface, time, data, sent))

    def block(self, packet: bytes) -> None:
        """Take a packet that is a block already."""
        self.taken += 1
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
            self.taken += 1
            if self._full:
                self.unread += 1
                continue
            size = len(head) + len(payload)
            front, behind = blocks.around(interface, time, size, size)
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
        counted = Counted(self.dropped, self.taken + self.dropped, self.taken - self.unread)
        if not self._full and (counted.dropped, counted.unread) != (self._told.dropped, self._told.unread):
            self._told = counted
            self.add(blocks.statistics(0, time, counted))

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
