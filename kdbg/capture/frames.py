"""The packets of a capture as its file has them, for who writes them again, and blocks of a pcapng file, written.

A path, "-" or a binary stream goes in, Frames come out one by one, numbered as `Capture` numbers them: link bytes,
time, length on the wire. Of blocks goes in what they say, and their bytes come out; times are in nanoseconds. See
draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from ..atomic import AtomicFile
from ..errors import CaptureError
from . import pcapng
from .links import RAW, Fragment, Fragments, dissector
from .packet import Packet
from .pcap import SNAPLEN, file_header
from .source import Damaged, Source, open_reader, open_source, packets_of


class Frame(NamedTuple):
    """A packet: its number from 1, nanoseconds since the epoch, link type, bytes captured, bytes `sent` on the wire."""

    number: int
    time: int
    link: int
    data: bytes
    sent: int


class Frames:
    """A context manager, to be iterated once. `problem` says what ended the file early; "" for a file that is whole."""

    def __init__(self, source: str | os.PathLike[str] | BinaryIO) -> None:
        self.source: Source = open_source(source)
        self.problem: str = ""
        try:
            self._reader, self._head = open_reader(self.source, lambda text: None)
        except BaseException:
            self.source.close()
            raise
        self.is_pcapng: bool = isinstance(self._reader, pcapng.PcapngReader)

    def __enter__(self) -> Frames:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def __iter__(self) -> Iterator[Frame]:
        number, last = 0, 0
        try:
            for data, packets in packets_of(self.source.stream, self._reader, self._head):
                for time, link, start, end in packets:
                    number, last = number + 1, last if time is None else time
                    sent = max(self._reader.sent(data, start), end - start)
                    yield Frame(number, last, link, data[start:end], sent)
        except Damaged as damage:
            self.problem = str(damage).format(last=number, next=number + 1)
        self.problem = self.problem or self.source.feed.trouble


class FragmentFrame(NamedTuple):
    """A frame that holds a piece of an IP packet, and the piece: the outermost one, where pieces hold pieces."""

    frame: Frame
    fragment: Fragment


class Dissectors:
    """Finds the TCP segments in frames, whatever their link type; packets that were sent in pieces are put together.

    `pieces` are those of the packet that was returned last, and `whole` that packet from its IP header on: none and
    b"" for one that stands in a single frame. `is_piece` says whether the last frame held a piece, `lost` how many
    pieces of no packet were met. Where pieces hold pieces again, `whole` is b"" and `pieces` are the outermost.
    """

    def __init__(self) -> None:
        self.pieces: list[FragmentFrame] = []
        self.whole = b""
        self.is_piece = False
        self._fragments = Fragments()
        self._held: dict[bytes, list[FragmentFrame]] = {}
        self._dissector = lru_cache(maxsize=64)(dissector)

    @property
    def lost(self) -> int:
        """Pieces without their others."""
        return self._fragments.lost

    def packet(self, frame: Frame) -> Packet | None:
        """Return the TCP segment of a frame, or of the IP packet that it makes whole; None where there is none yet."""
        found = self._dissector(frame.link)(frame.data)
        self.is_piece, self.whole, self.pieces = isinstance(found, Fragment), b"", []
        pieces = list[FragmentFrame]()
        while isinstance(found, Fragment):
            held = self._held.setdefault(found.key, [])
            held += pieces or [FragmentFrame(frame, found)]
            pieces, whole = held, self._fragments.add(found, frame.time)
            for key in [key for key in self._held if key not in self._fragments]:  # nothing waits for those any more
                del self._held[key]
            if whole is None:
                return None
            self.whole = b"" if self.whole else whole
            found = self._dissector(RAW)(whole)
        self.pieces = pieces
        return (frame.number, frame.time, *found) if found is not None else None


NANOSECONDS = 9
_head = struct.Struct("<IIIIIII").pack
_length = struct.Struct("<I").pack
PADDING = tuple(bytes(-length % 4) for length in range(4))


def section() -> bytes:
    """Return the block that a file begins with; interfaces are numbered from 0 after it."""
    return _block(pcapng.SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(link: int, name: str = "", snaplen: int = SNAPLEN) -> bytes:
    """Return the description of the next interface: its link type, its name if it has one."""
    options = _option(pcapng.IF_NAME, name.encode("utf-8", "replace")) if name else b""
    options += _option(pcapng.IF_TSRESOL, bytes([NANOSECONDS])) + bytes(4)
    return _block(pcapng.INTERFACE, struct.pack("<HHI", link, 0, snaplen) + options)


def enhanced(number: int, time: int, data: bytes, sent: int) -> bytes:
    """Return a packet of the interface of this number; it had `sent` bytes on the wire."""
    front, behind = around(number, time, len(data), sent)
    return b"%b%b%b" % (front, data, behind)


def around(number: int, time: int, size: int, sent: int) -> tuple[bytes, bytes]:
    """Return what comes before and after a packet of `size` bytes in its block."""
    length = 32 + size + (-size & 3)
    front = _head(pcapng.ENHANCED, length, number, time >> 32, time & 0xFFFFFFFF, size, sent)
    return front, PADDING[size & 3] + _length(length)


def statistics(number: int, time: int, counted: pcapng.Counted) -> bytes:
    """Return what was counted at an interface since the capture began."""
    options = b"".join(
        _option(code, struct.pack("<Q", count))
        for code, count in (
            (pcapng.ISB_SYSTEM_DROPPED, counted.dropped),
            (pcapng.ISB_ACCEPTED, counted.accepted),
            (pcapng.ISB_DELIVERED, counted.delivered),
        )
        if count is not None
    )
    return _block(pcapng.STATISTICS, struct.pack("<III", number, time >> 32, time & 0xFFFFFFFF) + options + bytes(4))


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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self.pcapng and not self._links and kind is None:
            self._output.write(file_header(1))

    def add(self, frame: Frame) -> None:
        """Write a frame."""
        link = frame.link
        if link not in self._links and (self.pcapng or not self._links):
            self._links.append(link)
            self._output.write(interface(link) if self.pcapng else file_header(link))
        if self.pcapng:
            self._output.write(enhanced(self._links.index(link), frame.time, frame.data, frame.sent))
            return
        if link != self._links[0]:
            problem = f"a pcap file has one link type, but the packets have {self._links[0]} and {link}"
            raise CaptureError(self.name, problem, REMEDY)
        seconds, rest = divmod(frame.time, 1_000_000_000)
        if seconds >> 32:
            raise CaptureError(self.name, "a pcap file cannot store times after 2106", REMEDY)
        self._output.write(struct.pack("<IIII", seconds, rest, len(frame.data), frame.sent) + frame.data)
