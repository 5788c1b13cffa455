"""Capture files of every make: whole, cut and damaged, and what other programs see in them."""

from __future__ import annotations

import gzip
import io
import shutil
import struct
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.utils import PcapNgWriter

from kdbg.capture import Capture, Packet, open_capture
from kdbg.errors import UnknownCapture

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT.parent / "shared" / "captures"
START = 1_790_000_000_123_456_789
ETHERNET, RAW, COOKED2 = 1, 101, 276


def packet(n: int) -> bytes:
    return bytes(IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=51514, dport=9092, seq=n) / (b"%03d" % n * (1 + n % 7)))


PACKETS = [packet(n) for n in range(12)]
FRAMES = [bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02", type=0x800)) + one for one in PACKETS]


def pcap(packets: list[bytes], order: str = "<", nano: bool = False, link: int = RAW, snaplen: int = 262_144) -> bytes:
    head = struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)
    parts = [head]
    for n, data in enumerate(packets):
        seconds, fraction = divmod(START + n * 1_000_001, 1_000_000_000)
        size = len(data)
        parts += struct.pack(order + "IIII", seconds, fraction if nano else fraction // 1000, size, size), data
    return b"".join(parts)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order: str = "<", options: bytes = b"") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + options, order)


def interface(link: int, order: str = "<", options: bytes = b"", snaplen: int = 0) -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + options, order)


