"""Packets as tcpdump and Wireshark show them, pasted: their headers are taken off."""

from __future__ import annotations

import struct

import pytest

from kdbg.analysis.pasted.hex_text import Pasted, read_bytes
from kdbg.errors import InputError

from .printed import SAMPLE, tcpdump, wireshark_array, wireshark_dump, wireshark_escaped


def ip(payload: bytes, *, version: int = 4, port: int = 51514) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", port, 9092, 1, 1, 0x50, 0x18, 8192, 0, 0) + payload
    if version == 6:
        return struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + tcp
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, b"\n\0\0\1", b"\n\0\0\2") + tcp


def ethernet(payload: bytes, *, version: int = 4, padding: int = 0) -> bytes:
    kind = b"\x08\x00" if version == 4 else b"\x86\xdd"
    return bytes(12) + kind + ip(payload, version=version) + bytes(padding)


PACKETS = {
    "IPv4": ip(SAMPLE),
    "IPv6": ip(SAMPLE, version=6),
    "Ethernet": ethernet(SAMPLE),
    "Ethernet, IPv6": ethernet(SAMPLE, version=6),
    "Ethernet, padded": ethernet(SAMPLE, padding=6),
    "Linux cooked": bytes(14) + b"\x08\x00" + ip(SAMPLE),
    "Linux cooked v2": b"\x08\x00" + bytes(18) + ip(SAMPLE),
    "BSD loopback": b"\x02\0\0\0" + ip(SAMPLE),
}


@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS.keys())
class TestPackets:
    def test_tcpdumps_dumps_lose_their_headers(self, packet):
        assert read_bytes(tcpdump(packet)) == Pasted(SAMPLE, "tcpdump -X, TCP payload")
        assert read_bytes(tcpdump(packet, text=False)).data == SAMPLE
        assert read_bytes(tcpdump(packet).partition("\n")[2].strip()).data == SAMPLE

    def test_wiresharks_copies_lose_their_headers(self, packet):
        assert read_bytes(wireshark_dump(packet)) == Pasted(SAMPLE, "hexdump, TCP payload")
        assert read_bytes(packet.hex()) == Pasted(SAMPLE, "hex, TCP payload")
        assert read_bytes(wireshark_escaped(packet)) == Pasted(SAMPLE, "quoted string, TCP payload")
        assert read_bytes(wireshark_array(packet)) == Pasted(SAMPLE, "list of numbers, TCP payload")

    def test_cut_packets_are_taken_from_tcpdump_alone(self, packet):
        cut = packet.rstrip(b"\x00")[:-4]
        assert read_bytes(tcpdump(cut)) == Pasted(SAMPLE[:-4], "tcpdump -X, TCP payload")
        assert read_bytes(cut.hex()) == Pasted(cut, "hex")


def test_the_real_tcpdump_is_read():
    printed = """
    \t0x0000:  6000 0000 0036 0640 0000 0000 0000 0000  `....6.@........
    \t0x0010:  0000 0000 0000 0001 0000 0000 0000 0000  ................
    \t0x0020:  0000 0000 0000 0002 c93a 2384 0000 0001  .........:#.....
    \t0x0030:  0000 0001 5018 2000 a4bd 0000 0000 001d  ....P...........
    \t0x0040:  0003 0001 0000 0002 0004 6b64 6267 2066  ..........kdbg.f
    \t0x0050:  6163 6520 3030 2031 3120 6265 6566       ace.00.11.beef
    """
    assert read_bytes(printed) == Pasted(SAMPLE, "tcpdump -X, TCP payload")


def test_packets_of_one_side_are_joined_and_of_two_sides_refused():
    both = tcpdump(ip(b"\x00\x01")) + "\n" + tcpdump(ip(b"")) + "\n" + tcpdump(ip(b"\x02\x03"))
    assert read_bytes(both).data == b"\x00\x01\x02\x03"
    with pytest.raises(InputError, match="several connections or directions"):
        read_bytes(tcpdump(ip(b"\x00\x01")) + "\n" + tcpdump(ip(b"\x02\x03", port=9)))


def test_a_packet_without_payload_is_refused():
    with pytest.raises(InputError, match="without payload"):
        read_bytes(tcpdump(ip(b"")))
