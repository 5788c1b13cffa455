"""Blocks of pcapng written to a file, or to a ring of files of which the oldest goes when a new one begins."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from io import FileIO
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from kdbg.atomic import private
from kdbg.errors import CaptureError, CaptureRefused

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
    rotation: Rotation | None

    def __init__(self, path: str, rotation: Rotation | None = None) -> None:
        self.path, self.rotation = Path(path), rotation
        self.names = deque()
        self._head = b""
        self._size = self._flushed = 0
        self._waiting: list[bytes] = []
        self._number = self._last_number()
        self._file: FileIO = self._open()

    def head(self, block: bytes) -> None:
        """Write a block that each file begins with."""
        self._head += block
        self._write(block)

    def add(self, block: bytes) -> None:
        """Write a block; begin a new file before it, where the file at hand would become too large."""
        if self.rotation is not None and self._size + len(block) > self.rotation.size and self._size > len(self._head):
            self._next()
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
            self._end_after(max((end for end in ends if end <= written), default=0) - written)
            raise self._full(error) from None

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

    def _end_after(self, more: int) -> None:
        """End the file so many bytes from its end, which is negative: after its last complete block."""
        with suppress(OSError):  # a pipe or device
            self._file.truncate(self._file.tell() + more)
        self._file.close()

    def _next(self) -> None:
        assert self.rotation is not None
        self.close()
        self._size = self._flushed = 0
        self._file = self._open()
        while len(self.names) > self.rotation.files:
            with suppress(OSError):  # somebody took it away
                self.names.popleft().unlink()
        self._write(self._head)

    def _open(self) -> FileIO:
        self._number += 1
        name = self.path if self.rotation is None else self._numbered(f"{self._number:06}")
        self.names.append(name)
        try:
            return open(name, "wb", buffering=0, opener=private)
        except OSError as error:
            raise CaptureRefused(os.fspath(name), f"cannot be written: {error.strerror}") from None

    def _numbered(self, number: str) -> Path:
        return self.path.with_name(f"{self.path.stem}-{number}{self.path.suffix}")

    def _last_number(self) -> int:
        """Return the highest number of a file of this ring that is there."""
        before, behind = self.path.stem + "-", self.path.suffix
        found = (
            name.name.removeprefix(before).removesuffix(behind)
            for name in (self.path.parent.iterdir() if self.path.parent.is_dir() else ())
            if name.name.startswith(before) and name.name.endswith(behind)
        )
        return max((int(number) for number in found if number.isascii() and number.isdigit()), default=0)

    def _full(self, error: OSError) -> CaptureError:
        return CaptureError(os.fspath(self.names[-1]), f"cannot be written further: {error.strerror}")
