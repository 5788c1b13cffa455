"""A queue of bytes on disk: blocks go in, the same bytes come out in their order, and the disk is freed as they do."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from typing import BinaryIO

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

    size: int
    full: bool

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = min(limit, _free() // 4) if limit else 0
        self.size = 0
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
