"""From a packet's bytes to its TCP segment, by link type: bytes go in, a Segment, a Fragment or None comes out.

The header bytes are read where they stand. What is unusual (tunnels, other link types) is left to scapy, which is
imported when the first such packet comes; where it is not installed, such packets are noted and passed over. Whatever
the bytes are, no exception comes out. `Fragments` puts the pieces of an IP packet together.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from .packet import SHUT, Segment


class Fragment(NamedTuple):
    """A piece of an IP packet: `data` belongs at `offset`, and `more` follows it.

    `key` is the same for all pieces of a packet (addresses, protocol, identification); `header` is an IP header for the
    whole packet, whose length of 0 means all that is there.
    """

    key: bytes
    header: bytes
    offset: int
    more: bool
    data: bytes


Found: TypeAlias = Segment | Fragment | None
"""A TCP segment; a piece of a packet that may hold one; or None where there is no TCP."""

_IPV4 = struct.Struct(">BxH2xHxB").unpack_from
"""version and header length, total length, fragment, protocol."""
_IPV6 = struct.Struct(">B3xHB33x").unpack_from
"""version, payload length, next header."""
_TCP = struct.Struct(">IIBB").unpack_from
_SHORT = struct.Struct(">H").unpack_from
_NONE = bytes(2)
"""A receive window in which nothing fits."""

TCP, UDP = 6, 17
RAW = 101
"""The link type of packets that begin with their IP header."""
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
"""Their ethertypes."""
VLAN_TAGS = frozenset({b"\x81\x00", b"\x88\xa8", b"\x91\x00"})
FOR_SCAPY = frozenset({b"\x88\x47", b"\x88\x48", b"\x88\x64", b"\x65\x58"})
"""Ethertypes that may carry IP further in: MPLS, PPPoE, bridged Ethernet."""
PROTOCOLS_FOR_SCAPY = frozenset({47, 97, 137})
"""GRE, Ethernet in IP, MPLS in IP."""
CARRIERS = frozenset({TCP, UDP, 4, 41, *PROTOCOLS_FOR_SCAPY})
"""What TCP may be in: IPv4 and IPv6 in IP are 4 and 41. Pieces of other packets need not be put together."""
VXLAN_PORTS = frozenset({4789, 8472})
PORTS_FOR_SCAPY = frozenset({4754, 4790, 6081, 6635})
"""UDP ports of tunnels: GRE, VXLAN-GPE, Geneve, MPLS."""
EXTENSIONS = frozenset({0, 43, 60, 135, 139, 140})
"""IPv6 extension headers of the common form: hop-by-hop, routing, destination options, mobility, HIP, shim6."""


class Unusual(Exception):
    """There may be TCP further in: scapy shall look."""


def dissector(link: int, note: Callable[[str], None] = lambda text: None) -> Callable[[bytes], Found]:
    """Return the function for one link type; `note` is told of what cannot be read, now or later."""
    native = LINKS.get(link)
    if native is None:
        try:
            from kdbg.capture.tunnels import require

            require(link)
        except LookupError:
            note(f"unknown link type {link}: packets skipped")
            return lambda data: None
        except ImportError:
            note(f"packets of link type {link} skipped: install scapy to decode them")
            return lambda data: None

    def dissect(data: bytes) -> Found:
        try:
            if native is not None:
                return native(data)
        except (struct.error, IndexError, RecursionError):  # cut short, or a tunnel in a tunnel without end
            return None
        except Unusual:
            pass
        try:
            from kdbg.capture.tunnels import innermost

            packet = innermost(link, data)
            return None if packet is None else by_version(packet, 0)
        except ImportError:
            note("tunnelled packets skipped: install scapy to decode them")
        except (Unusual, struct.error, IndexError, RecursionError):  # as scapy reads it, there is TCP in it
            pass
        return None

    return dissect


def by_version(data: bytes, start: int) -> Found:
    """Read an IP packet by the version in its header."""
    return ipv4(data, start) if data[start] >> 4 == 4 else ipv6(data, start)


def ethernet(data: bytes) -> Found:
    return _network(data[12:14], data, 14)


LINKS: dict[int, Callable[[bytes], Found]] = {
    # BSD's loopback: the 4-byte family in front comes in any byte order, and IPv6 has four numbers there
    **dict.fromkeys((0, 108), lambda data: by_version(data, 4)),
    1: ethernet,
    **dict.fromkeys((12, 14, RAW, 228, 229), lambda data: by_version(data, 0)),
    113: lambda data: _network(data[14:16], data, 16),
    276: lambda data: _network(data[:2], data, 20),
}
"""By link type; 113 and 276 are Linux's "any" interface, versions 1 (SLL) and 2."""


