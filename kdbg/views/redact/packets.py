"""A packet with other bytes in it: what its TCP segment carries is replaced, what is not understood becomes blank.

Nothing stays of its headers that is not known to be a number of the network's own: data of options, of extension
headers and of tunnels' options becomes zero. A link type or tunnel that is not known here ends the walk. Checksums are
made right, or, in a packet of which the capture holds only the beginning, as right as they were.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ...capture.frames import FragmentFrame
from ...capture.links import EXTENSIONS, IPV4, IPV6, RAW, TCP, UDP, VLAN_TAGS, VXLAN_PORTS
from ...capture.packet import Packet
from ...capture.write import checksum
from .substitutes import Replaced, Substitutes

TEXT = re.compile(rb"[ -~]{4}")
"""Bytes that may be a text; numbers that look like one do not stay where anything may stand."""
LINKS = {0: 4, 1: 14, 12: 0, 14: 0, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20}
"""Bytes of a link's header, by its type."""
HARDWARE = {1: ((0, 6), (6, 12)), 113: ((6, 14),), 276: ((12, 20),)}
"""Where hardware addresses stand."""
KINDS = {1: 12, 113: 14, 276: 0}
"""Where an ethertype says what follows; other links say it by the IP version."""
RADIO: Mapping[int, Callable[[bytes], int]] = {
    105: lambda data: 0,
    119: lambda data: 144,
    127: lambda data: int.from_bytes(data[2:4], "little"),
    163: lambda data: int.from_bytes(data[4:8]),
    192: lambda data: int.from_bytes(data[2:4], "little"),
}
"""Links of IEEE 802.11, and the bytes in front of its header: none, Prism, radiotap, AVS, PPI."""
ETHERNET, MPLS, PPPOE, SNAP = b"\x65\x58", frozenset({b"\x88\x47", b"\x88\x48"}), b"\x88\x64", b"\xaa\xaa\x03"
PPP = {b"\0\x21": IPV4, b"\0\x57": IPV6}
GPE = {1: IPV4, 2: IPV6, 3: ETHERNET}
"""What a header of VXLAN-GPE says that follows."""
FRAGMENT, AUTHENTICATION, GRE, ETHERNET_IN_IP, MPLS_IN_IP = 44, 51, 47, 97, 137
DEEPEST = 8
"""IP headers in a packet."""
ROUTES = frozenset({7, 68, 131, 137})
"""IPv4 options with a pointer as their first byte: record route, timestamp, source routes (RFC 791)."""
NUMBERS = {2: (4,), 3: (3,), 4: (2,), 5: (10, 18, 26, 34), 8: (10,)}
"""TCP options that are numbers, with their lengths: segment size, window scale, SACK, timestamps (RFC 9293, 7323)."""
WORD = re.compile(rb"[ -~]{8}")
"""What timestamps and SACK blocks hardly ever are."""
UDP_HEADER, TCP_CHECKSUM, UDP_CHECKSUM, IP_CHECKSUM = 8, 16, 6, 10
UNCHECKED = b"\0\0"
PLAIN, NO_OPTIONS, TIMESTAMPS = 0x45, 0x50, b"\x80\1\1\x08\x0a"
"""How most IP headers begin; TCP's data offset, with the options that most segments have."""


class Network(NamedTuple):
    """An IP header: where it begins and ends, where its addresses stand, what it carries and where that ends."""

    start: int
    end: int
    addresses: tuple[int, int]
    """Where the source begins, and bytes of an address."""
    carries: int
    stop: int


