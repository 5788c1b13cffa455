"""Blocks of pcapng written to a file, or to a ring of files of which the oldest goes when a new one begins."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kdbg.atomic import private
from kdbg.errors import CaptureError, CaptureRefused


class Rotation(NamedTuple):
    """How large a file becomes, in bytes, and how many of them are kept."""

    size: int
    files: int


class Files:
    """A file of blocks, or a ring of them: `path` with a number before its suffix, the next after those that are there.

    `add` takes packets, `head` blocks that each file begins with: sections and interfaces. Files that were there before
    are not taken away. Raise `CaptureRefused` where a file cannot be made, `CaptureError` where no more can be written.
    """

    names: deque[Path]
    """The files that are there."""
    rotation: Rotation | None

    def __init__(self, path: str, rotation: Rotation | None = None) -> None:
        self.path, self.rotation = Path(path), rotation
        self.names = deque()
        self._head = b""
        self._size = 0
        self._number = self._last_number()
        self._file: BinaryIO = self._open()

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
        """Have all that was written stand in the file."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._full(error) from None

    def close(self) -> None:
        """End the file."""
        try:
            self._file.close()
        except OSError as error:
            raise self._full(error) from None

    def _write(self, block: bytes) -> None:
        self._size += len(block)
        try:
            self._file.write(block)
        except OSError as error:
            raise self._full(error) from None

    def _next(self) -> None:
        assert self.rotation is not None
        self.close()
        self._size = 0
        self._file = self._open()
        while len(self.names) > self.rotation.files:
            with suppress(OSError):  # somebody took it away
                self.names.popleft().unlink()
        self._write(self._head)

    def _open(self) -> BinaryIO:
        self._number += 1
        name = self.path if self.rotation is None else self._numbered(f"{self._number:06}")
        self.names.append(name)
        try:
            return open(name, "wb", opener=private)
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
        return CaptureError(os.fspath(self.names[-1]), f"cannot be written any further: {error.strerror}")
