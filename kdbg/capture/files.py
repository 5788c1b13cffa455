"""A capture, opened: a path, "-" or a binary stream goes in, its TCP segments come out, many at a time.

pcap and pcapng, plain or compressed, told apart by their first bytes. Memory stays flat, a live pipe's packets come as
they arrive. After opening nothing is raised over what the capture holds: see `Capture.problems`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from types import TracebackType
from typing import BinaryIO, NamedTuple, TypeAlias

from kdbg.capture.everyday import segments
from kdbg.capture.formats import Batch, Damaged, open_reader, packets_of
from kdbg.capture.fragments import Fragment, Fragments
from kdbg.capture.keylog import KeyLog
from kdbg.capture.links import RAW, Found, dissector
from kdbg.capture.packet import Packet, Segment
from kdbg.capture.pcap import RawPacket
from kdbg.capture.source import Source, open_source
from kdbg.protocol.findings import Finding, Kind
from kdbg.protocol.findings.facts import CaptureTrouble

FRAGMENTED = "an IP fragment whose other fragments are not in the capture"
MOST_NOTES = 100
Data: TypeAlias = bytes
"""What `Capture` cannot call bytes, as it counts them under that name."""


class Lost(NamedTuple):
    """Packets that a capture lacks: `dropped` by the system, `unread` because nobody read them fast enough."""

    dropped: int = 0
    unread: int = 0


def open_capture(source: str | os.PathLike[str] | BinaryIO) -> Capture:
    """Open a capture; "-" is the standard input. Raises UnknownCapture, CaptureRefused or CaptureError."""
    opened = open_source(source)
    try:
        return Capture(opened)
    except BaseException:
        opened.close()
        raise


class Capture:
    """A context manager, to be gone through once: by `blocks`, or as an iterator of Packet. `source` is what it reads.

    `packets` and `bytes` count what was read so far, `other` the packets among them that are no TCP; `first_time` and
    `last_time` are those of the first and the latest packet, in nanoseconds, None before there is one. A part of a
    capture says how many packets are `before` it: they count as if they had been read. `keys` are the secrets of TLS
    that stand in it, and others that it is given.
    """

    packets: int
    bytes: int
    other: int

    def __init__(self, source: Source, *, before: int = 0, keys: KeyLog | None = None) -> None:
        self.name: str = source.name
        self.packets = before
        self.bytes = self.other = 0
        self.first_time: int | None = None
        self.last_time: int | None = None
        self._notes: dict[str, int] = {}
        self.source: Source = source
        self._pause: float | None = None
        self._singly = False
        self._dissectors: dict[int, Callable[[bytes], Found]] = {}
        self._fragments = Fragments()
        self.keys: KeyLog = KeyLog() if keys is None else keys
        self._reader, head = open_reader(source, self._note, self.keys.take)
        self._walk = self._blocks(packets_of(source.stream, self._reader, head, self._is_silent))
        self._packets = (packet for block in self._walk for packet in block)

    def secrets(self, paths: Iterable[str] | None) -> KeyLog:
        """Return the secrets of TLS that stand in it, with those of key logs; raise as `KeyLog.use`."""
        return self.keys.use(paths or (), live=self.source.pipe is not None)

    @property
    def lost(self) -> Lost | None:
        """How many packets are missing in it, as far as it was read; None where it does not say."""
        counted = self._reader.counted.values()
        if not counted:
            return None
        return Lost(sum(one.dropped for one in counted), sum(one.unread for one in counted))

    @property
    def problems(self) -> list[Finding]:
        """What is wrong with the capture itself, as far as it was read."""
        lost = {FRAGMENTED: self._fragments.lost} if self._fragments.lost else {}
        notes = {**self._notes, **lost}
        return [Finding(Kind.DAMAGED_CAPTURE, facts=CaptureTrouble(text, times)) for text, times in notes.items()]

    def __iter__(self) -> Iterator[Packet]:
        self._singly = True
        return self._packets

    def __next__(self) -> Packet:
        return next(iter(self))

    def blocks(self, *, pause: float | None = None, singly: bool = False) -> Iterator[list[Packet]]:
        """Return an iterator of the packets, as many at a time as have come; `singly`: one at a time.

        The counts are those of the blocks that were taken. An empty list stands for a pause: nothing has come from a
        pipe for `pause` seconds.
        """
        self._pause, self._singly = pause, singly
        return self._walk

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the iteration; a stream that was handed in stays open."""
        self._walk.close()
        self.source.close()

    def _blocks(self, arrived: Iterator[Batch]) -> Generator[list[Packet], None, None]:
        for data, raw in self._sound(arrived):
            if not raw:
                yield []
            elif not self._singly:
                if packets := self._segments(data, raw):
                    yield packets
            else:
                for each in raw:
                    if packets := self._segments(data, [each]):
                        yield packets

    def _segments(self, data: Data, raw: list[RawPacket]) -> list[Packet]:
        """Return the TCP segments, and count."""
        found, size, time = segments(data, raw, self.packets, self.last_time or 0, self._odd)
        if self.first_time is None:
            self.first_time = raw[0][0] or 0
        self.packets += len(raw)
        self.bytes += size
        self.last_time = time
        return found

    def _odd(self, link: int, data: Data, time: int) -> Segment | None:
        """Return what is in a packet that is not an everyday one, or in the packet that this fragment makes whole."""
        found = self._dissected(link, data)
        while isinstance(found, Fragment):  # a tunnel's packets may be sent in pieces, and be pieces themselves
            whole = self._fragments.add(found, time)
            found = None if whole is None else self._dissected(RAW, whole)
        if found is None:
            self.other += 1
        return found

    def _dissected(self, link: int, data: Data) -> Found:
        dissect = self._dissectors.get(link)
        if dissect is None:
            dissect = self._dissectors[link] = dissector(link, self._note)
        return dissect(data)

    def _is_silent(self) -> bool:
        return self._pause is not None and self.source.is_silent(self._pause)

    def _sound(self, arrived: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the packets before the damage, if there is any."""
        trouble = ""
        try:
            yield from arrived
        except Damaged as damage:
            trouble = str(damage).format(last=self.packets, next=self.packets + 1)
        if self.source.feed.trouble:
            trouble = f"{self.source.feed.trouble}, after packet {self.packets}"
        if trouble:
            self._note(trouble)

    def _note(self, text: str) -> None:
        if text in self._notes or len(self._notes) < MOST_NOTES:
            self._notes[text] = self._notes.get(text, 0) + 1
