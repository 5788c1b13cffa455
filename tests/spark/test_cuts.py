"""A pcap file in parts is the same packets as in one piece, wherever it is cut and whatever is in it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.capture import Packet, open_capture
from kdbg.capture.pcap import HEADER, Layout
from kdbg.protocol.findings import unpack
from kdbg.scale.spark.archive.files import counted, missed, numbered, recut, uncounted, walked_cuts
from kdbg.scale.spark.archive.plan import Plan, guess, plan, walk
from kdbg.scale.spark.stages.reading import SplitReading
from tests.capture.files import RAW, block, enhanced, interface, option, pcap, pcapng, section
from tests.traffic import Talk

ORDERS = [("<", False), (">", False), ("<", True), (">", True)]


def proved(path: Path, size: int) -> Plan:
    """The plan of one file, as the pipeline comes to it."""
    found = plan([str(path)], size)
    walks = {i: counted(found.files[0], found.splits[i]) for i in uncounted(found)}
    if wrong := missed(found, walks):
        firsts = {split.file: split for split in reversed(found.splits)}
        found = recut(found, {file: walked_cuts(found.files[file], firsts[file], size) for file in wrong})
        walks = {i: counted(found.files[0], found.splits[i]) for i in uncounted(found)}
        assert not missed(found, walks)
    return numbered(found, walks)


def in_parts(found: Plan) -> tuple[list[Packet], list[str]]:
    """All packets of a plan's splits by number, and what is wrong with the file."""
    packets: list[Packet] = []
    problems: list[str] = []
    for split in found.splits:
        reading = SplitReading(found.files[split.file], split)
        packets += [packet for run in reading for packet in run.unpack()]
        problems += [unpack(packed).text for packed in reading.report["problems"]]
    return sorted(packets), problems


def whole(path: Path) -> tuple[list[Packet], list[str]]:
    with open_capture(path) as capture:
        packets = list(capture)
        return packets, [finding.text for finding in capture.problems]


def segments(count: int, payload: bytes = b"") -> list[bytes]:
    """So many packets of one connection."""
    talk = Talk().ask_bytes(0, 0, payload or bytes(40))
    return [talk.segments[n % len(talk.segments)].data for n in range(count)]


@pytest.mark.parametrize(("order", "nano"), ORDERS)
@pytest.mark.parametrize("size", [100, 1000, 5000])
def test_every_byte_order_and_resolution_is_cut_between_packets(
    tmp_path: Path, order: str, nano: bool, size: int
) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(segments(200), order, nano, link=RAW))
    found = proved(path, size)
    assert len(found.splits) > 2
    assert in_parts(found) == whole(path)


@given(sizes=st.lists(st.integers(0, 3000), min_size=1, max_size=60), size=st.integers(200, 9000))
def test_packets_of_any_size(sizes: list[int], size: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        path.write_bytes(pcap([bytes([n & 0xFF]) * length for n, length in enumerate(sizes)]))
        found = proved(path, size)
        assert sum(split.size for split in found.splits) == path.stat().st_size - HEADER
        assert in_parts(found) == whole(path)


def test_packets_that_hold_a_capture_file_do_not_mislead(tmp_path: Path) -> None:
    inside = pcap([bytes(40)] * 100)[24:]
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([packet for n in range(40) for packet in segments(3, inside[: 6000 - n])]))
    guesses = plan([str(path)], 2000)
    walks = {i: counted(guesses.files[0], guesses.splits[i]) for i in uncounted(guesses)}
    assert missed(guesses, walks), "the packets are meant to mislead the guess"
    assert in_parts(proved(path, 2000)) == whole(path)


@pytest.mark.parametrize("lost", [1, 10, 700])
def test_a_file_that_ends_inside_a_packet(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(segments(100, bytes(800)))[:-lost])
    found = in_parts(proved(path, 1000))
    assert found == whole(path)
    assert len(found[1]) == 1


