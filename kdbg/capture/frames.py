"""The packets of a capture as its file has them, for who writes them again: link bytes, time, length on the wire.

A path, "-" or a binary stream goes in, Frames come out one by one, numbered as `Capture` numbers them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import BinaryIO, NamedTuple

from kdbg.capture.formats import Damaged, open_reader, packets_of
from kdbg.capture.fragments import Fragment
from kdbg.capture.links import Found, dissector
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


class Dissectors:
    """Finds the TCP segment in a frame, whatever its link type; `fragments` counts the pieces of IP packets."""

    def __init__(self) -> None:
        self.fragments = 0
        self._by_link: dict[int, Callable[[bytes], Found]] = {}

    def packet(self, frame: Frame) -> Packet | None:
        """Return the TCP segment of a frame; None where there is none, or a piece of an IP packet."""
        dissect = self._by_link.get(frame.link)
        if dissect is None:
            dissect = self._by_link[frame.link] = dissector(frame.link)
        found = dissect(frame.data)
        if isinstance(found, Fragment):
            self.fragments += 1
            return None
        return (frame.number, frame.time, *found) if found is not None else None
