"""The packets of a capture as its file has them, for who writes them again: link bytes, time, length on the wire.

A path, "-" or a binary stream goes in, Frames come out one by one, numbered as `Capture` numbers them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import BinaryIO, NamedTuple

from kdbg.capture.formats import Damaged, open_reader, packets_of
from kdbg.capture.fragments import Fragment, Fragments
from kdbg.capture.links import RAW, Found, dissector
from kdbg.capture.packet import Packet
from kdbg.capture.pcapng import PcapngReader
from kdbg.capture.source import Source, open_source


class Frame(NamedTuple):
    """A packet: its number from 1, nanoseconds since the epoch, link type, bytes captured, bytes `sent` on the wire."""

    number: int
    time: int
    link: int
    data: bytes
    sent: int


class Frames:
    """A context manager, to be iterated once. `problem` says what ended the file early; "" for a file that is whole."""

    source: Source
    problem: str

    def __init__(self, source: str | os.PathLike[str] | BinaryIO) -> None:
        self.source = open_source(source)
        self.problem = ""
        try:
            self._reader, self._head = open_reader(self.source, lambda text: None)
        except BaseException:
            self.source.close()
            raise
        self.is_pcapng: bool = isinstance(self._reader, PcapngReader)

    def __enter__(self) -> Frames:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        self._by_link: dict[int, Callable[[bytes], Found]] = {}

    @property
    def lost(self) -> int:
        """Pieces without their others."""
        return self._fragments.lost

    def packet(self, frame: Frame) -> Packet | None:
        """Return the TCP segment of a frame, or of the IP packet that it makes whole; None where there is none yet."""
        found = self._dissected(frame.link, frame.data)
        self.is_piece, self.whole, self.pieces = isinstance(found, Fragment), b"", []
        pieces = list[FragmentFrame]()
        while isinstance(found, Fragment):
            pieces = self._hold(found, pieces or [FragmentFrame(frame, found)])
            whole = self._fragments.add(found, frame.time)
            self._let_go()
            if whole is None:
                return None
            self.whole = b"" if self.whole else whole
            found = self._dissected(RAW, whole)
        self.pieces = pieces
        return (frame.number, frame.time, *found) if found is not None else None

    def _dissected(self, link: int, data: bytes) -> Found:
        dissect = self._by_link.get(link)
        if dissect is None:
            dissect = self._by_link[link] = dissector(link)
        return dissect(data)

    def _hold(self, fragment: Fragment, pieces: list[FragmentFrame]) -> list[FragmentFrame]:
        """Hold pieces beside those with the same key; return all of them."""
        held = self._held.setdefault(fragment.key, [])
        held += pieces
        return held

    def _let_go(self) -> None:
        """Forget the pieces that nothing waits for any more."""
        for key in [key for key in self._held if key not in self._fragments]:
            del self._held[key]
