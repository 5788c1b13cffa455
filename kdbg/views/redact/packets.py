"""A packet with other bytes in it: what its TCP segment carries is replaced, what is not understood becomes blank.

Headers stay; with addresses to replace, those in them are. Checksums are made right, or, in a packet of which the
capture holds only the beginning, as right as they were.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from ...capture.frames import FragmentFrame
from ...capture.links import RAW, TCP, UDP
from ...capture.packet import Packet
from ...capture.write import checksum
from .layers import TEXT, Layers, Network, read_network
from .replacements import Replaced
from .substitutes import Substitutes

UDP_HEADER, TCP_CHECKSUM, UDP_CHECKSUM, IP_CHECKSUM = 8, 16, 6, 10
UNCHECKED = b"\0\0"


def rewritten(link: int, data: bytes, packet: Packet | None, payload: bytes, made: Substitutes) -> bytes:
    """Return the packet's bytes with another payload in its TCP segment, which has as many bytes.

    `packet` is what was found in it: None for what is no TCP, of which only headers stay.
    """
    layers = Layers(link, data)
    new, networks, body, tcp = layers.kept, layers.networks, layers.body, layers.segment
    segment = None if packet is None else _segment_at(data, packet)
    if packet is not None and segment is not None and segment != layers.segment:
        body, tcp = _foreign(new, data, packet, segment, networks), segment
    end = body if segment is None else body + len(payload)
    for part in (slice(0, body), slice(end, None)):
        made.replaced.add(_difference(data[part], new[part]), Replaced.OTHER)
    if segment is not None:
        new[body:end] = payload
    _hide(new, layers.hardware, networks, made)
    for network in reversed(networks):
        _prove(new, data, network, tcp if network is networks[-1] else None)
    return bytes(new)


def _difference(data: bytes, kept: bytes | bytearray) -> bytes:
    """Return the bytes that do not stay, with zeros for those that do."""
    return (int.from_bytes(data) ^ int.from_bytes(kept)).to_bytes(len(data))


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


def _hide(new: bytearray, hardware: list[tuple[int, int]], networks: list[Network], made: Substitutes) -> None:
    """Write other addresses into the headers, where that is wanted."""
    if not made.addresses:
        return
    for start, end in hardware:
        new[start:end] = made.hardware(bytes(new[start:end]))
    for network in networks:
        start, size = network.addresses
        for place in (start, start + size):
            new[place : place + size] = made.address(bytes(new[place : place + size]))


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
        old = bytes(data[tcp : network.stop])
        made = bytes(new[tcp : network.stop])
        new[place : place + 2] = struct.pack(">H", _tcp_checksum(new, data, network, old, made))


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