class Layers:
    """What is known of a packet's headers. `kept`: its bytes as far as they stay, zeros elsewhere.

    `segment` is where a TCP header begins, None where the walk found none; `body` is where that ends.
    """

    def __init__(self, link: int, data: bytes) -> None:
        self.data = data
        self.kept = bytearray(len(data))
        self.networks: list[Network] = []
        self.hardware: list[tuple[int, int]] = []
        self.segment: int | None = None
        self.body = 0
        if link in RADIO:
            self._radio(RADIO[link](data))
        elif link in LINKS and LINKS[link] <= len(data):
            start, kind = LINKS[link], KINDS.get(link)
            self._keep(0, start)
            self.hardware += HARDWARE.get(link, ())
            self._follow(b"" if kind is None else data[kind : kind + 2], start)

    def _keep(self, start: int, end: int) -> None:
        end = max(start, end)
        self.kept[start:end] = self.data[start:end]

    def _keep_numbers(self, start: int, end: int) -> None:
        """Keep bytes in which a number may stand that a user chose, if they are no text."""
        if TEXT.search(self.data, start, end) is None:
            self._keep(start, end)

    def _radio(self, start: int) -> None:
        """Read a header of IEEE 802.11, of a data frame, after what the radio says."""
        if start + 32 > len(self.data):
            return
        control, flags = self.data[start], self.data[start + 1]
        addresses = [start + 4, start + 10, start + 16, *([start + 24] if flags & 3 == 3 else [])]
        self.hardware += [(place, place + 6) for place in addresses]
        end = start + 24 + 6 * (flags & 3 == 3) + 2 * (control & 0x8C == 0x88)
        self._keep_numbers(0, start)
        self._keep(start, end)
        if control & 0x0C == 8 and self.data[end : end + 3] == SNAP:
            self._keep(end, end + 8)
            self._follow(self.data[end + 6 : end + 8], end + 8)

    def _follow(self, kind: bytes, start: int) -> None:
        """Read what an ethertype announces; b"" announces IP."""
        data = self.data
        if kind in VLAN_TAGS:
            self._keep(start, start + 4)
            self._follow(data[start + 2 : start + 4], start + 4)
        elif kind in (b"", IPV4, IPV6):
            self._ip(start)
        elif kind in MPLS:
            self._labels(start)
        elif kind == PPPOE:
            self._keep(start, start + 8)
            self._follow(PPP.get(data[start + 6 : start + 8], PPPOE[:1]), start + 8)
        elif kind == ETHERNET:
            self._ethernet(start)
        elif kind < b"\x06\0" and data[start : start + 3] == SNAP:
            self._keep(start, start + 8)
            self._follow(data[start + 6 : start + 8], start + 8)

    def _ethernet(self, start: int) -> None:
        self._keep(start, start + 14)
        self.hardware += [(start + first, start + last) for first, last in HARDWARE[1]]
        self._follow(self.data[start + 12 : start + 14], start + 14)

    def _labels(self, start: int) -> None:
        """Read MPLS labels (RFC 3032), after which IP or Ethernet is found by its first bits."""
        while start + 4 <= len(self.data):
            self._keep(start, start + 4)
            start += 4
            if self.data[start - 2] & 1:
                break
        version = self.data[start] >> 4 if start < len(self.data) else 0
        if version in (4, 6):
            self._ip(start)
        else:
            self._ethernet(start + 4 * (not version))

    def _ip(self, start: int) -> None:
        network = read_network(self.data, start)
        if network is None or len(self.networks) == DEEPEST:
            return
        self.networks.append(network)
        self._keep(start, min(network.end, start + (20 if network.addresses[1] == 4 else 40)))
        if network.addresses[1] == 4:
            self._options(start + 20, min(network.end, len(self.data)), lambda option: 3 if option[0] in ROUTES else 2)
            self._carried(network.carries, network.end)
        else:
            self._carried(*self._extensions(network))

    def _extensions(self, network: Network) -> tuple[int, int]:
        """Read extension headers of IPv6, of which the lengths stay; return what follows, and where."""
        data, place, carries = self.data, network.end, network.carries
        while carries in (*EXTENSIONS, FRAGMENT, AUTHENTICATION) and place + 8 <= len(data):
            self._keep(place, place + (8 if carries == FRAGMENT else 2))
            if carries == FRAGMENT and (data[place + 2] or data[place + 3] & ~6):  # a piece of a packet
                return -1, place + 8
            size = {FRAGMENT: 8, AUTHENTICATION: (data[place + 1] + 2) * 4}.get(carries, (data[place + 1] + 1) * 8)
            carries, place = data[place], place + size
        return carries, place

    def _carried(self, carries: int, start: int) -> None:
        """Read what an IP header carries."""
        data = self.data
        if carries == TCP:
            self._tcp(start)
        elif carries in (4, 41):
            self._ip(start)
        elif carries == GRE:
            self._gre(start)
        elif carries == ETHERNET_IN_IP:
            self._keep(start, start + 2)
            self._ethernet(start + 2)
        elif carries == MPLS_IN_IP:
            self._labels(start)
        elif carries == UDP and start + 8 <= len(data):
            self._keep(start, start + 8)
            self._tunnel(struct.unpack_from(">H", data, start + 2)[0], start + 8)

    def _tunnel(self, port: int, start: int) -> None:
        """Read what is sent to a UDP port of tunnels."""
        data = self.data
        if port in VXLAN_PORTS:
            self._keep_numbers(start, start + 8)
            self._ethernet(start + 8)
        elif port == 4790 and start + 8 <= len(data):
            self._keep_numbers(start, start + 8)
            self._follow(GPE.get(data[start + 3], PPPOE[:1]), start + 8)
        elif port == 6081 and start + 8 <= len(data):
            self._keep_numbers(start, start + 8)
            self._follow(data[start + 2 : start + 4], start + 8 + (data[start] & 0x3F) * 4)
        elif port == 4754:
            self._gre(start)
        elif port == 6635:
            self._labels(start)

    def _gre(self, start: int) -> None:
        """Read a header of GRE (RFC 2784, 2890): checksum, key and number stand there if its flags say so."""
        if start + 4 > len(self.data) or self.data[start + 1] & 7:
            return
        size = 4 + 4 * (self.data[start] & 0xB0).bit_count()
        self._keep(start, start + 4)
        for place in range(start + 4, start + size, 4):
            self._keep_numbers(place, place + 4)
        self._follow(self.data[start + 2 : start + 4], start + size)

    def _tcp(self, start: int) -> None:
        if start + 20 > len(self.data):
            self._keep(start, len(self.data))
            return
        self.segment = start
        self._keep(start, start + 20)
        self.body = min(start + max(self.data[start + 12] >> 4, 5) * 4, len(self.data))
        self._options(start + 20, self.body, _keep_number)

    def _options(self, start: int, end: int, keeps: Callable[[bytes], int]) -> None:
        """Keep kinds and lengths of options, and as many bytes of one's data as may stay; after their end none."""
        data = self.data
        for place, size in options_in(data, start, end):
            self._keep(place, place + (keeps(data[place : place + size]) if size > 1 else size))


