"""The headers of pcap files and packets, byte by byte."""

from __future__ import annotations

import struct

import pytest

from kdbg.capture.pcap import HEADER, Layout, file_header, packet_record

TIME = 1_700_000_000_123_456_789


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "time"), [(0xA1B2C3D4, 5_000_007_000), (0xA1B23C4D, 5_000_000_007)])
def test_the_time_of_a_packet_is_in_nanoseconds_whatever_the_file_counts(order: str, magic: int, time: int) -> None:
    layout = Layout.of(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65_535, 1))
    assert layout is not None
    packet = struct.pack(order + "IIII", 5, 7, 0, 0)
    assert layout.time(packet) == time
    assert layout.time(packet[:-1]) is None


def test_a_header_that_is_cut_short_is_none() -> None:
    assert Layout.of(file_header(1)[: HEADER - 1]) is None
    assert Layout.of(bytes(HEADER)) is None


def test_what_is_written_is_little_endian_of_version_2_4_in_nanoseconds() -> None:
    assert file_header(101, 1500).hex(" ", 4) == "4d3cb2a1 02000400 00000000 00000000 dc050000 65000000"
    assert packet_record(TIME, b"abcd").hex(" ", 4) == "00f15365 15cd5b07 04000000 04000000 61626364"
