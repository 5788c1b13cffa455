"""Every link type, every way to TCP: packets built by scapy must come apart into the segment that was put in."""

from __future__ import annotations

import struct
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scapy.config import conf
from scapy.contrib.geneve import GENEVE
from scapy.contrib.mpls import MPLS
from scapy.layers.dot11 import Dot11, Dot11QoS, PrismHeader, RadioTap
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting
from scapy.layers.l2 import ARP, GRE, LLC, SNAP, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Dot3, Ether, Loopback
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet as ScapyPacket
from scapy.packet import Raw

from kdbg.capture.links import LINKS, Found, Fragment, dissector
from kdbg.capture.packet import endpoint, reverse
from kdbg.capture.tunnels import require

from ..cases import for_each

PAYLOAD = b"kafka bytes"
FLOW4 = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + struct.pack(">HH", 51514, 9092)
FLOW6 = bytes(15) + b"\1" + bytes(15) + b"\2" + struct.pack(">HH", 51514, 9092)
SEQ, ACK, FLAGS = 0xFFFFFFF0, 0x01020304, 0x18
ETHERNET = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def tcp(**fields: Any) -> ScapyPacket:
    return TCP(sport=51514, dport=9092, seq=SEQ, ack=ACK, flags="PA", **fields) / Raw(PAYLOAD)


def ip4(**fields: Any) -> ScapyPacket:
    return IP(src="10.0.0.1", dst="10.0.0.2", **fields)


def ip6(**fields: Any) -> ScapyPacket:
    return IPv6(src="::1", dst="::2", **fields)


def found(packet: ScapyPacket | bytes, link: int = 1) -> Any:
    return dissector(link)(bytes(packet))


def segment(flow: bytes = FLOW4, payload: bytes = PAYLOAD, length: int | None = None) -> Found:
    return flow, SEQ, ACK, FLAGS, payload, len(payload) if length is None else length


LINK_LAYERS = {
    "ethernet": (1, ETHERNET),
    "vlan": (1, ETHERNET / Dot1Q(vlan=100)),
    "service vlan": (1, ETHERNET / Dot1AD(vlan=7) / Dot1Q(vlan=100)),
    "three vlans": (1, ETHERNET / Dot1Q(vlan=1) / Dot1Q(vlan=2) / Dot1Q(vlan=3)),
    "cooked": (113, CookedLinux()),
    "cooked vlan": (113, CookedLinux(proto=0x8100) / Dot1Q(vlan=5)),
    "cooked v2": (276, CookedLinuxV2()),
    "raw 101": (101, None),
    "raw 12": (12, None),
    "raw 14": (14, None),
    "raw 228": (228, None),
    "raw 229": (229, None),
    "loopback": (0, Loopback()),
    "loopback 108": (108, Loopback()),
}


@for_each("name", LINK_LAYERS)
@for_each("network", ["ipv4", "ipv6"])
def test_every_link_layer_leads_to_the_segment(name: str, network: str) -> None:
    link, layer = LINK_LAYERS[name]
    network_layer, flow = (ip4(), FLOW4) if network == "ipv4" else (ip6(), FLOW6)
    packet = network_layer / tcp() if layer is None else layer / network_layer / tcp()
    assert found(packet, link) == segment(flow)


@for_each("family", [2, 24, 28, 30, 10])
@for_each("order", ["<", ">"])
def test_a_loopback_family_may_be_any_number_in_any_byte_order(family: int, order: str) -> None:
    packet = bytes(ip4() / tcp()) if family == 2 else bytes(ip6() / tcp())
    assert found(struct.pack(order + "I", family) + packet, 0) == segment(FLOW4 if family == 2 else FLOW6)