def test_nothing_is_read_behind_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    data = bytearray(pcap(segments(100)))
    with path.open("w+b") as file:
        file.write(data)
        layout = Layout.of(bytes(data[:HEADER]))
        assert layout is not None
        place = walk(file, layout, HEADER, len(data) // 2).end
    struct.pack_into("<I", data, place + 8, 0x7FFFFFFF)
    path.write_bytes(data)
    found = in_parts(proved(path, 1000))
    assert found == whole(path)
    assert "damaged" in found[1][0]


def test_where_no_packet_seems_to_begin_no_cut_is_made(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([b""])[:24] + bytes(5000))
    layout = Layout.of(path.read_bytes()[:24])
    assert layout is not None
    with path.open("rb") as file:
        assert guess(file, layout, 1000) is None


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("size", [300, 1000, 5000])
def test_pcapng_is_cut_between_blocks_as_pcap_is(tmp_path: Path, order: str, size: int) -> None:
    path = tmp_path / "x.pcapng"
    path.write_bytes(pcapng(segments(200), order, link=RAW))
    found = proved(path, size)
    assert len(found.splits) > 2
    assert in_parts(found) == whole(path)
    assert [split.time for split in found.splits] == [packets[0][1] for packets in packets_by_split(found)]


def packets_by_split(found: Plan) -> list[list[Packet]]:
    readings = (SplitReading(found.files[split.file], split) for split in found.splits)
    return [sorted(packet for run in reading for packet in run.unpack()) for reading in readings]


STATISTICS = block(5, struct.pack("<III", 0, 0, 0) + option(5, struct.pack("<Q", 3)))
SECRETS = block(10, struct.pack("<II", 0x544C534B, 4) + b"none")
SIMPLE = block(3, struct.pack("<I", 40) + bytes(40))
LATER = interface(RAW) + enhanced(segments(1)[0], 5, 1)


@pytest.mark.parametrize(
    ("between", "is_cut"),
    [
        (STATISTICS, True),
        (SECRETS, True),
        (block(0x0BAD, b"of somebody else"), True),
        (SIMPLE, False),
        (LATER, False),
        (section() + interface(RAW), False),
        (enhanced(segments(1)[0], 5, 7), False),
    ],
    ids=["statistics", "secrets", "custom", "without a time", "a new interface", "a new section", "unknown interface"],
)
def test_pcapng_whose_blocks_need_others_is_read_in_one_piece(tmp_path: Path, between: bytes, is_cut: bool) -> None:
    blocks = [enhanced(data, n) for n, data in enumerate(segments(200))]
    path = tmp_path / "x.pcapng"
    for place in (1, 100, 199):
        data = section() + SECRETS + interface(RAW) + b"".join([*blocks[:place], between, *blocks[place:]])
        path.write_bytes(data)
        found = proved(path, 1000)
        assert len(found.splits) > 2 if is_cut else len(found.splits) == 1
        assert in_parts(found) == whole(path)


@given(sizes=st.lists(st.integers(0, 3000), min_size=1, max_size=60), size=st.integers(200, 9000))
def test_pcapng_packets_of_any_size(sizes: list[int], size: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcapng"
        path.write_bytes(pcapng([bytes([n & 0xFF]) * length for n, length in enumerate(sizes)]))
        assert in_parts(proved(path, size)) == whole(path)


def test_pcapng_packets_that_hold_a_capture_file_do_not_mislead(tmp_path: Path) -> None:
    inside = pcapng([bytes(40)] * 100)[48:]
    path = tmp_path / "x.pcapng"
    path.write_bytes(pcapng([packet for n in range(40) for packet in segments(3, inside[: 6000 - n])]))
    guesses = plan([str(path)], 2000)
    walks = {i: counted(guesses.files[0], guesses.splits[i]) for i in uncounted(guesses)}
    assert missed(guesses, walks), "the packets are meant to mislead the guess"
    assert in_parts(proved(path, 2000)) == whole(path)


@pytest.mark.parametrize("damaged", [lambda data: data[:-10], lambda data: data[:9000] + bytes(40) + data[9040:]])
def test_damaged_pcapng_is_read_up_to_the_damage(tmp_path: Path, damaged: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x.pcapng"
    path.write_bytes(damaged(pcapng(segments(200))))
    found = in_parts(proved(path, 1000))
    assert found == whole(path)
    assert len(found[1]) == 1
