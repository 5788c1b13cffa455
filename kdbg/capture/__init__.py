"""Where packets come from: a capture file, a pipe or a stream of bytes goes in, TCP segments come out.

Knows nothing of Kafka and prints nothing. scapy is imported for tunnels and rare link types alone, when one is met.

The everyday packet (a link without tags, IPv4 or IPv6 without options, TCP) is read here where it stands, by one
unpack; every other goes to the dissector of its link type, and what comes out is the same as if all had gone there.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from ..protocol.findings import Finding, Kind
from ..protocol.findings.facts import CaptureTrouble
from .keylog import KeyLog
from .links import IPV4, IPV6, RAW, TCP, Fragment, Fragments, dissector
from .packet import SHUT, Packet, Piece, PieceCounts, Segment
from .pcap import PcapReader, RawPacket
from .source import CHUNK, Batch, Damaged, Source, open_reader, open_source, packets_of, part, reopened

__all__ = ["Capture", "Packet", "open_capture"]


class LinkForm(NamedTuple):
    """How everyday packets of a link type begin: see `_form`."""

    ip: int
    """Where the IP header begins."""
    least: int
    """Bytes up to TCP's window over IPv4, that included."""
    kinds: tuple[bytes, bytes]
    """What announces IPv4 and IPv6; nothing where the version in the IP header does."""
    ipv4: Callable[[bytes, int], tuple[Any, ...]]
    """kind, total length, fragment, protocol, flow; TCP's seq, ack, offset, flags, window."""
    ipv6: Callable[[bytes, int], tuple[Any, ...]]
    """kind, payload length, next header, flow; TCP's seq, ack, offset, flags, window."""


def _form(ip: int, kind: int | None = None) -> LinkForm:
    """Return the form of a link whose header has `ip` bytes, among them two at `kind` that say what follows."""
    link = f"{ip}x0s" if kind is None else f"{kind}x2s{ip - kind - 2}x"
    ipv4, ipv6 = struct.Struct(f">{link}2xH2xHxB2x12sIIBBH"), struct.Struct(f">{link}4xHBx36sIIBBH")
    kinds = (b"", b"") if kind is None else (IPV4, IPV6)
    return LinkForm(ip, ipv4.size, kinds, ipv4.unpack_from, ipv6.unpack_from)


FORMS = {
    0: _form(4),
    1: _form(14, 12),
    **dict.fromkeys((12, 14, 101, 228, 229), _form(0)),
    108: _form(4),
    113: _form(16, 14),
    276: _form(20, 0),
}
"""By link type. Those not in it have no everyday packets."""
NONE = FORMS[1]._replace(least=1 << 62)
"""Of a link type that has no everyday packets: none is so long."""
LONGER = 20
"""Bytes that IPv6's header has more than IPv4's."""


def segments(
    data: bytes, packets: list[RawPacket], number: int, time: int, odd: Callable[[int, bytes, int], Segment | None]
) -> tuple[list[Packet], int, int]:
    """Return the TCP segments of the packets in `data`, how many bytes the packets have, and the last one's time.

    The packets follow packet `number`, and one without a time has that of the one before it; before the first that is
    `time`. `odd` is asked for what is in a packet that is not an everyday one.
    """
    found: list[Packet] = []
    add, size, form = found.append, 0, -1
    ip, least, (kind4, kind6), ipv4, ipv6 = NONE
    for moment, link, start, stop in packets:  # one loop without calls, as it runs for every packet of a capture
        number += 1
        if moment is not None:
            time = moment
        length = stop - start
        size += length
        if link != form:
            form = link
            ip, least, (kind4, kind6), ipv4, ipv6 = FORMS.get(link, NONE)
        if length >= least and (version := data[start + ip]) == 0x45:
            kind, total, fragment, protocol, flow, seq, ack, offset, flags, window = ipv4(data, start)
            plain = protocol == TCP and kind == kind4 and not fragment & 0x3FFF
            body = start + ip + 20
            end = start + ip + total if total else stop
        elif length >= least + LONGER and version >> 4 == 6:
            kind, total, protocol, flow, seq, ack, offset, flags, window = ipv6(data, start)
            plain = protocol == TCP and kind == kind6
            body = start + ip + 40
            end = body + total if total else stop
        else:
            plain = False
        if plain and offset >= 0x50:
            begin = body + (offset >> 2 & 0x3C)
            if begin <= end:
                if not window:
                    flags |= SHUT
                add((number, time, flow, seq, ack, flags, data[begin : end if end < stop else stop], end - begin))
                continue
        if segment := odd(link, data[start:stop], time):
            add((number, time, *segment))
    return found, size, time