def _network(kind: bytes, data: bytes, start: int) -> Found:
    """Read what follows an ethertype that is not plain IPv4; skip VLAN tags. Raise `Unusual` for what scapy reads."""
    while kind in VLAN_TAGS:
        kind = data[start + 2 : start + 4]
        start += 4
    if kind == IPV4:
        return ipv4(data, start)
    if kind == IPV6:
        return ipv6(data, start)
    if kind in FOR_SCAPY or (kind < b"\x06\x00" and data[start : start + 3] == b"\xaa\xaa\x03"):  # 802.3 with SNAP
        raise Unusual
    return None


def ipv4(data: bytes, start: int) -> Found:
    """Read IPv4, also with options, in fragments, or with something else than TCP in it."""
    version, total, fragment, protocol = _IPV4(data, start)
    if version >> 4 != 4 or version & 15 < 5:
        return None
    body = start + (version & 15) * 4
    end = start + total if total else len(data)  # 0: the network card was to cut it (TSO)
    if fragment & 0x3FFF:
        if protocol not in CARRIERS:
            return None
        header = data[start : start + 2] + bytes(2) + data[start + 4 : start + 6] + bytes(2) + data[start + 8 : body]
        key = data[start + 12 : start + 20] + data[start + 4 : start + 6] + data[start + 9 : start + 10]
        return _piece(key, header, (fragment & 0x1FFF) * 8, bool(fragment & 0x2000), data, body, end)
    if protocol != TCP:
        return _carried(protocol, data, body)
    return _tcp(data, data[start + 12 : start + 20], body, end)


def ipv6(data: bytes, start: int) -> Found:
    """Read IPv6, also with extension headers, or with something else than TCP in it."""
    version, length, header = _IPV6(data, start)
    if version >> 4 != 6:
        return None
    body = start + 40
    end = body + length if length else len(data)  # 0: a jumbogram, or TSO
    while True:
        if header in EXTENSIONS:
            size = (data[body + 1] + 1) * 8
        elif header == 44:
            fragment = _SHORT(data, body + 2)[0]
            if fragment & 0xFFF9:
                following, addresses = data[body], data[start + 8 : start + 40]
                if following not in CARRIERS and following not in EXTENSIONS:
                    return None
                front = data[start : start + 4] + bytes(2) + bytes([following]) + data[start + 7 : start + 8]
                key = addresses + data[body + 4 : body + 8]
                return _piece(key, front + addresses, fragment & 0xFFF8, bool(fragment & 1), data, body + 8, end)
            size = 8
        elif header == 51:  # authentication header
            size = (data[body + 1] + 2) * 4
        else:
            break
        header, body = data[body], body + size
    if header != TCP:
        return _carried(header, data, body)
    return _tcp(data, data[start + 8 : start + 40], body, end)


def _piece(key: bytes, header: bytes, offset: int, more: bool, data: bytes, body: int, end: int) -> Found:
    """Return a piece of a packet; None for one that the snaplen cut, or that is not of whole eights before the last."""
    if end > len(data) or end <= body or (more and (end - body) % 8):
        return None
    return Fragment(key, header, offset, more, data[body:end])