def enhanced(data: bytes, ticks: int, interface: int = 0, order: str = "<", options: bytes = b"") -> bytes:
    head = struct.pack(order + "5I", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(6, head + data + bytes(-len(data) % 4) + options, order)


def pcapng(packets: list[bytes], order: str = "<", link: int = RAW) -> bytes:
    blocks = (enhanced(data, START // 1000 + n, 0, order) for n, data in enumerate(packets))
    return section(order) + interface(link, order) + b"".join(blocks)


def read(data: bytes) -> tuple[list[Packet], Capture]:
    with open_capture(io.BytesIO(data)) as capture:
        return list(capture), capture


def numbers(data: bytes) -> list[int]:
    """Which of PACKETS were read; their bytes are checked."""
    packets, _ = read(data)
    seen = [found[3] for found in packets]
    assert [found[6] for found in packets] == [b"%03d" % n * (1 + n % 7) for n in seen]
    return seen


def problems(data: bytes) -> list[str]:
    _, capture = read(data)
    assert {finding.kind for finding in capture.problems} <= {"capture"}
    return [finding.text for finding in capture.problems]


def real(name: str) -> bytes:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"{path} is not here: these tests read the captures of ../shared")
    return path.read_bytes()


@contextmanager
def little_memory(most: int) -> Iterator[None]:
    """The block allocates no more than this at any time, imports not counted."""
    read(pcap(PACKETS))
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


ALL = list(range(len(PACKETS)))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_pcap_in_both_byte_orders_and_both_resolutions(order: str, nano: bool) -> None:
    packets, capture = read(pcap(PACKETS, order, nano))
    assert numbers(pcap(PACKETS, order, nano)) == ALL
    assert [found[0] for found in packets] == [n + 1 for n in ALL]
    times = [START + n * 1_000_001 for n in ALL]
    assert [found[1] for found in packets] == [time if nano else time // 1000 * 1000 for time in times]
    assert (capture.first_time, capture.last_time) == (packets[0][1], packets[-1][1])
    assert (capture.packets, capture.other, capture.problems) == (12, 0, [])
    assert capture.bytes == sum(map(len, PACKETS))


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_in_both_byte_orders(order: str) -> None:
    data = pcapng(PACKETS, order)
    assert numbers(data) == ALL
    assert [found[1] for found in read(data)[0]] == [(START // 1000 + n) * 1000 for n in ALL]


@pytest.mark.parametrize(
    ("options", "ticks", "expected"),
    [
        (b"", 1_500_000, 1_500_000_000),
        (option(9, b"\6"), 1_500_000, 1_500_000_000),
        (option(9, b"\x09"), 1_500_000_001, 1_500_000_001),
        (option(9, b"\x03"), 1_500, 1_500_000_000),
        (option(9, b"\x00"), 7, 7_000_000_000),
        (option(9, b"\x8a"), 1024 + 512, 1_500_000_000),
        (option(2, b"lo") + option(9, b"\x09") + option(0, b""), 5, 5),
        (option(14, struct.pack("<q", 3)), 1_500_000, 4_500_000_000),
        (option(14, struct.pack("<q", -1)) + option(9, b"\x09"), 1_500_000_000, 500_000_000),
        (option(9, b"\1\2"), 1_500_000, 1_500_000_000),
    ],
    ids=["none", "micro", "nano", "milli", "seconds", "binary", "named", "offset", "offset back", "of wrong size"],
)
def test_pcapng_times_follow_the_interfaces_resolution_and_offset(options: bytes, ticks: int, expected: int) -> None:
    packets, _ = read(section() + interface(RAW, options=options) + enhanced(PACKETS[0], ticks))
    assert packets[0][1] == expected


def test_pcapng_interfaces_have_their_own_link_types_and_clocks() -> None:
    data = section() + interface(ETHERNET) + interface(RAW, options=option(9, b"\x09"))
    data += enhanced(PACKETS[1], 5, 1) + enhanced(FRAMES[0], 5, 0) + interface(COOKED2)
    data += enhanced(b"\x08\x00" + bytes(18) + PACKETS[2], 6, 2)
    assert numbers(data) == [1, 0, 2]
    assert [found[1] for found in read(data)[0]] == [5, 5000, 6000]


def test_pcapng_sections_count_their_interfaces_anew_in_their_own_byte_order() -> None:
    first = section() + interface(ETHERNET) + interface(ETHERNET) + enhanced(FRAMES[0], 1, 1)
    second = section(">", option(3, b"an operating system", ">")) + interface(RAW, ">")
    second += enhanced(PACKETS[1], 2, 0, ">")
    assert numbers(first + second) == [0, 1]
    assert problems(first + second) == []
    assert numbers(first + second + first) == [0, 1, 0]


@pytest.mark.parametrize("snaplen", [0, 65_535])
def test_pcapng_simple_and_obsolete_packet_blocks(snaplen: int) -> None:
    simple = block(3, struct.pack("<I", len(PACKETS[1])) + PACKETS[1])
    size = len(PACKETS[2])
    obsolete = block(2, struct.pack("<HHIIII", 0, 0, 0, 9, size, size) + PACKETS[2])
    data = section() + interface(RAW, snaplen=snaplen) + enhanced(PACKETS[0], 7) + simple + obsolete
    assert numbers(data) == [0, 1, 2]
    assert [found[1] for found in read(data)[0]] == [7000, 7000, 9000]


def test_pcapng_blocks_without_packets_are_passed_over() -> None:
    secrets = block(10, struct.pack("<II", 0x544C534B, 400) + b"short")
    others = block(4, b"names!") + block(5, bytes(12)) + block(0xBAD, b"custom") + secrets
    data = section() + others + interface(RAW) + others + enhanced(PACKETS[3], 7) + others
    assert numbers(data) == [3]
    assert problems(data) == []


def test_pcapng_wrong_options_do_not_cost_the_packet() -> None:
    wrong = option(2, b"\1\2")  # flags of 2 bytes instead of 4
    data = section() + interface(RAW) + enhanced(PACKETS[0], 1, options=wrong) + enhanced(PACKETS[1], 2)
    assert numbers(data) == [0, 1]


def test_pcapng_packets_of_unknown_interfaces_are_counted() -> None:
    data = section() + interface(RAW) + enhanced(PACKETS[0], 1, 7) * 3 + enhanced(PACKETS[1], 2)
    assert numbers(data) == [1]
    (problem,) = problems(data)
    assert "interface" in problem
    assert "3 times" in problem


def test_pcapng_a_damaged_block_with_sound_lengths_is_passed_over() -> None:
    data = section() + interface(RAW) + block(6, b"short") + enhanced(PACKETS[1], 2)
    assert numbers(data) == [1]
    assert problems(data) == ["a pcapng block of type 6 is damaged and passed over"]


@pytest.mark.parametrize("length", [0, 8, 11, 0x7FFFFFFF, 0xFFFFFFFF])
def test_pcapng_an_absurd_block_length_ends_the_reading_and_takes_no_memory(length: int) -> None:
    data = pcapng(PACKETS[:3]) + struct.pack("<II", 6, length) + bytes(500)
    with little_memory(4 << 20):
        assert numbers(data) == [0, 1, 2]
    (problem,) = problems(data)
    assert problem.startswith(f"the block after packet 3 claims {length:,} bytes")


def test_pcapng_two_different_lengths_end_the_reading() -> None:
    bad = bytearray(enhanced(PACKETS[1], 2))
    bad[-4:] = b"\1\2\3\4"
    (problem,) = problems(pcapng(PACKETS[:1]) + bad + enhanced(PACKETS[2], 3))
    assert problem.startswith("the block after packet 1 has two different lengths")


@pytest.mark.parametrize("length", [0x7FFFFFFF, 0xFFFFFFF0, 1_000_000])
def test_an_absurd_packet_length_ends_the_reading_and_takes_no_memory(length: int) -> None:
    data = pcap(PACKETS[:3]) + struct.pack("<IIII", 1, 1, length, length) + bytes(5000)
    with little_memory(4 << 20):
        assert numbers(data) == [0, 1, 2]
    (problem,) = problems(data)
    assert problem.startswith(f"packet 4 claims {length:,} bytes")


def test_packets_larger_than_64_kib_are_whole() -> None:
    payload = b"k" * 100_000
    large = bytes(IP(src="10.0.0.1", dst="10.0.0.2", len=0) / TCP(seq=5) / payload)
    for data in (pcap([large, PACKETS[1]]), pcapng([large, PACKETS[1]])):
        packets, capture = read(data)
        assert packets[0][6] == payload
        assert packets[1][3] == 1
        assert capture.problems == []


def test_a_packet_larger_than_scapy_reads_is_cut_and_the_next_is_found() -> None:
    large = bytes(IP(len=0) / TCP(seq=5)) + bytes(300_000)
    packets, capture = read(pcap([large, PACKETS[1]], snaplen=400_000))
    assert [found[3] for found in packets] == [5, 1]
    assert capture.problems == []


def test_the_fcs_bits_of_the_link_type_are_no_part_of_it() -> None:
    assert numbers(pcap([frame + b"FCS!" for frame in FRAMES], link=0x24000000 | ETHERNET)) == ALL


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_cut_leaves_everything_before_it(data: st.DataObject) -> None:
    makes: list[tuple[Callable[[list[bytes]], bytes], int]] = [(pcap, 24), (pcapng, 48)]
    make, head = data.draw(st.sampled_from(makes))
    whole = make(PACKETS)
    ends = [len(make(PACKETS[:count])) for count in range(len(PACKETS) + 1)]
    assert ends[0] == head
    cut = data.draw(st.integers(head, len(whole)))
    count = sum(end <= cut for end in ends) - 1
    assert numbers(whole[:cut]) == ALL[:count]
    found = problems(whole[:cut])
    if cut in ends:
        assert found == []
    elif make is pcap:
        assert found == [f"the file ends inside packet {count + 1}"]
    else:
        assert found == [f"the file ends inside the block after packet {count}"]


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 1 << 20))
@pytest.mark.parametrize("name", ["vlan.pcap", "rdkafka-basic.pcapng"])
def test_any_cut_of_a_real_file_leaves_everything_before_it(name: str, cut: int) -> None:
    whole = real(name)
    cut = 500 + cut % (len(whole) - 500)
    before, capture = read(whole[:cut])
    packets, _ = read(whole)
    assert before == packets[: len(before)]
    assert len(capture.problems) <= 1


@settings(max_examples=150, deadline=None)
@given(
    make=st.sampled_from([pcap, pcapng]),
    changes=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=20),
)
def test_whatever_is_damaged_nothing_is_raised(
    make: Callable[[list[bytes]], bytes], changes: list[tuple[int, int]]
) -> None:
    data = bytearray(make(PACKETS))
    for place, value in changes:
        data[place % len(data)] = value
    try:
        _, capture = read(bytes(data))
    except UnknownCapture:
        return
    assert capture.packets <= 2000
    assert len(capture.problems) <= 100


@settings(max_examples=100, deadline=None)
@given(
    data=st.binary(max_size=200),
    head=st.sampled_from([b"", pcap([]), pcapng([]), section(), gzip.compress(b"")[:10], b"\x28\xb5\x2f\xfd"]),
)
def test_any_bytes_are_refused_or_read(data: bytes, head: bytes) -> None:
    with suppress(UnknownCapture):
        read(head + data)


def test_other_packets_are_counted() -> None:
    frames = [FRAMES[0], bytes(Ether() / ARP()), bytes(Ether() / IP() / UDP() / (b"x" * 40)), b"", FRAMES[4]]
    packets, capture = read(pcap(frames, link=ETHERNET))
    assert [found[0] for found in packets] == [1, 5]
    assert (capture.packets, capture.other, capture.problems) == (5, 3, [])


def test_fragments_are_one_problem_with_a_count() -> None:
    fragment = bytes(IP(flags="MF", proto=6) / bytes(40))
    _, capture = read(pcap([PACKETS[0], fragment, fragment]))
    assert capture.other == 2
    (problem,) = capture.problems
    assert problem.text.startswith("a fragment")
    assert problem.text.endswith("(2 times)")


def test_an_unknown_link_type_is_one_problem() -> None:
    _, capture = read(pcap(PACKETS, link=65_000))
    assert (capture.packets, capture.other) == (12, 12)
    (problem,) = capture.problems
    assert problem.text == "link type 65000 is unknown: its packets are passed over"


def test_a_capture_counts_while_it_is_read() -> None:
    with open_capture(io.BytesIO(pcap(PACKETS))) as capture:
        assert (capture.packets, capture.first_time) == (0, None)
        next(capture)
        next(capture)
        assert capture.packets == 2
        assert len(list(capture)) == 10
    assert capture.packets == 12


def test_an_empty_capture_is_a_capture() -> None:
    for data in (pcap([]), pcapng([]), section()):
        packets, capture = read(data)
        assert packets == []
        assert capture.problems == []


# Against other readers


def test_pcapng_written_by_scapy(tmp_path: Path) -> None:
    path = tmp_path / "scapy.pcapng"
    with PcapNgWriter(str(path)) as writer:
        for frame in FRAMES:
            writer.write(Ether(frame))
    with open_capture(path) as capture:
        assert [found[3] for found in capture] == ALL
        assert capture.problems == []


@pytest.mark.skipif(shutil.which("editcap") is None, reason="editcap is not installed")
def test_pcapng_written_by_editcap_holds_the_same_packets(tmp_path: Path) -> None:
    expected, _ = read(real("ipv6.pcap"))
    path = tmp_path / "ipv6.pcapng"
    subprocess.run(["editcap", "-F", "pcapng", str(CAPTURES / "ipv6.pcap"), str(path)], check=True)
    with open_capture(path) as capture:
        assert list(capture) == expected
        assert capture.problems == []


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("name", ["rdkafka-basic.pcapng", "linux-sll2.pcap", "nanosecond.pcap", "snaplen-96.pcap"])
def test_tshark_sees_the_same_segments(name: str) -> None:
    packets, _ = read(real(name))
    fields = ["frame.number", "frame.time_epoch", "tcp.srcport", "tcp.seq_raw", "tcp.ack_raw", "tcp.len"]
    command = ["tshark", "-r", str(CAPTURES / name), "-T", "fields"]
    command += [word for field in fields for word in ("-e", field)]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    theirs = [tuple(int(word.replace(".", "")) for word in line.split("\t")) for line in lines]
    assert theirs == [
        (number, time, int.from_bytes(flow[-4:-2], "big"), seq, ack, length)
        for number, time, flow, seq, ack, _, _, length in packets
    ]


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("file-truncated.pcap", 146, ["the file ends inside packet 147"]),
        ("linux-sll.pcap", 97, []),
        ("vlan.pcap", 150, []),
    ],
)
def test_real_captures(name: str, count: int, expected: list[str]) -> None:
    packets, capture = read(real(name))
    assert len(packets) == capture.packets == count
    assert [finding.text for finding in capture.problems] == expected
