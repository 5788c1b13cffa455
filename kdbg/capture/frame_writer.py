"""Packets written to a new capture: frames go in, a pcap or pcapng file with times in nanoseconds comes out.

Nothing else of the file that they came from is kept: no comments, names, interfaces or secrets.
"""

from __future__ import annotations

import struct
from types import TracebackType

from kdbg.atomic import AtomicFile
from kdbg.capture import blocks
from kdbg.capture.frames import Frame
from kdbg.capture.pcap import file_header
from kdbg.errors import CaptureError

REMEDY = "use a name that ends with .pcapng"


class FrameWriter:
    """A context manager: writes frames into `output`, which decides what becomes of them.

    `add` raises `CaptureError` where the format has no room for the frame.
    """

    def __init__(self, output: AtomicFile, *, pcapng: bool) -> None:
        self.name: str = output.name
        self.pcapng = pcapng
        self._output = output
        self._links: list[int] = []
        if pcapng:
            output.write(blocks.section())

    def __enter__(self) -> FrameWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.pcapng and not self._links and kind is None:
            self._output.write(file_header(1))

    def add(self, frame: Frame) -> None:
        """Write a frame."""
        if self.pcapng:
            data = blocks.enhanced(self._interface(frame.link), frame.time, frame.data, frame.sent)
        else:
            if not self._links:
                self._links.append(frame.link)
                self._output.write(file_header(frame.link))
            if frame.link != self._links[0]:
                problem = f"a pcap file has one link type, but the packets have {self._links[0]} and {frame.link}"
                raise CaptureError(self.name, problem, REMEDY)
            data = self._record(frame)
        self._output.write(data)

    def _record(self, frame: Frame) -> bytes:
        """Return a packet as a pcap file has it, whose times end in 2106."""
        seconds, rest = divmod(frame.time, 1_000_000_000)
        if seconds >> 32:
            raise CaptureError(self.name, "a pcap file cannot store times after 2106", REMEDY)
        return struct.pack("<IIII", seconds, rest, len(frame.data), frame.sent) + frame.data

    def _interface(self, link: int) -> int:
        """Return the number of the interface with this link type; describe it first where it is new."""
        if link not in self._links:
            self._links.append(link)
            self._output.write(blocks.interface(link))
        return self._links.index(link)