TUNNELS = {
    "vxlan": ETHERNET / IP() / UDP(dport=4789) / VXLAN(vni=5) / Ether() / ip4() / tcp(),
    "vxlan on linux's port": ETHERNET / IP() / UDP(dport=8472) / VXLAN(vni=5) / Ether() / ip4() / tcp(),
    "vxlan over ipv6": ETHERNET / IPv6() / UDP(dport=4789) / VXLAN(vni=5) / Ether() / ip4() / tcp(),
    "geneve": ETHERNET / IP() / UDP(dport=6081) / GENEVE() / Ether() / ip4() / tcp(),
    "gre": ETHERNET / IP() / GRE() / ip4() / tcp(),
    "gre with ethernet": ETHERNET / IP() / GRE(proto=0x6558) / Ether() / ip4() / tcp(),
    "ip in ip": ETHERNET / IP() / ip4() / tcp(),
    "ip in ip in ip": ETHERNET / IP() / IP() / ip4() / tcp(),
    "ip in ipv6": ETHERNET / IPv6() / ip4() / tcp(),
    "mpls": ETHERNET / MPLS(label=3, s=0) / MPLS(label=4, s=1) / ip4() / tcp(),
    "pppoe": ETHERNET / PPPoE() / PPP() / ip4() / tcp(),
    "vlan and mpls": ETHERNET / Dot1Q(vlan=9) / MPLS(s=1) / ip4() / tcp(),
    "802.3 with snap": Dot3() / LLC() / SNAP() / ip4() / tcp(),
}


@for_each("name", TUNNELS)
def test_a_tunnel_leads_to_the_innermost_segment(name: str) -> None:
    assert found(TUNNELS[name]) == segment()


def test_ipv6_in_a_tunnel() -> None:
    assert found(ETHERNET / IP() / ip6() / tcp()) == segment(FLOW6)
    assert found(ETHERNET / IP() / GRE() / ip6() / tcp()) == segment(FLOW6)


def test_other_link_types_are_left_to_scapy() -> None:
    assert found(PPP() / ip4() / tcp(), 9) == segment()


WIRELESS = {
    105: b"", 119: bytes(PrismHeader()), 127: bytes(RadioTap()),
    163: struct.pack(">II", 0x80211001, 64) + bytes(56), 192: struct.pack("<BBHI", 0, 0, 8, 105),
}  # fmt: skip
"""What stands before the frame; two of them in bytes, so that kdbg alone imports what reads them."""


@pytest.mark.parametrize("link", WIRELESS)
def test_every_link_type_of_wireless_networks_leads_to_the_segment(link: int) -> None:
    frame = Dot11(type=2, subtype=8) / Dot11QoS() / LLC() / SNAP() / ip4() / tcp()
    assert found(WIRELESS[link] + bytes(frame), link) == segment()


