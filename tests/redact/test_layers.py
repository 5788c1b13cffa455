"""The headers of packets, down to TCP: all tunnels and links, byte by byte."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kdbg.capture.write import checksum
from kdbg.views.redact.packets import Layers, rewritten
from kdbg.views.redact.substitutes import Substitutes

from ..cases import for_each
from ..traffic import ip
from .leaks import MAC, ethernet, outer, udp

TCP = struct.pack(">HHIIBBHHH", 40_000, 9092, 7, 9, 0x50, 0x18, 500, 0, 0)
SEGMENT = ip("10.0.0.1", "10.0.0.2", TCP + b"what was said")
SIX = ip("2001:db8::1", "2001:db8::2", TCP + b"what was said")
INNER = MAC + MAC + b"\x08\0"
ETHERNET = [(0, 6), (6, 12)]
LABEL, LAST = b"\0\1\0\x40", b"\0\1\1\x40"
SNAP = b"\xaa\xaa\3\0\0\0\x08\0"
DATA, FOUR, QOS = b"\x08\1\0\0", b"\x08\3\0\0", b"\x88\1\0\0"
AP = MAC * 3 + b"\1\0"


def extended(carries: int, header: bytes) -> bytes:
    return SIX[:4] + struct.pack(">H", len(SIX) - 40 + len(header)) + bytes([carries]) + SIX[7:40] + header + SIX[40:]


FRONTS: dict[str, tuple[int, bytes, list[int]]] = {
    # link type, all up to the IP packet, and where hardware addresses begin
    "loopback": (0, b"\2\0\0\0", []),
    "raw": (12, b"", []),
    "raw bsd": (14, b"", []),
    "raw ip": (101, b"", []),
    "openbsd": (108, b"\0\0\0\2", []),
    "ipv4": (228, b"", []),
    "ethernet": (1, INNER, [0, 6]),
    "vlan": (1, MAC + MAC + b"\x81\0\0\7\x08\0", [0, 6]),
    "qinq": (1, MAC + MAC + b"\x88\xa8\0\7\x81\0\0\7\x08\0", [0, 6]),
    "mpls": (1, MAC + MAC + b"\x88\x47" + LABEL + LAST, [0, 6]),
    "mpls ethernet": (1, MAC + MAC + b"\x88\x48" + LAST + b"\x22" + INNER[1:], [0, 6, 18, 24]),
    "mpls control word": (1, MAC + MAC + b"\x88\x47" + LAST + bytes(4) + INNER, [0, 6, 22, 28]),
    "pppoe": (1, MAC + MAC + b"\x88\x64\x11\0\0\1\0\x60\0\x21", [0, 6]),
    "snap": (1, MAC + MAC + b"\0\x70" + SNAP, [0, 6]),
    "802.11": (105, DATA + AP + SNAP, [4, 10, 16]),
    "802.11 four addresses": (105, FOUR + AP + MAC + SNAP, [4, 10, 16, 24]),
    "802.11 qos": (105, QOS + AP + b"\1\0" + SNAP, [4, 10, 16]),
    "prism": (119, bytes(144) + DATA + AP + SNAP, [148, 154, 160]),
    "radiotap": (127, b"\0\0\x09\0" + bytes(5) + DATA + AP + SNAP, [13, 19, 25]),
    "avs": (163, bytes(7) + b"\x0c" + bytes(4) + DATA + AP + SNAP, [16, 22, 28]),
    "ppi": (192, b"\0\0\x09\0" + bytes(5) + DATA + AP + SNAP, [13, 19, 25]),
    "gre": (101, outer(47, b"\0\0\x08\0"), []),
    "gre key": (101, outer(47, b"\x20\0\x08\0\0\0\0\7"), []),
    "gre all": (101, outer(47, b"\xb0\0\x08\0" + b"\0\0\0\7" * 3), []),
    "gre ethernet": (101, outer(47, b"\0\0\x65\x58" + INNER), [24, 30]),
    "ethernet in ip": (101, outer(97, b"\x30\0" + INNER), [22, 28]),
    "mpls in ip": (101, outer(137, LAST), []),
    "ip in ip": (101, outer(4, b""), []),
    "vxlan": (101, udp(4789, b"\x08\0\0\0\0\0\7\0" + INNER), [36, 42]),
    "vxlan linux": (101, udp(8472, b"\x08\0\0\0\0\0\7\0" + INNER), [36, 42]),
    "gpe": (101, udp(4790, b"\x0c\0\0\1\0\0\7\0"), []),
    "gpe ethernet": (101, udp(4790, b"\x0c\0\0\3\0\0\7\0" + INNER), [36, 42]),
    "geneve": (101, udp(6081, b"\0\0\x65\x58\0\0\7\0" + INNER), [36, 42]),
    "geneve options": (101, udp(6081, b"\2\0\x08\0\0\0\7\0" + bytes(8)), []),
    "gre in udp": (101, udp(4754, b"\0\0\x08\0"), []),
    "mpls in udp": (101, udp(6635, LAST), []),
}  # fmt: skip
SIXES: dict[str, tuple[int, bytes, int]] = {
    # the packet, and the bytes of its headers in front of TCP
    "plain": (1, ethernet(SIX, 0x86DD), 54),
    "gpe": (101, udp(4790, b"\x0c\0\0\2\0\0\7\0") + SIX, 76),
    "pppoe": (1, MAC + MAC + b"\x88\x64\x11\0\0\1\0\x60\0\x57" + SIX, 62),
    "in ip": (101, outer(41, SIX), 60),
    **{f"header {kind}": (101, extended(kind, b"\6\1" + bytes(14)), 56) for kind in (0, 43, 60, 135, 139, 140)},
    "atomic fragment": (101, extended(44, b"\6\0\0\0\1\2\3\4"), 48),
    "authentication": (101, extended(51, b"\6\2" + bytes(14)), 56),
}


@for_each("name", FRONTS)
def test_headers_are_read_down_to_tcp_and_stay(name: str) -> None:
    link, front, places = FRONTS[name]
    layers = Layers(link, front + SEGMENT)
    assert layers.segment == len(front) + 20
    assert layers.body == len(front) + 40
    assert bytes(layers.kept) == front + SEGMENT[:40] + bytes(13)
    assert sorted(layers.hardware) == [(place, place + 6) for place in places]
    assert layers.networks[-1][:3] == (len(front), len(front) + 20, (len(front) + 12, 4))


@pytest.mark.parametrize(
    ("link", "front", "address"), [(113, bytes(14) + b"\x08\0", (6, 14)), (276, b"\x08\0" + bytes(18), (12, 20))]
)
def test_the_hardware_address_of_a_linux_capture_on_any_interface(
    link: int, front: bytes, address: tuple[int, int]
) -> None:
    layers = Layers(link, front + SEGMENT)
    assert (layers.hardware, layers.segment) == ([address], len(front) + 20)


@for_each("name", SIXES)
def test_ipv6_and_its_extension_headers_are_read(name: str) -> None:
    link, data, front = SIXES[name]
    layers = Layers(link, data)
    assert (layers.segment, layers.body) == (front, front + 20)
    assert bytes(layers.kept) == data[: front + 20] + bytes(13)
    assert layers.networks[-1].addresses[1] == 16


LOST = {
    "loopback": "0:1-3 4:5-23", "raw": "0:1-19", "raw bsd": "0:1-19", "raw ip": "0:1-19", "ipv4": "0:1-19",
    "openbsd": "4:5-23", "ethernet": "0:1-13 14:15-33", "vlan": "0:1-13 18:19-37", "qinq": "0:1-13 22:23-41",
    "mpls": "0:1-13 15:16-17 19:20-21 22:23-41", "mpls ethernet": "0:1-13 15:16-17 32:33-51",
    "mpls control word": "0:1-13 15:16-17 36:37-55", "pppoe": "0:1-13 22:23-41", "snap": "0:1-13 14:15-16 22:23-41",
    "802.11": "0:1-31 32:33-51", "802.11 four addresses": "0:1-31 30:32-32 38:39-57", "802.11 qos": "0:1-31 34:35-53",
    "prism": "144:145-175 176:177-195", "radiotap": "2:3-40 41:42-60", "avs": "7:8-43 44:45-63",
    "ppi": "2:3-40 41:42-60", "gre": "0:1-19 22:23-23 24:25-43", "gre key": "0:1-19 20:21-23 28:29-47",
    "gre all": "0:1-19 20:21-23 36:37-55", "gre ethernet": "0:1-19 22:23-23 38:39-57",
    "ethernet in ip": "0:1-19 36:37-55", "mpls in ip": "0:1-19 21:22-23 24:25-43", "ip in ip": "0:1-19 20:21-39",
    "vxlan": "0:1-19 20:21-27 50:51-69", "vxlan linux": "0:1-19 20:21-27 50:51-69",
    "gpe": "0:1-19 20:21-27 28:29-35 36:37-55", "gpe ethernet": "0:1-19 20:21-27 28:29-35 50:51-69",
    "geneve": "0:1-19 20:21-27 30:31-35 50:51-69", "geneve options": "0:1-19 20:21-27 28:29-35 44:45-63",
    "gre in udp": "0:1-19 20:21-27 30:31-31 32:33-51", "mpls in udp": "0:1-19 20:21-27 29:30-31 32:33-51",
    "plain": "0:1-13 14:15-53", "gpe IPv6": "0:1-19 20:21-27 28:29-35 36:37-75", "pppoe IPv6": "0:1-13 22:23-61",
    "in ip": "0:1-19 20:21-59",
}  # fmt: skip
"""What is lost of a packet that is cut off: from which byte on, at which sizes. A header that is not whole is none."""


def lost(link: int, data: bytes) -> str:
    """What is lost of a packet wherever it is cut off, as in `LOST`."""
    found: dict[int, list[int]] = {}
    whole = Layers(link, data).kept
    for size in range(len(data) + 1):
        cut = Layers(link, data[:size]).kept
        assert len(cut) == size
        if cut != whole[:size]:
            first = next(place for place in range(size) if cut[place] != whole[place])
            assert not any(cut[first:])
            found.setdefault(first, []).append(size)
    return " ".join(f"{first}:{sizes[0]}-{sizes[-1]}" for first, sizes in found.items())


def test_of_packets_that_are_cut_off_whole_headers_stay() -> None:
    for name, (link, front, _) in FRONTS.items():
        assert lost(link, front + SEGMENT) == LOST[name], name
    for name, (link, data, _) in SIXES.items():
        wanted = LOST.get(f"{name} IPv6" if name in FRONTS else name, "0:1-39 40:41-47")
        assert lost(link, data) == wanted, name


def test_what_is_no_packet_of_tcp_ends_the_walk() -> None:
    piece = extended(44, b"\6\0\0\x08\1\2\3\4")
    others = [outer(47, b"\0\1\x08\0") + SEGMENT, udp(53, SEGMENT), piece, b"\x20" + SEGMENT, outer(50, SEGMENT)]
    for data in others:
        assert Layers(101, data).segment is None
    assert bytes(Layers(101, piece).kept) == piece[:48] + bytes(33)
    assert not any(Layers(147, SEGMENT).kept)
    beacon = b"\x80\0\0\0" + AP + b"beacons of somebody"
    assert bytes(Layers(105, beacon).kept) == beacon[:24] + bytes(19)
    deep = outer(4, b"") * 9 + SEGMENT
    assert len(Layers(101, deep).networks) == 8


def test_numbers_that_look_like_a_text_become_zeros() -> None:
    for front, where in (
        (outer(47, b"\x20\0\x08\0text"), 24), (udp(4789, b"text\0\0\7\0" + INNER), 28),
        (udp(4790, b"\x0ctextte\1"[:3] + b"\1text"), 28), (udp(6081, b"\0\0\x08\0text"), 28),
    ):  # fmt: skip
        layers = Layers(101, front + SEGMENT)
        assert layers.segment is not None
        assert b"text" not in layers.kept
        assert bytes(layers.kept[:where]) == front[:where]


@for_each(
    ("options", "kept"),
    [
        (b"\2\4\5\xb4\1\3\3\7\4\2\1\1", b"\2\4\5\xb4\1\3\3\7\4\2\1\1"),
        (b"\x08\x0a" + bytes(range(8)) + b"\1\1", b"\x08\x0a" + bytes(range(8)) + b"\1\1"),
        (b"\x08\x0aonetext!\1\1", b"\x08\x0a" + bytes(8) + b"\1\1"),
        (b"\5\x0a" + bytes(range(8)) + b"\0\7", b"\5\x0a" + bytes(range(8)) + b"\0\0"),
        (b"\x1e\4\7\7\xfd\3\7\1", b"\x1e\4\0\0\xfd\3\0\1"),
        (b"\2\5\5\xb4\7\1\1\1", b"\2\5\0\0\0\1\1\1"),
        (b"\x08\x0a\1\2", bytes(4)),
        (b"\3\0\7\7", bytes(4)),
        (b"\3\1\7\7", bytes(4)),
        (b"\1\1\1\3", b"\1\1\1\0"),
    ],
)
def test_options_of_tcp_are_kept_if_they_are_numbers(options: bytes, kept: bytes) -> None:
    data = SEGMENT[:32] + bytes([0x50 + len(options) * 4]) + SEGMENT[33:40] + options + b"what was said"
    layers = Layers(101, data)
    assert layers.body == 40 + len(options)
    assert bytes(layers.kept[40:]) == kept + bytes(13)


def test_pointers_of_ipv4_options_are_kept() -> None:
    for option, kept in ((b"\7\7\4\1\2\3\4\0", b"\7\7\4\0\0\0\0\0"), (b"\x88\4\1\2", b"\x88\4\0\0")):
        data = bytes([0x45 + len(option) // 4]) + SEGMENT[1:20] + option + SEGMENT[20:]
        layers = Layers(101, data)
        assert bytes(layers.kept[20 : 20 + len(option)]) == kept
        assert layers.segment == 20 + len(option)


@pytest.mark.parametrize("addresses", [False, True])
def test_checksums_are_right_behind_all_headers(addresses: bool) -> None:
    made = Substitutes("a seed", addresses=addresses)
    found = [(link, front + SEGMENT, len(front) + 20, 8) for link, front, _ in FRONTS.values()]
    found += [(link, data, start, 32) for link, data, start in SIXES.values()]
    for link, data, start, size in found:
        network = start - 20 if size == 8 else data.rfind(SIX[8:40]) - 8
        where = slice(network + (12 if size == 8 else 8), network + (20 if size == 8 else 40))
        packet: Any = (1, 0, data[where] + data[start : start + 4], 7, 9, 0, b"what was said", 13)
        for cut in (0, 3):
            whole = data[: len(data) - cut]
            packet = (*packet[:6], b"what was said"[: 13 - cut], 13)
            new = rewritten(link, whole, packet, b"x" * (13 - cut), made)
            segment = new[start:] + b"aid"[3 - cut :]
            assert checksum(new[where] + struct.pack(">II", len(segment), 6) + segment) == 0 or cut
            assert new[start + 20 :] == b"x" * (13 - cut)
            assert (new[where] != data[where]) is addresses
            if size == 8:
                assert checksum(new[start - 20 : start]) == 0
