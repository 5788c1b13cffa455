"""A live session, saved: the bytes that the two ends sent go in, a capture that every tool opens is written.

The TCP around the bytes is made up: a handshake before a connection's first bytes, numbers that fit, a FIN when the
file is closed. Bytes stand as kdbg saw them, which is in the clear even where TLS was spoken. The file is a pcap of
nanoseconds, its packets begin with their IP header.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias

from kdbg.atomic import private
from kdbg.capture.packet import ACK, FIN, PSH, SYN, Endpoint
from kdbg.capture.pcap import file_header, packet_record
from kdbg.errors import CaptureError, CaptureRefused

RAW_IP, TCP = 101, 6
MOST = 60_000
"""Bytes of a segment: IP can carry 65,535 with the headers."""
MOST_LONG = 250_000
"""Bytes of a segment whose IP header says 0 for its length, as captures have it where a network card cuts segments."""
WINDOW = LONGEST = 0xFFFF
MASK = 0xFFFFFFFF
TICK = 4_000
"""Nanoseconds after which the clock of initial sequence numbers counts on (RFC 9293, 3.4.1)."""
APART = 1 << 31
"""What lies between the initial sequence numbers of the two ends of a connection."""
CLIENT, BROKER = 0, 1
Buffer: TypeAlias = "bytes | memoryview"
Parted: TypeAlias = "tuple[bytes, Buffer]"
"""A packet as its headers and what follows them."""


class Talks:
    """Connections by their ends, and the packets, from the IP header on, that what was said over them becomes.

    Packets that are not written are bytes that the capture lacks. Clients may use a source port again: `connection`
    numbers the connections that have the same ends, in the order in which they begin. What comes of one that has had a
    successor is no packet.
    """

    def __init__(self, *, plain: bool = False) -> None:
        """Make none yet; `plain` packets cost less: long ones without checksums, which is enough for kdbg itself."""
        self._talks: dict[tuple[Endpoint, Endpoint], MadeUp] = {}
        self._plain = plain
        self._ticks = 0

    def packets(
        self, client: Endpoint, broker: Endpoint, from_client: bool, data: Buffer, time_ns: int = 0,
        connection: int = 0,
    ) -> Iterator[bytes]:  # fmt: skip
        """Yield the packets of bytes that went over a connection, after a handshake if they are its first."""
        for head, payload in self.parted(client, broker, from_client, data, time_ns, connection):
            yield head + payload

    def parted(
        self, client: Endpoint, broker: Endpoint, from_client: bool, data: Buffer, time_ns: int = 0,
        connection: int = 0,
    ) -> Iterator[Parted]:  # fmt: skip
        """Yield the same, each packet as its headers and the part of `data` after them, which is not copied."""
        talk = self._talks.get((client, broker))
        if talk is not None and talk.number > connection:
            return
        if talk is None or talk.number < connection:
            for packet in talk.ending() if talk is not None else ():
                yield packet, b""
            self._ticks = max(self._ticks + 1, time_ns // TICK)
            talk = MadeUp(client, broker, number=connection, first=self._ticks, plain=self._plain)
            self._talks[client, broker] = talk
            for packet in talk.opening():
                yield packet, b""
        yield from talk.parted(CLIENT if from_client else BROKER, data)

    def ended(self, client: Endpoint, broker: Endpoint, connection: int = 0) -> Iterator[bytes]:
        """Yield the packets that end a connection, if it had any and has had no successor."""
        talk = self._talks.get((client, broker))
        if talk is not None and talk.number == connection:
            del self._talks[client, broker]
            yield from talk.ending()

    def all_ended(self) -> Iterator[bytes]:
        """Yield the packets that end all connections that are left."""
        for (client, broker), talk in list(self._talks.items()):
            yield from self.ended(client, broker, talk.number)


class CaptureWriter:
    """A context manager. `tap` is told of bytes as they go; each call is in the file when it returns.

    A process that is killed leaves a file that can be read up to its last packet. Where the system takes no more, the
    file ends after its last complete packet and is closed. Errors call the file `name`, where it is not complete and
    has another one.
    """

    def __init__(self, path: str | os.PathLike[str], *, name: str = "") -> None:
        self.name: str = name or os.fspath(path)
        self._talks = Talks()
        self._time = self._size = 0
        try:
            with ExitStack() as undo:
                self._file = undo.enter_context(open(path, "wb", buffering=0, opener=private))
                self._append(file_header(RAW_IP))
                undo.pop_all()  # it stays open until `close`
        except OSError as error:
            raise CaptureRefused(self.name, f"cannot be written: {error.strerror}") from None

    def __enter__(self) -> CaptureWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tap(
        self, client: Endpoint, broker: Endpoint, from_client: bool, data: Buffer, time_ns: int, connection: int = 0
    ) -> None:
        """Write bytes that went over a connection, after a handshake if they are its first; do nothing after `close`.

        `time_ns` is nanoseconds since the epoch; `connection` is as in `Talks`. Raise `CaptureError` where the file
        cannot be written any further; the next call does nothing.
        """
        self._write(self._talks.packets(client, broker, from_client, data, time_ns, connection), time_ns)

    def ended(self, client: Endpoint, broker: Endpoint, time_ns: int, connection: int = 0) -> None:
        """End a connection; do nothing for one that nothing was written of, or after `close`."""
        self._write(self._talks.ended(client, broker, connection), time_ns)

    def close(self) -> None:
        """End every connection, and the file."""
        try:
            self._write(self._talks.all_ended(), self._time)
        finally:
            self._file.close()

    def _write(self, packets: Iterator[bytes], time_ns: int) -> None:
        if self._file.closed:
            return
        self._time = max(self._time, time_ns)
        try:
            for packet in packets:
                self._append(packet_record(time_ns, packet))
        except OSError as error:
            with suppress(OSError):  # a pipe or device
                self._file.truncate(self._size)
            self._file.close()
            raise CaptureError(self.name, f"cannot be written further: {error.strerror}") from None

    def _append(self, data: bytes) -> None:
        """Write all of `data`: a file without a buffer may take less than it is given."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]
        self._size += len(data)


