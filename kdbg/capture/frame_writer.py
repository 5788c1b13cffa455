"""Blocks of a pcapng file, written: what they say goes in, their bytes come out. Times are in nanoseconds.

See draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from types import TracebackType

from ..atomic import AtomicFile
from ..errors import CaptureError
from .frames import Frame
from .pcap import SNAPLEN, file_header
from .pcapng import (
    ENHANCED,
    IF_NAME,
    IF_TSRESOL,
    INTERFACE,
    ISB_ACCEPTED,
    ISB_DELIVERED,
    ISB_SYSTEM_DROPPED,
    SECTION,
    STATISTICS,
    Counted,
)

NANOSECONDS = 9
_head = struct.Struct("<IIIIIII").pack
_length = struct.Struct("<I").pack
PADDING = tuple(bytes(-length % 4) for length in range(4))


def section() -> bytes:
    """Return the block that a file begins with; interfaces are numbered from 0 behind it."""
    return _block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(link: int, name: str = "", snaplen: int = SNAPLEN) -> bytes:
    """Return the description of the next interface: its link type, its name if it has one."""
    options = _option(IF_NAME, name.encode("utf-8", "replace")) if name else b""
    options += _option(IF_TSRESOL, bytes([NANOSECONDS])) + bytes(4)
    return _block(INTERFACE, struct.pack("<HHI", link, 0, snaplen) + options)


def enhanced(number: int, time: int, data: bytes, sent: int) -> bytes:
    """Return a packet of the interface of this number; it had `sent` bytes on the wire."""
    front, behind = around(number, time, len(data), sent)
    return b"%b%b%b" % (front, data, behind)


def around(number: int, time: int, size: int, sent: int) -> tuple[bytes, bytes]:
    """Return what stands before and behind a packet of `size` bytes in its block."""
    length = 32 + size + (-size & 3)
    front = _head(ENHANCED, length, number, time >> 32, time & 0xFFFFFFFF, size, sent)
    return front, PADDING[size & 3] + _length(length)


def statistics(number: int, time: int, counted: Counted) -> bytes:
    """Return what was counted at an interface since the capture began."""
    options = b"".join(
        _option(code, struct.pack("<Q", count))
        for code, count in (
            (ISB_SYSTEM_DROPPED, counted.dropped),
            (ISB_ACCEPTED, counted.accepted),
            (ISB_DELIVERED, counted.delivered),
        )
        if count is not None
    )
    return _block(STATISTICS, struct.pack("<III", number, time >> 32, time & 0xFFFFFFFF) + options + bytes(4))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + PADDING[len(value) & 3]


def _block(kind: int, body: bytes) -> bytes:
    """Return a block; its body is padded to 32 bits."""
    body += PADDING[len(body) & 3]
    length = _length(len(body) + 12)
    return _length(kind) + length + body + length


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
            output.write(section())

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
            data = enhanced(self._interface(frame.link), frame.time, frame.data, frame.sent)
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
            self._output.write(interface(link))
        return self._links.index(link)
