"""Packets with other bytes in them: tunnels, tags, cut packets, and what is no TCP; checksums as scapy makes them."""

from __future__ import annotations

import pytest

from kdbg.capture.frames import Dissectors, Frame
from kdbg.views.redact.packets import rewritten
from kdbg.views.redact.substitutes import Substitutes

from ..cases import for_each

scapy = pytest.importorskip("scapy.layers.inet", reason="scapy is not installed")
SECRET, OTHER = b"what was said", b"xxxxxxxxxxxxx"
TCP = {"sport": 40_000, "dport": 9092, "seq": 7, "ack": 9, "flags": "PA"}
IP = {"src": "10.0.0.1", "dst": "10.0.0.2"}


def packets() -> dict[str, object]:
    from scapy.layers.inet import GRE, UDP
    from scapy.layers.inet import IP as IPv4
    from scapy.layers.inet import TCP as Segment
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Dot1Q, Ether
    from scapy.layers.vxlan import VXLAN

    segment = Segment(**TCP) / SECRET
    ether = Ether(src="02:42:ac:11:00:02", dst="02:42:ac:11:00:03")
    return {
        "plain": ether / IPv4(**IP) / segment,
        "options": ether
        / IPv4(**IP, options=[scapy.IPOption_NOP()] * 4)
        / Segment(**TCP, options=[("NOP", None)] * 4)
        / SECRET,
        "tagged": ether / Dot1Q(vlan=7) / IPv4(**IP) / segment,
        "ipv6": ether / IPv6(src="2001:db8::1", dst="2001:db8::2") / segment,
        "vxlan": ether / IPv4(**IP) / UDP(dport=4789) / VXLAN() / ether / IPv4(**IP) / segment,
        "gre": ether / IPv4(**IP) / GRE() / IPv4(**IP) / segment,
        "in ip": ether / IPv4(**IP) / IPv4(**IP) / segment,
    }


PACKETS = packets()


def change(data: bytes, made: Substitutes) -> bytes:
    frame = Frame(1, 0, 1, data, len(data))
    packet = Dissectors().packet(frame)
    payload = OTHER[: len(packet[6])] if packet is not None else b""
    return rewritten(1, data, packet, payload, made)


@for_each("addresses", [False, True])
@for_each("name", PACKETS)
def test_the_payload_is_another_and_all_checksums_fit(name: str, addresses: bool) -> None:
    data = bytes(PACKETS[name])  # type: ignore[call-overload]
    made = change(data, Substitutes("a seed", addresses=addresses))
    assert len(made) == len(data)
    assert made.endswith(OTHER)
    packet = Dissectors().packet(Frame(1, 0, 1, made, len(made)))
    assert packet is not None
    assert packet[6] == OTHER
    inner = scapy.Ether(made)[scapy.TCP]
    said = inner.chksum
    assert said == recalculated(made)
    assert ("10.0.0.1" in repr(scapy.Ether(made)) or "2001:db8::1" in repr(scapy.Ether(made))) is not addresses


def recalculated(data: bytes) -> int:
    """The checksum of the innermost segment, by scapy."""
    whole = scapy.Ether(data)
    layer = whole
    while layer.payload:
        for name in ("chksum", "len"):
            if name in layer.fields and not isinstance(layer, scapy.UDP):
                delattr(layer, name)
        layer = layer.payload
    return int(scapy.Ether(bytes(whole))[scapy.TCP].chksum)


def test_a_packet_that_was_cut_has_the_checksum_that_it_would_have_whole() -> None:
    whole = bytes(PACKETS["plain"])  # type: ignore[call-overload]
    cut = change(whole[:-5], Substitutes("a seed"))
    assert cut.endswith(OTHER[:-5])
    assert scapy.Ether(cut)[scapy.TCP].chksum == recalculated(cut + SECRET[-5:])


def test_what_is_no_tcp_and_what_stands_behind_a_packet_is_blank() -> None:
    name = scapy.Ether() / scapy.IP() / scapy.UDP(dport=53) / SECRET
    assert SECRET not in change(bytes(name), Substitutes("a seed"))
    assert not any(change(bytes(scapy.Ether(type=0x1234) / SECRET), Substitutes("a seed"))[14:])
    padded = bytes(PACKETS["plain"]) + b"left over in a buffer"  # type: ignore[call-overload]
    assert not any(change(padded, Substitutes("a seed"))[-21:])


@for_each("length", range(0, 70, 3))
def test_packets_cut_anywhere_keep_nothing_and_raise_nothing(length: int) -> None:
    for packet in PACKETS.values():
        data = bytes(packet)[:length]  # type: ignore[call-overload]
        for link in (0, 1, 12, 101, 113, 147, 276):
            found = Dissectors().packet(Frame(1, 0, link, data, 99))
            payload = b"" if found is None else b"x" * len(found[6])
            assert len(rewritten(link, data, found, payload, Substitutes("a", addresses=True))) == len(data)