FRAGMENTED = "an IP fragment whose other fragments are not in the capture"
MOST_NOTES = 100
COUNTED = ("packets", "bytes", "other", "put_together", "first_time", "last_time", "_notes")
"""What a capture counts beside fragments."""
Data: TypeAlias = bytes
"""What `Capture` cannot call bytes, as it counts them under that name."""


class Lost(NamedTuple):
    """Packets that a capture lacks: `dropped` by the system, `unread` because they were not read fast enough."""

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

    `packets` and `bytes` count what was read so far, `other` the packets among them that are no TCP, `put_together`
    the IP packets that were sent in pieces; `first_time` and `last_time` are those of the first and the latest packet,
    in nanoseconds, None before there is one. A part of a capture says how many packets are `before` it: they count as
    if they had been read. Of those in the source, the first ones are skipped (`skip`), and at most so many read
    (`most`). `keys` are the secrets of TLS that stand in it, and others that it is given.
    """

    batch: Callable[[Data, list[RawPacket]], None] | None = None
    """Called with bytes and the packets in them before `packets` counts these and they are yielded."""

    def __init__(
        self, source: Source, *, before: int = 0, skip: int = 0, most: int | None = None, keys: KeyLog | None = None
    ) -> None:
        self.name: str = source.name
        self.packets: int = before
        self.bytes: int = 0
        self.other: int = 0
        self.put_together: int = 0
        self.first_time: int | None = None
        self.last_time: int | None = None
        self._notes: dict[str, int] = {}
        self.source: Source = source
        self._pause: float | None = None
        self._singly = False
        self._dissector = lru_cache(maxsize=64)(partial(dissector, note=self._note))
        self._fragments = Fragments()
        self.keys: KeyLog = KeyLog() if keys is None else keys
        self._fragmented = False
        self._reader, self._head = open_reader(source, self._note, self.keys.take)
        arrived = packets_of(source.stream, self._reader, self._head, self._is_silent)
        self._end = None if most is None else before + most
        self._walk = self._blocks(arrived if most is None and not skip else part(arrived, skip, most))
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

    def pieces(self, size: Callable[[], int]) -> Generator[Piece, None, None]:
        """Yield the capture in pieces; `size` says about how many bytes the next one has. `blocks` gives what is left.

        What comes in pieces is not counted: `read` or `add` does so, in the order of the pieces.
        """
        stream, reader, data, before = self.source.stream, self._reader, self._head, self.packets
        try:
            while more := stream.read(max(size() - len(data), CHUNK)):
                data += more
                used, count, state = reader.divide(data)
                damage = ""
                piece = Piece(memoryview(data)[:used], before, count, state)
                if not used:
                    packets, used, _, damage = reader.take(data)
                    count = len(packets)
                    piece = Piece(data, before, count, taken=packets)
                data, before = data[used:], before + count
                if count:
                    yield piece
                if damage:
                    break
        finally:
            self._walk = self._blocks(packets_of(stream, reader, data, self._is_silent))

    def read(self, piece: Piece) -> Iterator[list[Packet]]:
        """Yield the packets of a piece, as many at a time as `blocks` does, and count them."""
        if piece.taken is not None:
            if packets := self._count(bytes(piece.data), piece.taken):
                yield packets
            return
        reader: Any = self._reader
        state = reader.divide(b"")[2]
        reader.resume(piece.state)
        for data, raw in packets_of(io.BufferedReader(io.BytesIO(piece.data), CHUNK), reader, b""):
            if packets := self._count(data, raw):
                yield packets
        reader.resume(state)

    def read_alone(self, piece: Piece, take: Callable[[list[Packet]], object]) -> PieceCounts:
        """Give the packets of a piece to `take`; return what they add to the counts, which are as before."""
        counted = self.packets, self.bytes, self.other, self.first_time, self.last_time
        noted = self._notes, self._fragments, self._fragmented
        self.packets, self.bytes, self.other, self.first_time, self.last_time = piece.before, 0, 0, None, None
        self._notes, self._fragments, self._fragmented = {}, Fragments(), False
        for packets in self.read(piece):
            take(packets)
        first, last = self.first_time or 0, self.last_time or 0
        packets_read = self.packets - piece.before
        found = PieceCounts(packets_read, self.bytes, self.other, first, last, self._notes, self._fragmented)
        self.packets, self.bytes, self.other, self.first_time, self.last_time = counted
        self._notes, self._fragments, self._fragmented = noted
        return found

    def add(self, counts: PieceCounts) -> None:
        """Count the packets of a piece that a copy has read."""
        if self.first_time is None:
            self.first_time = counts.first_time
        self.packets, self.bytes, self.other = (
            self.packets + counts.packets, self.bytes + counts.bytes, self.other + counts.other,
        )  # fmt: skip
        self.last_time = counts.last_time
        for text, times in counts.notes.items():
            self._note(text, times)

    def position(self) -> dict[str, Any] | None:
        """Return what `resume` needs to go on after the packets so far; None where it would need more."""
        if self._fragmented or self._reader.counted:
            return None
        return {"state": self._reader.divide(b"")[2]} | {name: getattr(self, name) for name in COUNTED}

    def resume(self, position: dict[str, Any], place: int, read: int) -> None:
        """Go on at a place of the file, as if all before had been read, and the bytes up to `read` were at hand."""
        for name in COUNTED:
            setattr(self, name, position[name])
        self._reader.resume(position["state"])
        begun = os.pread(self.source.raw.fileno(), read - place, place)
        self.source = reopened(self.source, read)
        self._walk = self._blocks(packets_of(self.source.stream, self._reader, begun, self._is_silent))

    def packets_in(self, data: bytes) -> list[RawPacket]:
        """Return the packets in bytes that were read before."""
        reader = self._reader
        if not isinstance(reader, PcapReader):
            state, reader = reader.divide(b"")[2], type(reader)(lambda text: None, len)
            reader.resume(state)
        return reader.take(data).packets

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the iteration; a stream that was handed in stays open."""
        self._walk.close()
        self.source.close()

    def _blocks(self, arrived: Iterator[Batch]) -> Generator[list[Packet], None, None]:
        """Yield the packets before the damage, if there is any."""
        trouble = ""
        try:
            for data, raw in arrived:
                if self.batch is not None:
                    self.batch(data, raw)
                if not raw:
                    yield []
                for some in [[each] for each in raw] if self._singly else [raw] if raw else []:
                    if packets := self._count(data, some):
                        yield packets
        except Damaged as damage:
            trouble = str(damage).format(last=self.packets, next=self.packets + 1)
        if self.source.feed.trouble and self.packets != self._end:  # after that, the file is being written
            trouble = f"{self.source.feed.trouble}, after packet {self.packets}"
        if trouble:
            self._note(trouble)

    def _count(self, data: Data, raw: list[RawPacket]) -> list[Packet]:
        """Return the TCP segments of packets, and count these."""
        packets, size, self.last_time = segments(data, raw, self.packets, self.last_time or 0, self._odd)
        if self.first_time is None:
            self.first_time = raw[0][0] or 0
        self.packets += len(raw)
        self.bytes += size
        return packets

    def _odd(self, link: int, data: Data, time: int) -> Segment | None:
        """Return what is in a packet that is not an everyday one, or in the packet that this fragment makes whole."""
        found = self._dissector(link)(data)
        while isinstance(found, Fragment):  # a tunnel's packets may be sent in pieces, and be pieces themselves
            self._fragmented = True
            whole = self._fragments.add(found, time)
            self.put_together += whole is not None
            found = None if whole is None else self._dissector(RAW)(whole)
        if found is None:
            self.other += 1
        return found

    def _is_silent(self) -> bool:
        return self._pause is not None and self.source.is_silent(self._pause)

    def _note(self, text: str, times: int = 1) -> None:
        if text in self._notes or len(self._notes) < MOST_NOTES:
            self._notes[text] = self._notes.get(text, 0) + times
