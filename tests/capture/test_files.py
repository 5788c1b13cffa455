"""Capture files of both makes: whole, cut and damaged, and what other programs see in them."""

from __future__ import annotations

import gzip
import io
import shutil
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether

from kdbg.capture import open_capture
from kdbg.errors import UnknownCapture

from .files import (
    ALL,
    ETHERNET,
    FRAMES,
    PACKETS,
    START,
    little_memory,
    numbers,
    pcap,
    pcapng,
    problems,
    read,
    recorded,
    section,
    variant,
)


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


@pytest.mark.parametrize("length", [0x7FFFFFFF, 0xFFFFFFF0, 1_000_000])
def test_an_absurd_packet_length_ends_the_reading_and_takes_no_memory(length: int) -> None:
    data = pcap(PACKETS[:3]) + struct.pack("<IIII", 1, 1, length, length) + bytes(5000)
    with little_memory(4 << 20):
        assert numbers(data) == [0, 1, 2]
    (problem,) = problems(data)
    assert problem.startswith(f"packet 4 declares {length:,} bytes")


def test_how_many_bytes_a_packet_may_have() -> None:
    """As many as the file's snaplen says, at least those of libpcap's largest, at most 16 MiB."""
    for snaplen, most in ((0, 262_144), (262_145, 262_145), (0xFFFFFFFF, 16_777_216)):
        for size, problem in (
            (most, "the file ends inside packet 1"),
            (most + 1, f"packet 1 declares {most + 1:,} bytes"),
        ):
            (said,) = problems(pcap([], snaplen=snaplen) + struct.pack("<IIII", 1, 1, size, size) + bytes(100))
            assert said.startswith(problem), snaplen


def test_packets_larger_than_64_kib_are_whole() -> None:
    payload = b"k" * 100_000
    large = bytes(IP(src="10.0.0.1", dst="10.0.0.2", len=0) / TCP(seq=5) / payload)
    for data in (pcap([large, PACKETS[1]]), pcapng([large, PACKETS[1]])):
        packets, capture = read(data)
        assert packets[0][6] == payload
        assert packets[1][3] == 1
        assert capture.problems == []


def test_packets_larger_than_libpcap_writes_are_whole_where_the_snaplen_allows_them() -> None:
    large = bytes(IP(len=0) / TCP(seq=5)) + bytes(300_000)
    packets, capture = read(pcap([large, PACKETS[1]], snaplen=400_000))
    assert [(found[3], len(found[6])) for found in packets] == [(5, 300_000), (1, len(PACKETS[1]) - 40)]
    assert capture.problems == []
    assert problems(pcap([large, PACKETS[1]])) == ["packet 1 declares 300,040 bytes: the file is damaged from there on"]


@pytest.mark.parametrize("snaplen", [0, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_forged_length_takes_memory_only_as_bytes_come(snaplen: int) -> None:
    data = pcap(PACKETS[:3], snaplen=snaplen) + struct.pack("<IIII", 1, 1, 200_000, 200_000) + bytes(5000)
    with little_memory(500_000):
        assert numbers(data) == [0, 1, 2]
    assert problems(data) == ["the file ends inside packet 4"]


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_modified_pcap_of_old_distributions(order: str) -> None:
    parts = [struct.pack(order + "IHHiIII", 0xA1B2CD34, 2, 4, 0, 0, 65_535, 101)]
    for n, data in enumerate(PACKETS):
        parts += struct.pack(order + "IIIIIHBB", START // 10**9 + n, 7, len(data), len(data), 3, 0x800, 0, 0), data
    assert numbers(b"".join(parts)) == ALL
    assert [found[1] % 10**9 for found in read(b"".join(parts))[0]] == [7000] * len(ALL)
    assert problems(b"".join(parts)[:-1]) == ["the file ends inside packet 12"]


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
@pytest.mark.parametrize("name", ["vlan", "pcapng"])
def test_any_cut_of_a_real_file_leaves_everything_before_it(name: str, cut: int) -> None:
    whole = variant(name)
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
    assert problem.text.startswith("an IP fragment")
    assert problem.text.endswith("(2 times)")


def test_an_unknown_link_type_is_one_problem() -> None:
    _, capture = read(pcap(PACKETS, link=65_000))
    assert (capture.packets, capture.other) == (12, 12)
    (problem,) = capture.problems
    assert problem.text == "unknown link type 65000: packets skipped"


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


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("name", ["pcapng", "vlan", "linux-sll", "linux-sll2", "nanosecond", "snaplen-96"])
def test_tshark_sees_the_same_segments(name: str, tmp_path: Path) -> None:
    packets, _ = read(variant(name))
    path = tmp_path / name
    path.write_bytes(variant(name))
    fields = ["frame.number", "frame.time_epoch", "tcp.srcport", "tcp.seq_raw", "tcp.ack_raw", "tcp.len"]
    command = ["tshark", "-r", str(path), "-T", "fields"]
    command += [word for field in fields for word in ("-e", field)]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    theirs = [tuple(int(word.replace(".", "")) for word in line.split("\t")) for line in lines]
    assert theirs == [
        (number, time, int.from_bytes(flow[-4:-2], "big"), seq, ack, length)
        for number, time, flow, seq, ack, _, _, length in packets
    ]


@pytest.mark.parametrize("name", ["pcapng", "vlan", "linux-sll", "linux-sll2", "nanosecond"])
def test_real_traffic_is_the_same_in_every_dress(name: str) -> None:
    plain, _ = read(pcap(recorded(), link=ETHERNET))
    packets, capture = read(variant(name))
    assert len(packets) == capture.packets == len(recorded())
    assert [found[2:] for found in packets] == [found[2:] for found in plain]
    assert capture.problems == []


def test_real_traffic_that_breaks_off() -> None:
    packets, capture = read(variant("truncated"))
    last = len(recorded())
    assert len(packets) == last - 1
    assert [finding.text for finding in capture.problems] == [f"the file ends inside packet {last}"]


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_counts_are_those_of_the_packets_that_were_taken(make: Callable[[list[bytes]], bytes]) -> None:
    with open_capture(io.BytesIO(make(PACKETS))) as capture:
        for count, (number, time, *_) in enumerate(capture, 1):
            assert (number, capture.packets, capture.last_time) == (count, count, time)
            assert capture.bytes == sum(map(len, PACKETS[:count]))
    with open_capture(io.BytesIO(make(PACKETS))) as capture:
        for count, block in enumerate(capture.blocks(singly=True), 1):
            assert (len(block), capture.packets) == (1, count)
    with open_capture(io.BytesIO(make(PACKETS))) as capture:
        blocks = list(capture.blocks())
        assert sum(map(len, blocks)) == capture.packets == len(PACKETS)
        assert len(blocks) < len(PACKETS)


def test_iterating_goes_on_where_it_was_left_and_not_after_closing() -> None:
    with open_capture(io.BytesIO(pcap(PACKETS))) as capture:
        assert [next(capture)[0], next(capture)[0]] == [1, 2]
        for packet in capture:
            assert packet[0] == 3
            break
        assert next(capture)[0] == 4
        capture.close()
        assert list(capture) == []
    with open_capture(io.BytesIO(pcap(PACKETS))) as capture:
        blocks = capture.blocks(singly=True)
        assert [number for (number, *_) in next(blocks)] == [1]
        capture.close()
        assert list(blocks) == []
