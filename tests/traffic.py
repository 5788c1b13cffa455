"""Captures that tests write: dialogues of clients with brokers as the packets of TCP connections, in a pcap file.

    talk = Talk().ask("Metadata", 1).answer(brokers=[...])
    path.write_bytes(pcap(talk))

The first packet is of 2026-11-21 12:30:00 UTC; every packet comes a millisecond after the one before.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple

import kdbg
from kdbg.protocol.wire.language import Direction

START = 1_795_264_200
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
RAW_IP = 101
"""The link type whose packets begin with their IP header."""


class Segment(NamedTuple):
    """One packet: its bytes from the IP header on, and how many milliseconds after the start it comes."""

    data: bytes
    at: int


class Talk:
    """One TCP connection, from its SYN on. Answers go to the oldest request that has none."""

    def __init__(
        self, client: tuple[str, int] = ("10.0.0.1", 51514), broker: tuple[str, int] = ("10.0.0.2", 9092), *,
        client_id: str | None = "kdbg", most: int = 1400, at: int = 0,
    ) -> None:  # fmt: skip
        self.ends, self.client_id, self.most, self.at = (client, broker), client_id, most, at
        self.segments: list[Segment] = []
        self.asked: list[tuple[str | int, int, int]] = []
        self.correlation_id = 0
        self.next = [1000, 5000]
        self._packet(0, SYN)
        self._packet(1, SYN | ACK)
        self.next = [1001, 5001]

    @classmethod
    def in_vain(cls, *times: int, refused: int | None = None, **more: Any) -> Talk:
        """A connection that is asked for at these times, in milliseconds, and turned down at another one, if at all."""
        talk = cls(**more)
        asks = [talk.segments[0]._replace(at=talk.at + time) for time in times]
        talk.segments = []
        if refused is not None:
            talk.next = [1001, 0]
            talk._packet(1, RST | ACK)
        talk.segments = [*asks, *(segment._replace(at=talk.at + (refused or 0)) for segment in talk.segments)]
        return talk

    def ask(self, api: str | int, version: int, **body: Any) -> Talk:
        """A request, its body built from these fields."""
        return self.ask_bytes(api, version, kdbg.encode(body, api=api, version=version, direction="request"))

    def ask_bytes(self, api: str | int, version: int, body: bytes) -> Talk:
        """A request whose body is these bytes; one that kdbg has no grammar for has a header of v1, and a key."""
        self.correlation_id += 1
        self.asked.append((api, version, self.correlation_id))
        header = {"correlation_id": self.correlation_id, "client_id": self.client_id}
        try:
            front = header_bytes(api, version, "request", header)
        except kdbg.GrammarError:
            assert self.client_id is not None
            front = struct.pack(">hhi", api, version, self.correlation_id) + packed(self.client_id.encode())
        return self.send(framed(front + body))

    def answer(self, **body: Any) -> Talk:
        """A response, its body built from these fields."""
        api, version, _ = self.asked[0]
        return self.answer_bytes(kdbg.encode(body, api=api, version=version, direction="response"))

    def answer_bytes(self, body: bytes) -> Talk:
        """A response whose body is these bytes; to a request that kdbg has no grammar for, with a header of v0."""
        api, version, correlation_id = self.asked.pop(0)
        try:
            front = header_bytes(api, version, "response", {"correlation_id": correlation_id})
        except kdbg.GrammarError:
            front = struct.pack(">i", correlation_id)
        return self.reply(framed(front + body))

    def send(self, data: bytes) -> Talk:
        """Bytes of the client, as they are."""
        return self._data(0, data)

    def reply(self, data: bytes) -> Talk:
        """Bytes of the broker, as they are."""
        return self._data(1, data)

    def lose(self, length: int, *, broker: bool = False) -> Talk:
        """Bytes that were sent and are not in the capture."""
        self.next[broker] += length
        return self

    def end(self) -> Talk:
        """Both sides hang up."""
        self._packet(0, FIN | ACK)
        self._packet(1, FIN | ACK)
        return self

    def _data(self, side: int, data: bytes) -> Talk:
        for start in range(0, len(data), self.most):
            self._packet(side, PSH | ACK, data[start : start + self.most])
        return self

    def _packet(self, side: int, flags: int, payload: bytes = b"") -> None:
        source, target = self.ends[side], self.ends[1 - side]
        ack = self.next[1 - side] if flags & ACK else 0
        tcp = struct.pack(">HHIIBBHHH", source[1], target[1], self.next[side], ack, 0x50, flags, 65535, 0, 0) + payload
        self.segments.append(Segment(ip(source[0], target[0], tcp), self.at + len(self.segments)))
        self.next[side] += len(payload)


def header_bytes(api: str | int, version: int, direction: Direction, header: Mapping[str, Any]) -> bytes:
    """The header of a message alone."""
    body = kdbg.encode({}, api=api, version=version, direction=direction)
    whole = kdbg.encode({}, api=api, version=version, direction=direction, header=header)
    return whole[: len(whole) - len(body)]


def ip(source: str, target: str, tcp: bytes) -> bytes:
    """An IP packet, of the version that the addresses are of."""
    ends = ip_address(source).packed + ip_address(target).packed
    if len(ends) == 8:
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + ends + tcp
    return struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + ends + tcp


def framed(message: bytes) -> bytes:
    """A message behind its size."""
    return struct.pack(">i", len(message)) + message


def client_hello(server_name: str) -> bytes:
    """The first record of a TLS client that knows TLS 1.3 (RFC 8446, 4.1.2) and asks for a server by its name."""
    name = server_name.encode()
    names = struct.pack(">HBH", len(name) + 3, 0, len(name)) + name
    extensions = struct.pack(">HH", 0, len(names)) + names + bytes.fromhex("002b00050403040303")
    body = b"\x03\x03" + bytes(32) + b"\0" + bytes.fromhex("000213010100")
    body += struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + struct.pack(">H", len(message)) + message


def packed(text: bytes) -> bytes:
    """A STRING."""
    return struct.pack(">h", len(text)) + text


PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, RAW_IP)


def record(segment: Segment, snaplen: int = 262_144) -> bytes:
    """One packet as it stands in a pcap file."""
    seconds, milliseconds = divmod(segment.at, 1000)
    kept = segment.data[:snaplen]
    return struct.pack("<IIII", START + seconds, milliseconds * 1000, len(kept), len(segment.data)) + kept


def records(*talks: Talk, snaplen: int = 262_144) -> Iterator[bytes]:
    """The packets of these connections in the order of their times."""
    segments = [segment for talk in talks for segment in talk.segments]
    yield from (record(segment, snaplen) for segment in sorted(segments, key=lambda segment: segment.at))


def pcap(*talks: Talk, snaplen: int = 262_144) -> bytes:
    """A capture of these connections."""
    return PCAP_HEADER + b"".join(records(*talks, snaplen=snaplen))


def forms(secret: bytes) -> list[bytes]:
    """What a secret looks like where it leaks: plain, in hex, in spaced hex, in base64 at any place."""
    found = [secret, secret.hex().encode(), secret.hex(" ").encode(), secret.hex().upper().encode()]
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + secret)
        first, last = (0, 2, 3)[shift], len(secret) + shift
        found.append(whole[first : last // 3 * 4])
    return found