def options_in(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where options begin, and their bytes."""
    while start < end and data[start]:
        size = 1 if data[start] == 1 else data[start + 1] if start + 1 < end else 0
        if not size or (size == 1) is not (data[start] == 1) or start + size > end:
            return
        yield start, size
        start += size


def _keep_number(option: bytes) -> int:
    is_number = len(option) in NUMBERS.get(option[0], ()) and WORD.search(option) is None
    return len(option) if is_number else 2


def read_network(data: bytes, start: int) -> Network | None:
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


def plain_segment(link: int, data: bytes) -> int | None:
    """Return where the TCP header begins after an IPv4 header without options, if its own are timestamps at most."""
    start, kind = LINKS.get(link, len(data)), KINDS.get(link)
    tcp = start + 20
    if len(data) < tcp + 20 or data[start] != PLAIN or data[start + 9] != TCP:
        return None
    is_plain = data[tcp + 12] == NO_OPTIONS or data[tcp + 12 : tcp + 13] + data[tcp + 20 : tcp + 24] == TIMESTAMPS
    return tcp if is_plain and (kind is None or data[kind : kind + 2] == IPV4) else None


def rewritten(link: int, data: bytes, packet: Packet | None, payload: bytes, made: Substitutes) -> bytes:
    """Return the packet's bytes with another payload in its TCP segment, which has as many bytes.

    `packet` is what was found in it: None for what is no TCP, of which only headers stay.
    """
    if packet is not None and not made.addresses and (tcp := plain_segment(link, data)) is not None:
        new, network, body = bytearray(data), read_network(data, tcp - 20), _behind_header(data, tcp)
        whole = network is not None and network.carries == TCP and network.stop == body + len(payload) == len(data)
        if network is not None and whole and WORD.search(data, tcp + 20, body) is None:  # all of the headers stay
            new[body:] = payload
            _prove(new, data, network, tcp)
            return bytes(new)
    layers = Layers(link, data)
    new, networks, body, tcp = layers.kept, layers.networks, layers.body, layers.segment
    segment = None if packet is None else _segment_at(data, packet)
    if packet is not None and segment is not None and segment != layers.segment:
        body, tcp = _foreign(new, data, packet, segment, networks), segment
    end = body if segment is None else body + len(payload)
    for old, kept in ((data[:body], new[:body]), (data[end:], new[end:])):
        if old != kept:
            lost = int.from_bytes(old) ^ int.from_bytes(kept)  # zeros for the bytes that stay
            made.replaced.add(lost.to_bytes(len(old)), Replaced.OTHER)
    if segment is not None:
        new[body:end] = payload
    if made.addresses:
        for start, stop in layers.hardware:
            new[start:stop] = made.hardware(bytes(new[start:stop]))
        for network in networks:
            start, size = network.addresses
            for place in (start, start + size):
                new[place : place + size] = made.address(bytes(new[place : place + size]))
    for network in reversed(networks):
        _prove(new, data, network, tcp if network is networks[-1] else None)
    return bytes(new)


def _foreign(new: bytearray, data: bytes, packet: Packet, segment: int, networks: list[Network]) -> int:
    """Keep the headers in front of a segment that only scapy finds, without texts; return where the segment's end."""
    start = data.rfind(packet[2][:-4], 0, segment) - (12 if len(packet[2]) == 12 else 8)
    inner = read_network(data, start)
    end = _behind_header(data, segment)
    front = TEXT.sub(bytes(4), data[: inner.start if inner is not None else segment])
    new[: len(front)] = front
    if inner is not None:
        headers = Layers(RAW, data[inner.start :])
        new[inner.start : end] = headers.kept[: end - inner.start]
        networks.append(inner)
    return end


def pieces_rewritten(
    pieces: Iterable[FragmentFrame], whole: bytes, packet: Packet | None, payload: bytes, made: Substitutes
) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of the frames that hold the pieces of an IP packet, in which `packet` stands.

    A frame is left out in which nothing says where its piece begins.
    """
    network = read_network(whole, 0)
    new = rewritten(RAW, whole, packet, payload, made)
    for frame, fragment in pieces:
        networks = Layers(frame.link, frame.data).networks
        stop = networks[-1].stop if networks else 0
        start = stop - len(fragment.data)
        if network is None or frame.data[max(start, 0) : stop] != fragment.data:
            continue
        place = network.end + fragment.offset
        data = bytearray(rewritten(frame.link, frame.data, None, b"", made))
        data[start:stop] = new[place : place + len(fragment.data)]
        yield frame.number, bytes(data)


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


def _prove(new: bytearray, data: bytes, network: Network, tcp: int | None) -> None:
    """Write the checksums of an IP header and of what it carries: `tcp` is where a TCP header begins in it."""
    start, end = network.start, network.end
    if network.addresses[1] == 4 and end <= len(new):
        new[start + IP_CHECKSUM : start + IP_CHECKSUM + 2] = b"\0\0"
        struct.pack_into(">H", new, start + IP_CHECKSUM, checksum(bytes(new[start:end])))
    if network.carries == UDP and end + UDP_HEADER <= len(new):
        new[end + UDP_CHECKSUM : end + UDP_HEADER] = UNCHECKED
    elif tcp is not None:
        place = tcp + TCP_CHECKSUM
        if place + 2 > network.stop:
            return
        (first, size), stop = network.addresses, network.stop
        if size == 4:
            length, sent = struct.unpack_from(">H", data, start + 2)[0], start
        else:
            length, sent = struct.unpack_from(">H", data, start + 4)[0], end
        ends = slice(first, first + 2 * size)
        empty = bytes(new[tcp:place]) + b"\0\0" + bytes(new[place + 2 : stop])
        if (sent + length if length else stop) <= len(data):
            made = checksum(bytes(new[ends]) + struct.pack(">II", stop - tcp, TCP) + empty)
        else:  # the segment was cut: the old sum changes as its bytes do
            was = data[tcp:place] + b"\0\0" + data[place + 2 : stop]
            change = checksum(bytes(new[ends]) + empty) - checksum(data[ends] + was)
            made = int(struct.unpack_from(">H", data, place)[0] + change) % 0xFFFF
        new[place : place + 2] = struct.pack(">H", made)