@pytest.mark.parametrize(("link", "module"), [(163, "scapy.contrib.avs"), (192, "scapy.layers.ppi")])
def test_the_module_of_a_link_type_is_imported_when_a_packet_needs_it(
    link: int, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(link)
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.delitem(conf.l2types.num2layer, link)
    require.cache_clear()
    assert require(link).__module__ == module


def test_a_link_type_that_nobody_knows_is_noted_and_passed_over() -> None:
    notes: list[str] = []
    assert dissector(65_000, notes.append)(bytes(100)) is None
    assert notes == ["unknown link type 65000: packets skipped"]


def test_without_scapy_all_but_tunnels_is_read_and_they_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kdbg.capture.tunnels", "scapy", "scapy.config"):
        monkeypatch.setitem(sys.modules, name, None)
    notes: list[str] = []
    dissect = dissector(1, notes.append)
    assert dissect(bytes(ETHERNET / ip4() / tcp())) == segment()
    assert notes == []
    assert dissect(bytes(ETHERNET / IP() / GRE() / ip4() / tcp())) is None
    assert dissector(9, notes.append)(bytes(PPP() / ip4() / tcp())) is None
    assert notes == [
        "tunnelled packets skipped: install scapy to decode them",
        "packets of link type 9 skipped: install scapy to decode them",
    ]


@for_each(
    "packet",
    [
        ETHERNET / ARP(),
        ETHERNET / ip4() / ICMP(),
        ETHERNET / ip4() / UDP(dport=53) / Raw(b"x" * 40),
        ETHERNET / ip6() / UDP(dport=53) / Raw(b"x" * 40),
        ETHERNET / IP() / GRE() / ip4() / UDP() / Raw(b"x" * 40),
        ETHERNET / ip4(proto=132) / Raw(b"x" * 40),
        Dot3() / LLC() / Raw(b"x" * 40),
    ],
    ids=lambda packet: packet.summary()[:40],
)
def test_what_is_not_tcp_is_nothing(packet: ScapyPacket) -> None:
    assert found(packet) is None


def test_ethernet_padding_is_no_payload() -> None:
    assert found(bytes(ETHERNET / ip4() / tcp()) + bytes(6)) == segment()
    assert found(bytes(ETHERNET / ip6() / tcp()) + bytes(6)) == segment(FLOW6)
    bare = bytes(ETHERNET / ip4() / TCP(sport=51514, dport=9092, seq=SEQ, ack=ACK, flags="PA"))
    assert found(bare + bytes(6)) == segment(payload=b"")


def test_ip_options_are_stepped_over() -> None:
    packet = ETHERNET / ip4(options=[IPOption_NOP()] * 8) / tcp()
    assert bytes(packet)[14] == 0x47
    assert found(packet) == segment()
    assert found(bytes(packet) + b"padding") == segment()


def test_tcp_options_are_stepped_over() -> None:
    assert found(ETHERNET / ip4() / tcp(options=[("NOP", None)] * 2 + [("Timestamp", (1, 2))])) == segment()


@pytest.mark.parametrize(
    "headers",
    [
        IPv6ExtHdrHopByHop(),
        IPv6ExtHdrRouting(),
        IPv6ExtHdrDestOpt(),
        IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting() / IPv6ExtHdrDestOpt(),
        IPv6ExtHdrFragment(),
    ],
    ids=["hop by hop", "routing", "destination options", "all three", "a fragment that is all"],
)
def test_ipv6_extension_headers_are_stepped_over(headers: ScapyPacket) -> None:
    assert found(bytes(ETHERNET / ip6() / headers / tcp()) + bytes(4)) == segment(FLOW6)


def test_an_authentication_header_is_stepped_over() -> None:
    header = bytes([6, 4]) + bytes(22)
    packet = ETHERNET / ip6(nh=51, plen=len(header) + 20 + len(PAYLOAD)) / Raw(header) / tcp()
    assert found(packet) == segment(FLOW6)


def test_a_total_length_of_zero_means_all_that_is_there() -> None:
    assert found(ETHERNET / ip4(len=0) / tcp()) == segment()
    assert found(ETHERNET / ip4(len=0, options=[IPOption_NOP()] * 4) / tcp()) == segment()
    assert found(ETHERNET / ip6(plen=0) / tcp()) == segment(FLOW6)


@for_each("cut", range(1, len(PAYLOAD) + 1))
def test_what_the_snaplen_cut_away_is_counted(cut: int) -> None:
    rest = PAYLOAD[:-cut]
    for network, flow in ((ip4(), FLOW4), (ip6(), FLOW6), (ip4(options=[IPOption_NOP()] * 4), FLOW4)):
        assert found(bytes(ETHERNET / network / tcp())[:-cut]) == segment(flow, rest, len(PAYLOAD))


def test_a_header_cut_within_its_options_still_counts() -> None:
    packet = bytes(ETHERNET / ip4() / tcp(options=[("NOP", None)] * 12))
    assert found(packet[: 14 + 20 + 20]) == segment(payload=b"", length=len(PAYLOAD))


@pytest.mark.parametrize("fields", [{"flags": "MF"}, {"frag": 100}, {"flags": "MF", "frag": 100}])
def test_fragments_are_told_from_segments(fields: dict[str, Any]) -> None:
    piece = found(ETHERNET / ip4(proto=6, **fields) / Raw(bytes(32)))
    assert (piece.offset, piece.more, piece.data) == (fields.get("frag", 0) * 8, "flags" in fields, bytes(32))
    assert found(ETHERNET / ip4(proto=1, **fields) / Raw(bytes(32))) is None


@pytest.mark.parametrize("fields", [{"m": 1}, {"offset": 100}])
def test_ipv6_fragments_are_told_from_segments(fields: dict[str, Any]) -> None:
    piece = found(ETHERNET / ip6() / IPv6ExtHdrFragment(nh=6, **fields) / Raw(bytes(32)))
    assert (piece.offset, piece.more, piece.data) == (fields.get("offset", 0) * 8, "m" in fields, bytes(32))
    assert found(ETHERNET / ip6() / IPv6ExtHdrFragment(nh=58, **fields) / Raw(bytes(32))) is None


def test_a_fragment_that_the_snaplen_cut_cannot_be_put_together() -> None:
    assert found(bytes(ETHERNET / ip4(proto=6, flags="MF") / Raw(bytes(32)))[:-1]) is None
    assert found(ETHERNET / ip4(proto=6, flags="MF") / Raw(bytes(31))) is None


def test_do_not_fragment_is_no_fragment() -> None:
    assert found(ETHERNET / ip4(flags="DF") / tcp()) == segment()


@pytest.mark.parametrize("offset", [0, 4])
def test_a_tcp_header_of_less_than_20_bytes_is_none(offset: int) -> None:
    assert found(ETHERNET / ip4() / tcp(dataofs=offset)) is None
    assert found(ETHERNET / ip6() / tcp(dataofs=offset)) is None
    assert found(ETHERNET / ip4(options=[IPOption_NOP()] * 4) / tcp(dataofs=offset)) is None


def test_lengths_that_contradict_one_another_are_no_segment() -> None:
    assert found(ETHERNET / ip4(len=30) / tcp()) is None
    assert found(ETHERNET / ip6(plen=10) / tcp()) is None
    assert found(ETHERNET / ip4(ihl=4) / tcp()) is None


def test_a_tunnel_in_a_tunnel_without_end_is_nothing() -> None:
    header = bytes(IP(proto=4, len=0))
    assert found(bytes(Ether(type=0x800)) + header * 3000) is None


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=120), link=st.sampled_from(sorted({*LINKS, 9, 127})))
@example(data=b"", link=1)
def test_any_bytes_raise_nothing(data: bytes, link: int) -> None:
    dissector(link)(data)


