"""Packets written to a new capture: frames go in, a pcap or pcapng file with times in nanoseconds comes out.

Nothing else of the file that they came from is kept: no comments, names, interfaces or secrets.
"""

from __future__ import annotations

import os
import stat
import struct
from types import TracebackType
from typing import BinaryIO

from kdbg.capture import blocks
from kdbg.capture.frames import Frame
from kdbg.capture.pcap import file_header
from kdbg.capture.write import private
from kdbg.errors import CaptureError, CaptureRefused


class FrameWriter:
    """A context manager; a file that was left with an exception is taken away again.

    Raise `CaptureRefused` where the file cannot be made; `add` raises `CaptureError` where no more can be written, or
    the format has no room for the frame.
    """

    def __init__(self, path: str | os.PathLike[str], *, pcapng: bool) -> None:
        self.name: str = os.fspath(path)
        self.pcapng = pcapng
        self._links: list[int] = []
        try:
            self._file: BinaryIO = open(path, "wb", opener=private)  # noqa: SIM115 - `__exit__` closes it
        except OSError as error:
            raise CaptureRefused(self.name, f"cannot be written: {error.strerror}") from None
        if pcapng:
            self._write(blocks.section())

    def __enter__(self) -> FrameWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self.pcapng and not self._links and kind is None:
                self._write(file_header(1))
        finally:
            self._file.close()
            if kind is not None and stat.S_ISREG(os.lstat(self.name).st_mode):  # not /dev/null, nor a pipe
                os.unlink(self.name)  # noqa: PTH108 - a name as good as a path

    def add(self, frame: Frame) -> None:
        """Write a frame."""
        if self.pcapng:
            data = blocks.enhanced(self._interface(frame.link), frame.time, frame.data, frame.sent)
        else:
            if not self._links:
                self._links.append(frame.link)
                self._write(file_header(frame.link))
            if frame.link != self._links[0]:
                problem = f"a pcap file has one link type, and packets of {self._links[0]} and {frame.link} are due"
                raise CaptureError(self.name, problem, "name it .pcapng")
            data = self._record(frame)
        self._write(data)

    def _record(self, frame: Frame) -> bytes:
        """Return a packet as a pcap file has it, whose times end in 2106."""
        seconds, rest = divmod(frame.time, 1_000_000_000)
        if seconds >> 32:
            raise CaptureError(self.name, "a pcap file has no room for times after 2106", "name it .pcapng")
        return struct.pack("<IIII", seconds, rest, len(frame.data), frame.sent) + frame.data

    def _interface(self, link: int) -> int:
        """Return the number of the interface with this link type; describe it first where it is new."""
        if link not in self._links:
            self._links.append(link)
            self._write(blocks.interface(link))
        return self._links.index(link)

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise CaptureError(self.name, f"cannot be written any further: {error.strerror}") from None
