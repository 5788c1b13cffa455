"""The walk through capture files against scapy's readers, packet by packet, and in pieces of any size."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.utils import RawPcapNgReader, RawPcapReader

from kdbg.capture.source import Damaged, open_packets, open_source
from kdbg.errors import CaptureError

from ..cases import by_day
from .files import CAPTURES, PACKETS, RAW, ROOT, START, block, enhanced, interface, option, pcap, pcapng, section

FILES = sorted(
    path for folder in (ROOT / "captures", CAPTURES) for path in folder.rglob("*.pcap*") if path.suffix != ".gz"
)
CLOCKS = ("timestamp-2e64", "tsresol-0", "tsoffset-max")
"""Files whose times are forged."""


RawPacket = tuple[int | None, int, bytes]
"""When it was captured, its link type, its bytes."""


def ours(source: str | io.BytesIO) -> Iterator[RawPacket]:
    opened = open_source(source)
    try:
        for data, packets in open_packets(opened, lambda problem: None):
            yield from ((time, link, data[start:end]) for time, link, start, end in packets)
    except Damaged:  # as scapy does
        pass
    finally:
        opened.close()


def theirs(path: Path) -> Iterator[RawPacket]:
    """The packets as scapy reads them."""
    with RawPcapReader(str(path)) as reader:  # scapy looks which of its readers is the right one
        for data, facts in reader:
            if isinstance(reader, RawPcapNgReader):
                ticks = facts.tshigh << 32 | facts.tslow
                yield ticks * 1_000_000_000 // facts.tsresol, facts.linktype, data
            elif len(data) == facts.caplen:  # the last may be cut
                time = facts.sec * 1_000_000_000 + facts.usec * (1 if reader.nano else 1000)
                yield time, reader.linktype, data


@pytest.mark.parametrize("path", by_day(FILES, 3), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_packet_of_every_capture_is_the_one_that_scapy_reads(path: Path) -> None:
    count = 0
    for our_packet, their_packet in zip_longest(ours(str(path)), theirs(path)):
        if path.stem in CLOCKS:
            our_packet, their_packet = our_packet[1:], their_packet[1:]
        assert our_packet == their_packet
        count += 1
    assert count or path.stat().st_size < 100


MADE = {
    "pcap": pcap(PACKETS),
    "pcap of nanoseconds, big-endian": pcap(PACKETS, ">", True),
    "pcapng": pcapng(PACKETS),
    "pcapng of two sections": pcapng(PACKETS[:5]) + pcapng(PACKETS[5:], ">"),
    "pcapng of many blocks": section(options=option(3, b"an operating system"))
    + interface(RAW, options=option(2, b"eth0") + option(9, b"\x09"))
    + b"".join(
        enhanced(data, START + n, options=option(1, b"seen")) + block(5, bytes(12)) for n, data in enumerate(PACKETS)
    ),
}


class Drops(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        super().__init__(data)
        self._sizes = iter(sizes)

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read(next(self._sizes, size))


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 200), max_size=100))
@pytest.mark.parametrize("name", MADE)
def test_the_pieces_that_a_file_comes_in_change_nothing(name: str, sizes: list[int]) -> None:
    whole = list(ours(io.BytesIO(MADE[name])))
    assert [data for _, _, data in whole] == PACKETS
    assert list(ours(Drops(MADE[name], sizes))) == whole


@pytest.mark.parametrize("name", MADE)
def test_packets_come_as_soon_as_they_are_there(name: str) -> None:
    """A byte at a time, no packet is held back for the first byte behind it."""
    data = MADE[name]
    stream = Drops(data, [1] * len(data))
    came = [stream.tell() for _ in ours(stream)]
    counts = [count(data[:size]) for size in range(len(data) + 1)]
    assert came == [size for size in range(1, len(data) + 1) if counts[size] > counts[size - 1]]


def count(data: bytes) -> int:
    try:
        return len(list(ours(io.BytesIO(data))))
    except CaptureError:  # too short to be opened
        return 0


@settings(max_examples=60, deadline=None)
@given(
    packets=st.lists(
        st.tuples(st.binary(max_size=90), st.integers(0, (1 << 32) - 1), st.integers(0, 999_999)), max_size=20
    ),
    order=st.sampled_from("<>"),
    nano=st.booleans(),
    sizes=st.lists(st.integers(1, 300), max_size=60),
)
def test_any_pcap_file_is_read_as_scapy_reads_it(
    tmp_path_factory: pytest.TempPathFactory,
    packets: list[tuple[bytes, int, int]],
    order: str,
    nano: bool,
    sizes: list[int],
) -> None:
    data = struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 65_535, RAW)
    for packet, seconds, fraction in packets:
        data += struct.pack(order + "IIII", seconds, fraction, len(packet), len(packet) + 9) + packet
    path = tmp_path_factory.mktemp("made") / "made.pcap"
    path.write_bytes(data)
    wanted = list(theirs(path)) if packets else []
    assert len(wanted) == len(packets)
    assert list(ours(str(path))) == list(ours(Drops(data, sizes))) == wanted


OTHER_BLOCKS = st.sampled_from(["none", "none", "none", "names", "statistics", "interface", "section"])


@settings(max_examples=120, deadline=None)
@given(
    packets=st.lists(
        st.tuples(st.binary(max_size=90), st.integers(0, 1 << 53), st.integers(0, 2), st.booleans(), OTHER_BLOCKS),
        max_size=20,
    ),
    order=st.sampled_from("<>"),
    sizes=st.lists(st.integers(1, 300), max_size=60),
)
def test_any_pcapng_file_is_read_as_scapy_reads_it(
    tmp_path_factory: pytest.TempPathFactory,
    packets: list[tuple[bytes, int, int, bool, str]],
    order: str,
    sizes: list[int],
) -> None:
    """Of several interfaces in turn, with options, with other blocks between, in sections of both orders."""
    described = {way: section(way) + interface(RAW, way) + interface(1, way, option(9, b"\x09", way))
                 + interface(RAW, way, option(9, b"\x03", way)) for way in "<>"}  # fmt: skip
    data = described[order]
    for packet, ticks, number, with_options, other in packets:
        if other == "section":
            order = "<>"[order == "<"]
            data += described[order]
        elif other != "none":
            data += {"names": block(4, b"names!", order), "statistics": block(5, bytes(12), order),
                     "interface": interface(RAW, order)}[other]  # fmt: skip
        ticks >>= 0 if number != 2 else 12
        data += enhanced(packet, ticks, number, order, option(1, b"seen", order) if with_options else b"")
    path = tmp_path_factory.mktemp("made") / "made.pcapng"
    path.write_bytes(data)
    wanted = list(theirs(path)) if packets else []
    assert len(wanted) == len(packets)
    assert list(ours(str(path))) == list(ours(Drops(data, sizes))) == wanted
