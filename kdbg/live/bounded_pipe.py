"""Where blocks of pcapng go without anybody waiting for it: a pipe, by way of memory and disk; and files.

What waits on disk comes out in its order, and the disk is freed as it does. Of a ring of files, the oldest goes when a
new one begins.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import tempfile
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..atomic import private
from ..capture import frames
from ..capture.pcapng import Counted
from ..capture.write import Buffer, Parted
from ..errors import CaptureError, CaptureRefused

LIMIT = 4 << 30
"""Bytes on disk, at most; and at most a quarter of what is free in the folder for temporary files."""
SEGMENT = 64 << 20
"""Bytes of a file; it is deleted when the last of them was taken."""
CHUNK = 1 << 20
"""Bytes that are written, and taken, at once."""


@dataclass
class _Segment:
    """A temporary file of chunks: `sizes` are those of the chunks that were not taken, `end` is where the last ends."""

    file: BinaryIO
    sizes: deque[int] = field(default_factory=deque)
    begin: int = 0
    end: int = 0


class Overflow:
    """A first-in, first-out queue of blocks in temporary files, which have no name and end with the process.

    `put` keeps a block in memory where the disk takes no more: `full` says that the caller should stop. `size` counts
    the bytes that wait. `take` returns whole blocks, so that other blocks may follow what it returns.
    """

    size: int = 0

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = 0
        with suppress(OSError):  # there is no folder for temporary files
            self.limit = min(limit, shutil.disk_usage(tempfile.gettempdir()).free // 4) if limit else 0
        self.full: bool = not self.limit
        self._segments: deque[_Segment] = deque()
        self._newest: list[bytes] = []
        self._newest_size = 0

    def put(self, block: bytes) -> None:
        """Append a block."""
        self._newest.append(block)
        self._newest_size += len(block)
        self.size += len(block)
        if self.full or self._newest_size < CHUNK:
            return
        try:  # a chunk of which the disk does not take all counts as not written
            if not self._segments or self._segments[-1].end >= SEGMENT:
                self._segments.append(_Segment(tempfile.TemporaryFile(buffering=0)))  # noqa: SIM115
            segment, chunk, written = self._segments[-1], b"".join(self._newest), 0
            while written < len(chunk):
                written += os.pwrite(segment.file.fileno(), memoryview(chunk)[written:], segment.end + written)
        except OSError:  # the disk is full
            self.full = True
            if self._segments and not self._segments[-1].sizes:
                self._segments.pop().file.close()
            return
        segment.sizes.append(len(chunk))
        segment.end += len(chunk)
        self._newest, self._newest_size = [], 0
        self.full = self.size >= self.limit

    def take(self) -> bytes:
        """Return the oldest blocks, some `CHUNK` bytes; b"" where none waits."""
        if self._segments:
            segment = self._segments[0]
            data = os.pread(segment.file.fileno(), segment.sizes.popleft(), segment.begin)
            segment.begin += len(data)
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


MOST = 64 << 20
"""Bytes that wait in memory, at most."""
PIPE = 1 << 20
"""Bytes that the pipe is made to hold, and that are given to it at once."""
PIECES = 1000
"""Pieces that are given to it at once: systems take 1024."""


class Outflow:
    """Takes packets by `block`, and writes by `pump` as much as the pipe takes; neither ever waits.

    `pipe` is the descriptor to write to, and stays the caller's. More than `most` bytes do not wait in memory, nor more
    than `disk` bytes in temporary files: packets are left out then, until half of either is gone. `captured` counts all
    packets, `unread` those that were left out; `dropped`, those that the system lost before, is set by the caller.
    `closed`: the reader has gone, and nothing is kept. `size` counts the bytes that wait in memory.
    """

    captured: int = 0
    unread: int = 0
    dropped: int = 0
    closed: bool = False
    size: int = 0

    def __init__(self, pipe: int, most: int = MOST, disk: int = 0) -> None:
        self.pipe = pipe
        self.most = most
        self._overflow = Overflow(disk)
        self._waiting: deque[Buffer] = deque()
        self._full = False
        self._told = Counted(0, 0, 0)
        os.set_blocking(pipe, False)
        with suppress(OSError, AttributeError):  # another system, or more than a user may have
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
        self.add(frames.section())

    def block(self, packet: bytes) -> None:
        """Take a packet, as a block."""
        self.captured += 1
        if self._full:
            self.unread += 1
        else:
            self.add(packet)

    def borrow(self, interface: int, time: int, packets: Iterable[Parted]) -> bool:
        """Take packets in two parts, which are not copied if the pipe takes them now, and the caller's again after.

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
        waiting = self._waiting
        while waiting:
            pieces, size = list[Buffer](), 0
            while waiting and size < PIPE and len(pieces) < PIECES:
                pieces.append(waiting.popleft())
                size += len(pieces[-1])
            try:
                written = os.writev(self.pipe, pieces)
            except BlockingIOError:
                written = 0
            except BrokenPipeError:
                self.let_go()
                return False
            self.size -= written
            is_blocked = written < size
            if is_blocked:  # what was not written goes back
                place = 0
                while written >= len(pieces[place]):
                    written -= len(pieces[place])
                    place += 1
                if written:
                    pieces[place] = memoryview(pieces[place])[written:]
                waiting.extendleft(reversed(pieces[place:]))
            while self._overflow.size and self.size <= self.most // 2:  # blocks move from disk to memory
                chunk = self._overflow.take()
                waiting.append(chunk)
                self.size += len(chunk)
            if self._full and (self.size <= self.most // 2 or not self._overflow.full):
                self._full = False
            if is_blocked:
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


BUFFER = 1 << 18
"""Bytes that wait to be written, at most."""


class Rotation(NamedTuple):
    """How large a file becomes, in bytes, and how many of them are kept."""

    size: int
    files: int


class Files:
    """A file of blocks, or a ring of them: `path` with a number before its suffix, the next after those that are there.

    `add` takes packets, `head` blocks that each file begins with: sections and interfaces. Files that were there before
    are not taken away. Raise `CaptureRefused` where a file cannot be made, `CaptureError` where no more can be written:
    the file ends after its last complete block then, and `flush` and `close` do nothing.
    """

    names: deque[Path]
    """The files that are there."""

    def __init__(self, path: str, rotation: Rotation | None = None) -> None:
        self.rotation = rotation
        self.path = Path(path)
        self.names = deque()
        self._head = b""
        self._size = self._flushed = 0
        self._waiting: list[bytes] = []
        before, after, folder = self.path.stem + "-", self.path.suffix, self.path.parent
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        own = [name for name in names if name.startswith(before) and name.endswith(after)]
        found = [name.removeprefix(before).removesuffix(after) for name in own]
        self._number = max((int(number) for number in found if number.isascii() and number.isdigit()), default=0)
        self._file: FileIO = self._open()

    def head(self, block: bytes) -> None:
        """Write a block that each file begins with."""
        self._head += block
        self._write(block)

    def add(self, block: bytes) -> None:
        """Write a block; begin a new file before it, where the file at hand would become too large."""
        if self.rotation is not None and self._size + len(block) > self.rotation.size and self._size > len(self._head):
            self.close()
            self._size = self._flushed = 0
            self._file = self._open()
            while len(self.names) > self.rotation.files:
                with suppress(OSError):  # another process removed it
                    self.names.popleft().unlink()
            self._write(self._head)
        self._write(block)

    def flush(self) -> None:
        """Write the blocks that wait, so that they are in the file."""
        blocks, self._waiting = self._waiting, []
        data, written = memoryview(b"".join(blocks)), 0
        try:
            while written < len(data) and not self._file.closed:
                written += self._file.write(data[written:]) or 0
        except OSError as error:
            ends = accumulate(map(len, blocks))
            whole = max((end for end in ends if end <= written), default=0)
            with suppress(OSError):  # a pipe or device; a file ends after its last complete block
                self._file.truncate(self._file.tell() + whole - written)
            self._file.close()
            raise CaptureError(os.fspath(self.names[-1]), f"cannot be written further: {error.strerror}") from None

    def close(self) -> None:
        """End the file."""
        self.flush()
        self._file.close()

    def _write(self, block: bytes) -> None:
        self._size += len(block)
        self._waiting.append(block)
        if self._size - self._flushed >= BUFFER:
            self._flushed = self._size
            self.flush()

    def _open(self) -> FileIO:
        self._number += 1
        name, stem = self.path, f"{self.path.stem}-{self._number:06}"
        if self.rotation is not None:
            name = self.path.with_name(f"{stem}{self.path.suffix}")
        self.names.append(name)
        try:
            return open(name, "wb", buffering=0, opener=private)
        except OSError as error:
            raise CaptureRefused(os.fspath(name), f"cannot be written: {error.strerror}") from None
