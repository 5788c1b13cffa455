"""A packet with other bytes in it: what its TCP segment carries is replaced, what is not understood becomes blank.

Headers stay; with addresses to replace, those in them are. Checksums are made right, or, in a packet of which the
capture holds only the beginning, as right as they were.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..capture.frames import Piece
from ..capture.links import IPV4, IPV6, RAW, TCP, UDP, VLAN_TAGS, VXLAN_PORTS
from ..capture.packet import Packet
from ..capture.write import checksum
from .substitutes import Substitutes

LINKS = {0: 4, 1: 14, 12: 0, 14: 0, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20}
"""Bytes of a link's header, by its type; of any other nothing stays but the TCP segment's own headers."""
HARDWARE = {1: ((0, 6), (6, 12)), 113: ((6, 14),), 276: ((12, 20),)}
"""Where hardware addresses stand."""
KINDS = {1: 12, 113: 14, 276: 0}
"""Where an ethertype says what follows; other links say it by the IP version."""
VXLAN, UDP_HEADER, TCP_CHECKSUM, UDP_CHECKSUM, IP_CHECKSUM = 8, 8, 16, 6, 10
FRAGMENT = 44
"""The header of IPv6 in front of a piece."""
UNCHECKED = b"\0\0"


class Network(NamedTuple):
    """An IP header: where it begins and ends, where its addresses stand, what it carries and where that ends."""

    start: int
    end: int
    addresses: tuple[int, int]
    """Where the source begins, and bytes of an address."""
    carries: int
    stop: int


def rewritten(link: int, data: bytes, packet: Packet | None, payload: bytes, made: Substitutes) -> bytes:
    """Return the packet's bytes with another payload in its TCP segment, which has as many bytes.

    `packet` is what was found in it: None for what is no TCP, of which only headers stay.
    """
    networks, known = _networks(link, data)
    new = bytearray(data[:known]) + bytearray(len(data) - known)
    segment = _segment_at(data, packet) if packet is not None else None
    if segment is not None and packet is not None:
        begin = _behind_header(data, segment)
        new[:begin] = data[:begin]
        new[begin : begin + len(payload)] = payload
        inner = _network(data, data.rfind(packet[2][:-4], 0, segment) - (12 if len(packet[2]) == 12 else 8))
        networks += [inner] if inner is not None and inner not in networks else []
    _hide(new, link, networks, made)
    for network in reversed(networks):
        _prove(new, data, network)
    return bytes(new)


def pieces_rewritten(
    pieces: Iterable[Piece], whole: bytes, packet: Packet | None, payload: bytes, made: Substitutes
) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of the frames that hold the pieces of an IP packet, in which `packet` stands.

    A frame is left out in which nothing says where its piece begins.
    """
    network = _network(whole, 0)
    new = rewritten(RAW, whole, packet, payload, made)
    for frame, fragment in pieces:
        networks, _ = _networks(frame.link, frame.data)
        stop = networks[-1].stop if networks else 0
        start = stop - len(fragment.data)
        if network is None or frame.data[max(start, 0) : stop] != fragment.data:
            continue
        place = network.end + fragment.offset
        data = bytearray(frame.data[:start] + new[place : place + len(fragment.data)] + bytes(len(frame.data) - stop))
        _hide(data, frame.link, networks, made)
        for each in reversed(networks):
            _prove(data, frame.data, each)
        yield frame.number, bytes(data)


def _networks(link: int, data: bytes) -> tuple[list[Network], int]:
    """Return the IP headers, the outermost first, and up to where headers are understood."""
    found: list[Network] = []
    start = LINKS.get(link)
    if start is None or start > len(data):
        return found, 0
    kind = KINDS.get(link)
    place: int | None = _behind_tags(data, start, b"" if kind is None else data[kind : kind + 2])
    known = start
    while place is not None and (network := _network(data, place)) is not None and len(found) < 8:
        found.append(network)
        known, place = _carried(data, network)
    return found, min(known, len(data))


def _behind_tags(data: bytes, start: int, kind: bytes) -> int | None:
    """Return where an IP header begins behind VLAN tags; None where something else is announced."""
    while kind in VLAN_TAGS:
        kind = data[start + 2 : start + 4]
        start += 4
    return start if kind in (b"", IPV4, IPV6) else None


def _network(data: bytes, start: int) -> Network | None:
    """Read an IP header; None where there is none, or not all of it."""
    version = data[start] >> 4 if start < len(data) else 0
    if version == 4 and start + 20 <= len(data):
        end = start + (data[start] & 15) * 4
        total, fragment, carries = struct.unpack_from(">H2xHxB", data, start + 2)
        stop = start + total if total else len(data)
        return Network(start, end, (start + 12, 4), -1 if fragment & 0x3FFF else carries, min(stop, len(data)))
    if version == 6 and start + 40 <= len(data):
        length, carries = struct.unpack_from(">HB", data, start + 4)
        stop = start + 40 + length if length else len(data)
        return Network(start, start + 40, (start + 8, 16), carries, min(stop, len(data)))
    return None


