"""IP packets in pieces: however they were cut by scapy, shuffled and repeated, what was cut comes out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import GRE, IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet as ScapyPacket
from scapy.packet import Raw

import kdbg
from kdbg.capture import open_capture
from kdbg.capture.frames import Dissectors, Frame
from kdbg.capture.links import MOST, MOST_BYTES, PATIENCE, Fragment, Fragments, dissector

from ..cases import for_each
from .files import ETHERNET, PACKETS, ROOT, pcap, read

BODY = bytes(range(256)) * 12


def tcp(seq: int = 7) -> ScapyPacket:
    return TCP(sport=51514, dport=9092, seq=seq, flags="PA") / Raw(BODY)


def pieces4(packet: ScapyPacket, size: int) -> list[bytes]:
    return [bytes(piece) for piece in fragment(IP(bytes(packet)), fragsize=size)]


def pieces6(packet: ScapyPacket, size: int) -> list[bytes]:
    return [bytes(piece) for piece in fragment6(packet, size + 48)]


IN_PIECES: dict[str, Any] = {
    "IPv4": lambda size: pieces4(IP(src="10.0.0.1", dst="10.0.0.2", id=5) / tcp(), size),
    "IPv4 with options": lambda size: pieces4(IP(src="10.0.0.1", dst="10.0.0.2", options=b"\1\1\1\1") / tcp(), size),
    "IPv6": lambda size: pieces6(IPv6(src="::1", dst="::2") / IPv6ExtHdrFragment(id=9) / tcp(), size),
    "IPv6, options behind the fragment header": lambda size: pieces6(
        IPv6(src="::1", dst="::2") / IPv6ExtHdrFragment(id=9) / IPv6ExtHdrDestOpt() / tcp(), size
    ),
    "VXLAN": lambda size: pieces4(
        IP(src="9.9.9.9", dst="9.9.9.8", id=4) / UDP(dport=4789) / VXLAN(vni=3) / Ether()
        / IP(src="10.0.0.1", dst="10.0.0.2") / tcp(), size
    ),
    "GRE": lambda size: pieces4(
        IP(src="9.9.9.9", dst="9.9.9.8", id=4) / GRE() / IP(src="10.0.0.1", dst="10.0.0.2") / tcp(), size
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PIECES)
@settings(deadline=None, max_examples=8)
@given(size=st.integers(10, 200), seed=st.integers(0, 1 << 32), twice=st.booleans())
def test_what_was_sent_in_pieces_is_whole_again(name: str, size: int, seed: int, twice: bool) -> None:
    pieces = IN_PIECES[name](size * 8)
    order = random.Random(seed)
    first = pieces[: len(pieces) // 2] if twice else []
    order.shuffle(pieces)
    packets, capture = read(pcap([PACKETS[0], *first, *pieces, PACKETS[1]]))
    assert [found[6] for found in packets][1:-1] == [BODY]
    assert packets[1][5] == 0x18
    assert packets[1][7] == len(BODY)
    assert packets[1][0] <= 1 + len(first) + len(pieces)
    assert capture.other == len(first) + len(pieces) - 1


@for_each("name", IN_PIECES)
@for_each("missing", [0, 1, -1])
def test_what_lacks_a_piece_is_told_and_not_guessed(name: str, missing: int) -> None:
    pieces = IN_PIECES[name](512)
    del pieces[missing]
    packets, capture = read(pcap([PACKETS[0], *pieces, PACKETS[1]]))
    assert len(packets) == 2
    (problem,) = capture.problems
    assert problem.text.startswith("an IP fragment whose other fragments are not in the capture")
    assert f"({len(pieces)} times)" in problem.text


def test_pieces_of_several_packets_may_be_mixed() -> None:
    cut = [pieces4(IP(src="10.0.0.1", dst="10.0.0.2", id=n) / tcp(n), 400) for n in range(1, 6)]
    mixed = [piece for together in zip(*cut, strict=True) for piece in together]
    packets, capture = read(pcap(mixed))
    assert [found[3] for found in packets] == [1, 2, 3, 4, 5]
    assert not capture.problems


def piece(number: int, offset: int, data: bytes, *, more: bool = True) -> Fragment:
    return Fragment(number.to_bytes(4, "big"), b"head", offset, more, data)


def test_pieces_that_overlap_make_no_packet_longer() -> None:
    fragments = Fragments()
    assert fragments.add(piece(1, 8, b"b" * 16), 0) is None
    assert fragments.add(piece(1, 0, b"a" * 16), 0) is None
    assert fragments.add(piece(1, 24, b"c" * 8, more=False), 0) == b"head" + b"a" * 16 + b"b" * 8 + b"c" * 8
    assert fragments.lost == 0


def test_a_number_that_is_used_again_later_is_another_packet() -> None:
    fragments = Fragments()
    assert fragments.add(piece(1, 0, b"a" * 8), 0) is None
    assert fragments.add(piece(1, 8, b"z", more=False), PATIENCE + 1) is None
    assert fragments.add(piece(1, 0, b"b" * 8), PATIENCE + 2) == b"head" + b"b" * 8 + b"z"
    assert fragments.lost == 1


def test_what_is_held_has_a_bound() -> None:
    fragments = Fragments()
    for number in range(MOST + 10):
        fragments.add(piece(number, 0, b"a" * 8), 0)
    assert fragments.lost == MOST + 10
    assert len(fragments._held) == MOST
    large = Fragments()
    for number in range(100):
        large.add(piece(number, 0, bytes(65_000)), 0)
    assert len(large._held) == MOST_BYTES // 65_000
    assert large.lost == 100
    for offset in range(0, 80_000, 8):
        large.add(piece(7, offset, b"a" * 8), 0)
    assert large._size <= MOST_BYTES


def test_a_capture_in_pieces_shows_the_same_exchanges(tmp_path: Path) -> None:
    path = ROOT / "captures" / "first-contact.pcap"
    frames = [bytes(frame) for frame in frames_of(path)]
    cut = [bytes(one) for frame in frames for one in in_pieces(frame)]
    assert len(cut) > len(frames)
    (tmp_path / "cut.pcap").write_bytes(pcap(cut, link=ETHERNET))
    whole, pieces = list(kdbg.read(path)), list(kdbg.read(tmp_path / "cut.pcap"))
    assert [(one.api, one.correlation_id, one.size) for one in pieces] == [
        (one.api, one.correlation_id, one.size) for one in whole
    ]


def frames_of(path: Path) -> list[bytes]:
    from scapy.utils import rdpcap

    return [bytes(packet) for packet in rdpcap(str(path))]


def in_pieces(frame: bytes) -> list[ScapyPacket]:
    packet = Ether(frame)
    return list(fragment(packet, fragsize=64))


def test_frames_that_hold_pieces_make_a_packet_with_the_last_of_them() -> None:
    pieces = IN_PIECES["IPv4"](512)
    found = Dissectors()
    frames = [Frame(number, 0, 101, piece, len(piece)) for number, piece in enumerate(pieces, 1)]
    assert [found.packet(frame) for frame in frames[1:]] == [None] * (len(frames) - 1)
    packet = found.packet(frames[0])
    assert packet is not None
    assert (packet[0], packet[6]) == (1, BODY)
    assert sorted(piece.frame for piece in found.pieces) == frames
    assert found.is_piece
    assert found.lost == 0


@given(st.binary(max_size=200))
def test_any_bytes_are_a_piece_or_not(data: bytes) -> None:
    dissector(101)(data)
    with open_capture(ROOT / "captures" / "first-contact.pcap") as capture:
        assert capture.problems == []