SAMPLES = [*(bytes(packet) for packet in TUNNELS.values()), bytes(ETHERNET / ip6() / IPv6ExtHdrHopByHop() / tcp())]


@settings(max_examples=300, deadline=None)
@given(
    sample=st.sampled_from(SAMPLES),
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 200),
)
def test_a_damaged_packet_raises_nothing(sample: bytes, changes: list[tuple[int, int]], cut: int) -> None:
    damaged = bytearray(sample)
    for place, value in changes:
        damaged[place % len(damaged)] = value
    result = found(bytes(damaged[: len(damaged) - cut % len(damaged)]))
    if result and not isinstance(result, Fragment):
        assert len(result[4]) <= result[5]


@for_each("name", LINK_LAYERS)
def test_every_prefix_of_a_packet_raises_nothing_and_counts_what_is_missing(name: str) -> None:
    link, layer = LINK_LAYERS[name]
    whole = bytes(ip4() / tcp() if layer is None else layer / ip4() / tcp())
    for end in range(len(whole)):
        result = found(whole[:end], link)
        assert result is None or result[5] == len(PAYLOAD)


def test_a_flow_tells_its_ends_and_its_reverse() -> None:
    assert endpoint(FLOW4) == (("10.0.0.1", 51514), ("10.0.0.2", 9092))
    assert endpoint(FLOW6) == (("::1", 51514), ("::2", 9092))
    for flow in (FLOW4, FLOW6):
        assert endpoint(reverse(flow)) == endpoint(flow)[::-1]
        assert reverse(reverse(flow)) == flow