def _tcp(data: bytes, addresses: bytes, body: int, end: int) -> Found:
    seq, ack, offset, flags = _TCP(data, body + 4)
    begin = body + (offset >> 4) * 4
    if end < begin or offset < 0x50:
        return None
    if data[body + 14 : body + 16] == _NONE:
        flags |= SHUT
    return addresses + data[body : body + 4], seq, ack, flags, data[begin:end], end - begin


def _carried(protocol: int, data: bytes, body: int) -> Found:
    """Read what IP carries that is not TCP: perhaps a tunnel. Raise `Unusual` for a tunnel that scapy reads."""
    if protocol == UDP:
        port = _SHORT(data, body + 2)[0]
        if port in VXLAN_PORTS:
            return ethernet(data[body + 16 :])
        if port in PORTS_FOR_SCAPY:
            raise Unusual
    elif protocol == 4:
        return ipv4(data, body)
    elif protocol == 41:
        return ipv6(data, body)
    elif protocol in PROTOCOLS_FOR_SCAPY:
        raise Unusual
    return None


PATIENCE = 30_000_000_000
"""Nanoseconds of packet time after which a packet that is not whole is given up, which is what Linux waits."""
MOST, MOST_BYTES = 256, 4 << 20
"""Packets that may be held at once, and bytes of their pieces; beyond that the oldest is given up."""
LARGEST = 65_535
"""Bytes of an IP packet."""


class _Pieces:
    """The `count` pieces of one packet that have come: by offset; `total` bytes are known once the last one has."""

    __slots__ = ("count", "data", "header", "since", "size", "total")

    def __init__(self, since: int) -> None:
        self.since, self.count, self.size, self.total = since, 0, 0, LARGEST + 1
        self.header = b""
        self.data: dict[int, bytes] = {}

    def add(self, piece: Fragment) -> None:
        self.count += 1
        if piece.offset + len(piece.data) > LARGEST:
            return
        if not piece.more:
            self.total = min(self.total, piece.offset + len(piece.data))
        if not piece.offset:
            self.header = piece.header
        if len(self.data.get(piece.offset, b"")) < len(piece.data):
            self.size += len(piece.data) - len(self.data.get(piece.offset, b""))
            self.data[piece.offset] = piece.data

    def whole(self) -> bytes | None:
        """Return the packet; None while there is a hole in it."""
        if self.size < self.total or not self.header:
            return None
        body = bytearray()
        for offset, data in sorted(self.data.items()):
            if offset > len(body):
                return None
            body += data[len(body) - offset :]
        return self.header + body[: self.total] if len(body) >= self.total else None


class Fragments:
    """Puts packets together; `lost` counts the pieces that were given up, or are still without their others."""

    def __init__(self) -> None:
        self._held: dict[bytes, _Pieces] = {}
        self._size = self._given_up = 0

    @property
    def lost(self) -> int:
        return self._given_up + sum(pieces.count for pieces in self._held.values())

    def __contains__(self, key: bytes) -> bool:
        """Return whether pieces with this key are held."""
        return key in self._held

    def add(self, piece: Fragment, time: int) -> bytes | None:
        """Take a piece that came at this time, in nanoseconds; return the packet that it makes whole, if it does."""
        pieces = self._held.get(piece.key)
        if pieces is not None and time - pieces.since > PATIENCE:
            self._give_up(piece.key)
            pieces = None
        if pieces is None:
            pieces = self._held[piece.key] = _Pieces(time)
        before = pieces.size
        pieces.add(piece)
        self._size += pieces.size - before
        found = pieces.whole()
        if found is not None:
            del self._held[piece.key]
            self._size -= pieces.size
        while len(self._held) > MOST or self._size > MOST_BYTES:
            self._give_up(next(iter(self._held)))
        return found

    def _give_up(self, key: bytes) -> None:
        pieces = self._held.pop(key)
        self._size -= pieces.size
        self._given_up += pieces.count