class MadeUp:
    """A TCP connection made up around bytes: makes its packets, which begin with their IP header.

    It counts the sequence numbers that each end, `CLIENT` or `BROKER`, has used, from `first` of the client on. With
    equal ones the SYN of another connection with the same ends is a retransmission for its reader. Packets are
    in the order of the calls. `number` is whatever its owner numbers connections by.
    """

    def __init__(self, client: Endpoint, broker: Endpoint, *, first: int, number: int = 0, plain: bool = False) -> None:
        self.number: int = number
        self._plain = plain
        pair = [ip_address(address.partition("%")[0]) for address, _ in (client, broker)]  # zones are left out
        if pair[0].version != pair[1].version:
            pair = [IPv6Address(f"::ffff:{one}") if isinstance(one, IPv4Address) else one for one in pair]
        self._ends = (pair[0].packed, client[1]), (pair[1].packed, broker[1])
        self._used = [first & MASK, first + APART & MASK]

    def opening(self) -> Iterator[bytes]:
        """Yield the packets of the handshake."""
        yield self._headers(CLIENT, SYN)
        yield self._headers(BROKER, SYN | ACK)
        yield self._headers(CLIENT, ACK)

    def parted(self, end: int, data: Buffer) -> Iterator[Parted]:
        """Yield the packets by which an end sends bytes, each as its headers and the part of `data` after them."""
        most = MOST_LONG if self._plain else MOST
        if len(data) > most:
            data = memoryview(data)
        for start in range(0, len(data), most):
            payload = data[start : start + most]
            yield self._headers(end, PSH | ACK, payload), payload

    def pass_over(self, end: int, length: int) -> None:
        """Leave out so many bytes that an end sent: a gap."""
        self._used[end] += length

    def ending(self) -> Iterator[bytes]:
        """Yield the packets by which both ends close."""
        yield self._headers(CLIENT, FIN | ACK)
        yield self._headers(BROKER, FIN | ACK)
        yield self._headers(CLIENT, ACK)

    def _headers(self, end: int, flags: int, payload: Buffer = b"") -> bytes:
        """Return the headers of the next packet that this end sends; it acknowledges all that the other has sent."""
        (source, port), (target, other_port) = self._ends[end], self._ends[1 - end]
        seq, ack = self._used[end], self._used[1 - end] if flags & ACK else 0
        self._used[end] += len(payload) + bool(flags & (SYN | FIN))
        head = struct.pack(">HHIIBBHHH", port, other_port, seq & MASK, ack & MASK, 0x50, flags, WINDOW, 0, 0)
        length = len(head) + len(payload)
        if not self._plain:
            pseudo_header = source + target + struct.pack(">II", length, TCP)
            head = head[:16] + struct.pack(">H", checksum(pseudo_header + head + payload)) + head[18:]
        if len(source) == 16:
            front = struct.pack(">IHBB", 6 << 28, length if length <= LONGEST else 0, TCP, 64)
        else:
            total = 20 + length if 20 + length <= LONGEST else 0
            front = struct.pack(">BBHHHBB", 0x45, 0, total, 0, 0x4000, 64, TCP)
            front += struct.pack(">H", checksum(front + source + target))
        return front + source + target + head


def checksum(data: bytes) -> int:
    """Return the internet checksum (RFC 1071) of the bytes; a sum in one's complement is one modulo 2^16 - 1."""
    return -int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF
