"""Headers of packets that were replaced: checksums of whole and cut packets, and where addresses are searched for."""

from __future__ import annotations

import struct
from ipaddress import ip_address
from typing import Any

from kdbg.capture.frames import Dissectors, Frame
from kdbg.capture.write import checksum
from kdbg.views.redact.packets import rewritten
from kdbg.views.redact.search import LeakSearch
from kdbg.views.redact.substitutes import Replaced, ReplacedValues, Substitutes

from ..cases import for_each
from ..traffic import ip
from .leaks import MAC, ethernet, outer, udp

ENDS = {4: ("10.0.0.1", "10.0.0.2"), 6: ("2001:db8::1", "2001:db8::2")}
HEADERS = {4: 20, 6: 40}


def error_of(packet: bytes) -> int:
    """What is wrong with the checksum of the TCP segment in a whole IP packet; 0 if it is right."""
    start = HEADERS[packet[0] >> 4]
    ends = packet[12:20] if start == 20 else packet[8:40]
    return checksum(ends + struct.pack(">II", len(packet) - start, 6) + packet[start:])


def segment(version: int, payload: bytes, wrong: int = 0) -> bytes:
    """An IP packet with a segment whose checksum is wrong by so much."""
    tcp = struct.pack(">HHIIBBHHH", 40_000, 9092, 7, 9, 0x50, 0x18, 500, 0, 0)
    packet = bytearray(ip(*ENDS[version], tcp + payload))
    place = HEADERS[version] + 16
    struct.pack_into(">H", packet, place, (error_of(bytes(packet)) + wrong) % 0xFFFF)
    return bytes(packet)


def changed(data: bytes, made: Substitutes, link: int = 101) -> bytes:
    """A packet with other bytes in its segment."""
    packet = Dissectors().packet(Frame(1, 0, link, data, 9999))
    return rewritten(link, data, packet, b"" if packet is None else b"x" * len(packet[6]), made)


def test_checksums_are_right_and_those_of_cut_packets_as_right_as_they_were() -> None:
    for addresses in (False, True):
        made = Substitutes("a seed", addresses=addresses)
        for version in (4, 6):
            for number in range(40):
                payload = bytes((number * 37 + place * place) % 256 for place in range(9 + number % 4))
                for wrong in (0, 1, 0x8123):
                    whole = segment(version, payload, wrong)
                    assert error_of(changed(whole, made)) == 0
                    for cut in (1, 4):
                        new = changed(whole[:-cut], made) + whole[-cut:]
                        assert new[HEADERS[version] + 20 :] == b"x" * (len(payload) - cut) + payload[-cut:]
                        assert error_of(new) == error_of(whole), (version, number, wrong, cut)
                if version == 4:
                    assert checksum(changed(segment(4, payload), made)[:20]) == 0


def test_a_packet_whose_length_was_left_to_the_network_card_ends_where_it_does() -> None:
    made = Substitutes("a seed")
    four, six = segment(4, b"what was said"), segment(6, b"what was said")
    sent = changed(four[:2] + b"\0\0" + four[4:], made)
    assert error_of(sent[:2] + four[2:4] + sent[4:]) == 0
    sent = changed(six[:4] + b"\0\0" + six[6:], made)
    assert error_of(sent[:4] + six[4:6] + sent[6:]) == 0


def test_what_stands_behind_a_packet_does_not_count() -> None:
    made = Substitutes("a seed")
    new = changed(ethernet(segment(4, b"what was said")) + b"padding", made, 1)
    assert (error_of(new[14:-7]), new[-7:]) == (0, bytes(7))


def test_checksums_of_tunnels_are_none_and_of_their_ip_headers_right() -> None:
    made = Substitutes("a seed", addresses=True)
    inner = segment(4, b"what was said")
    data = udp(4789, b"\x08\0\0\0\0\0\7\0" + ethernet(inner))
    data = data[:26] + b"\x12\x34" + data[28:]
    new = changed(data, made)
    assert (new[26:28], checksum(new[:20]), checksum(new[50:70]), error_of(new[50:])) == (b"\0\0", 0, 0, 0)
    assert new[36:42] == new[42:48] == made.hardware(MAC)
    short = outer(17, b"\xc3\x50\x12\xb5\0\x08\x12")
    assert changed(short, made)[20:] == bytes(7), "it has no whole header"


ADDRESS = b"\x0b\x63\x62\x61"


def found_at(data: bytes, link: int, packet: Any, *, size: int = 4) -> list[int]:
    """The places of a packet at which an address is found."""
    found = ReplacedValues()
    found.address((ADDRESS * 4)[:size], bytes(size))
    found.settle()
    search = LeakSearch(found, addresses=True)
    places = range(len(data) - size + 1)
    put = {place: data[:place] + (ADDRESS * 4)[:size] + data[place + size :] for place in places}
    return [place for place in places if search.find_in_headers(link, put[place], packet) is not None]


def test_where_in_a_packet_addresses_are_searched_for() -> None:
    whole = ethernet(segment(4, b"what was said"))
    packet = Dissectors().packet(Frame(1, 0, 1, whole, 9999))
    found = found_at(whole, 1, packet)
    assert set(range(9)) | {26, 27, 28, 29, 30} <= set(found), "in the addresses of the link and of IP"
    assert not set(range(16, 20)) & set(found), "not in the numbers of IP"
    assert not set(range(34, 43)) & set(found), "not in those of TCP"
    assert not set(range(54, len(whole) - 3)) & set(found), "not in what TCP carries"
    stamped = whole[:16] + b"\0\x41" + whole[18:46] + b"\x80" + whole[47:54] + b"\1\1\x08\x0a" + bytes(8) + whole[54:]
    packet = Dissectors().packet(Frame(1, 0, 1, stamped, 9999))
    found = found_at(stamped, 1, packet)
    assert {26, 27, 28, 29, 30} <= set(found)
    assert not set(range(58, 63)) & set(found), "not in timestamps"
    six = ethernet(segment(6, b"what was said"), 0x86DD)
    packet = Dissectors().packet(Frame(1, 0, 1, six, 9999))
    found = found_at(six, 1, packet)
    assert set(range(22, 51)) <= set(found)
    assert not set(range(54, 63)) & set(found)
    assert found_at(six, 1, packet, size=16)[-1] < 54
    other = ethernet(udp(53, b"what was said"))
    assert set(range(38, len(other) - 3)) <= set(found_at(other, 1, None)), "in all that is no TCP"


def test_addresses_of_all_kinds_are_found_in_both_orders() -> None:
    found = ReplacedValues()
    for text in ("10.99.98.97", "2001:db8::17:ff"):
        found.address(ip_address(text).packed, bytes(4))
    found.address(MAC, bytes(6))
    found.settle()
    search = LeakSearch(found, addresses=True)
    for text in ("10.99.98.97", "2001:db8::17:ff"):
        packed = ip_address(text).packed
        for spelled in (packed, packed[::-1]):
            assert search.find_in_headers(101, udp(53, b"." + spelled + b"."), None) is Replaced.ADDRESS
            assert search.find_in_headers(101, udp(53, b"." + spelled[:-1]), None) is None
    other = b"\2" + MAC[1:]
    assert search.find_in_headers(1, other + other + b"\x12\x34" + MAC, None) is Replaced.HARDWARE
    assert search.find_in_headers(1, other[:5] + b"\xff" + bytes(6) + b"\x12\x34" + MAC[:5], None) is None


UNKNOWN = 147
"""A link that only scapy may know."""


def told(data: bytes, network: int, payload: bytes = b"what was said") -> Any:
    """What is found in the only segment of a packet whose IP header begins here."""
    size = HEADERS[data[network] >> 4]
    ends = data[network + 12 : network + 20] if size == 20 else data[network + 8 : network + 40]
    return (1, 0, ends + data[network + size : network + size + 4], 7, 9, 0, payload, len(payload))


@for_each("version", [4, 6])
@for_each(
    ("front", "kept"),
    [
        (b"", b""),
        (b"\1\2word\3\4", b"\1\2\0\0\0\0\3\4"),
        (b"\1words\3", b"\1\0\0\0\0s\3"),
        (b"abc", b"abc"),
        (bytes(range(40)), bytes(range(32)) + bytes(8)),
    ],
)
def test_what_is_in_front_of_a_packet_that_only_scapy_finds_stays_without_texts(
    version: int, front: bytes, kept: bytes
) -> None:
    for addresses in (False, True):
        made = Substitutes("a seed", addresses=addresses)
        whole = segment(version, b"what was said")
        data = front + whole + b"trailing"
        new = rewritten(UNKNOWN, data, told(data, len(front)), b"x" * 13, made)
        inner, size = new[len(front) : -8], HEADERS[version]
        ends = slice(12, 20) if version == 4 else slice(8, 40)
        assert (new[: len(front)], new[-8:]) == (kept, bytes(8))
        assert (error_of(inner), inner[size + 20 :]) == (0, b"x" * 13)
        assert inner[: ends.start] == whole[: ends.start] or version == 4
        assert inner[size : size + 16] == whole[size : size + 16]
        assert (inner[ends] != whole[ends]) is addresses
        assert version == 6 or checksum(inner[:20]) == 0
        made.replaced.settle()
        assert b"trailing" in made.replaced.texts


def test_the_segment_that_was_found_is_written_whatever_looks_like_it() -> None:
    made, whole = Substitutes("a seed"), segment(4, b"what was said")
    like = whole[20:32]
    for front, payload, behind in (
        (b"", b"what was said", like + b"another"),  # its numbers again, without its payload
        (b"", like + b"what was said", b""),
        (b"", like + like, b""),
        (like, b"what was said", b""),  # without addresses in front
        (b"\1" + like[:11], b"what was said", b""),
    ):
        packet = segment(4, payload)
        data = front + packet + behind
        new = rewritten(UNKNOWN, data, told(data, len(front), payload), b"x" * len(payload), made)
        place = len(front) + 40
        assert new[place : place + len(payload)] == b"x" * len(payload), (front, payload, behind)
        assert new[len(front) + 20 : place - 4] == packet[20:36]
        assert not any(new[place + len(payload) :])
    data = segment(4, b"what was said")
    for other in (
        (*told(data, 0)[:3], 8, *told(data, 0)[4:]),
        (*told(data, 0)[:6], b"what was sung", 13),
        (*told(data, 0)[:2], b"\7" * 8 + data[20:24], *told(data, 0)[3:]),
    ):
        assert rewritten(UNKNOWN, data, other, b"x" * 13, made) == bytes(len(data)), "it is not there"


def test_a_tcp_header_of_which_the_end_is_missing_ends_where_the_packet_does() -> None:
    made = Substitutes("a seed")
    for size in (32, 33, 36, 40):
        data = segment(4, b"what was said")[:size]
        for link in (UNKNOWN, 101):
            new = rewritten(link, data, told(data, 0, b""), b"", made)
            assert (len(new), new[12:32]) == (size, data[12:32]), (size, link)