def _carried(data: bytes, network: Network) -> tuple[int, int | None]:
    """Return up to where what an IP header carries is understood, and where another IP header begins in it."""
    end = network.end
    if network.carries in (4, 41):
        return end, end
    if network.carries == UDP and end + UDP_HEADER <= len(data):
        if struct.unpack_from(">H", data, end + 2)[0] in VXLAN_PORTS:
            inner = end + UDP_HEADER + VXLAN
            behind = _behind_tags(data, inner + 14, data[inner + 12 : inner + 14])
            return min(behind or inner, len(data)), behind
        return end + UDP_HEADER, None
    return end, None


def _segment_at(data: bytes, packet: Packet) -> int | None:
    """Return where the TCP header begins, by its ports and numbers, wherever tunnels have put it."""
    _, _, flow, seq, ack, _, payload, _ = packet
    place = data.rfind(flow[-4:] + struct.pack(">II", seq, ack))
    while place >= 0:
        begin = _behind_header(data, place)
        if data[begin : begin + len(payload)] == payload and data.rfind(flow[:-4], 0, place) >= 0:
            return place
        place = data.rfind(flow[-4:] + struct.pack(">II", seq, ack), 0, place + 11)
    return None


def _behind_header(data: bytes, segment: int) -> int:
    """Return where a TCP header ends; where the capture holds only its beginning, that is where the packet does."""
    return min(segment + (data[segment + 12] >> 4) * 4, len(data)) if segment + 12 < len(data) else len(data)


def _hide(new: bytearray, link: int, networks: list[Network], made: Substitutes) -> None:
    """Write other addresses into the headers, where that is wanted."""
    if not made.addresses:
        return
    for start, end in HARDWARE.get(link, ()):
        new[start:end] = made.hardware(bytes(new[start:end]))
    for network in networks:
        start, size = network.addresses
        for place in (start, start + size):
            new[place : place + size] = made.address(bytes(new[place : place + size]))


def _prove(new: bytearray, data: bytes, network: Network) -> None:
    """Write the checksums of an IP header and of what it carries."""
    start, end = network.start, network.end
    if network.addresses[1] == 4 and end <= len(new):
        new[start + IP_CHECKSUM : start + IP_CHECKSUM + 2] = b"\0\0"
        struct.pack_into(">H", new, start + IP_CHECKSUM, checksum(bytes(new[start:end])))
    if network.carries == UDP and end + UDP_HEADER <= len(new):
        new[end + UDP_CHECKSUM : end + UDP_HEADER] = UNCHECKED
    elif (found := _tcp_at(data, network)) is not None:
        place = found + TCP_CHECKSUM
        if place + 2 > network.stop:
            return
        old = bytes(data[found : network.stop])
        made = bytes(new[found : network.stop])
        new[place : place + 2] = struct.pack(">H", _tcp_checksum(new, data, network, old, made))


def _tcp_at(data: bytes, network: Network) -> int | None:
    """Return where a TCP header begins right behind an IP header, or behind extension headers of IPv6."""
    place, carries = network.end, network.carries
    while network.addresses[1] == 16 and carries in (0, 43, 60, FRAGMENT) and place + 8 <= len(data):
        if carries == FRAGMENT and (data[place + 2] or data[place + 3] & ~6):  # a piece, and no packet in one piece
            return None
        carries, place = data[place], place + (data[place + 1] * (carries != FRAGMENT) + 1) * 8
    return place if carries == TCP else None


def _tcp_checksum(new: bytearray, data: bytes, network: Network, old: bytes, made: bytes) -> int:
    """Return the checksum of a segment that is whole; of one that was cut, the old one changed as its bytes were."""
    start, size = network.addresses
    around = bytes(new[start : start + 2 * size]), data[start : start + 2 * size]
    total = struct.unpack_from(">H", data, network.start + 2)[0] if size == 4 else 0
    sent = network.start + total if total else network.stop
    if size == 16:
        length = struct.unpack_from(">H", data, network.start + 4)[0]
        sent = network.end + length if length else network.stop
    empty = made[:TCP_CHECKSUM] + b"\0\0" + made[TCP_CHECKSUM + 2 :]
    if sent <= len(data):
        return checksum(around[0] + struct.pack(">II", len(made), TCP) + empty)
    was = old[:TCP_CHECKSUM] + b"\0\0" + old[TCP_CHECKSUM + 2 :]
    said = struct.unpack_from(">H", old, TCP_CHECKSUM)[0]
    change = checksum(around[0] + empty) - checksum(around[1] + was)
    return int(said + change) % 0xFFFF
