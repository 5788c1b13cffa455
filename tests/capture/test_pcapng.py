"""pcapng files: sections, interfaces, clocks and blocks of every kind, whole and damaged."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgWriter

from kdbg.capture import open_capture
from kdbg.capture.pcap import LARGEST

from ..cases import for_each
from ..cli.calls import call
from .files import (
    ALL,
    COOKED2,
    ETHERNET,
    FRAMES,
    PACKETS,
    RAW,
    START,
    block,
    enhanced,
    interface,
    little_memory,
    numbers,
    option,
    pcapng,
    problems,
    read,
    recorded,
    section,
    variant,
)


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_in_both_byte_orders(order: str) -> None:
    data = pcapng(PACKETS, order)
    assert numbers(data) == ALL
    assert [found[1] for found in read(data)[0]] == [(START // 1000 + n) * 1000 for n in ALL]


@for_each(
    ("options", "ticks", "expected"),
    [
        (b"", 1_500_000, 1_500_000_000),
        (option(9, b"\6"), 1_500_000, 1_500_000_000),
        (option(9, b"\x09"), 1_500_000_001, 1_500_000_001),
        (option(9, b"\x03"), 1_500, 1_500_000_000),
        (option(9, b"\x00"), 7, 7_000_000_000),
        (option(9, b"\x0c"), 1_500_000_000_999, 1_500_000_000),
        (option(9, b"\x7f"), 1 << 63, 0),
        (option(9, b"\x8a"), 1024 + 512, 1_500_000_000),
        (option(9, b"\xa0"), 3 << 31, 1_500_000_000),
        (option(9, b"\xff"), 1 << 63, 0),
        (option(2, b"lo") + option(9, b"\x09") + option(0, b""), 5, 5),
        (option(14, struct.pack("<q", 3)), 1_500_000, 4_500_000_000),
        (option(14, struct.pack("<q", -1)) + option(9, b"\x09"), 1_500_000_000, 500_000_000),
        (option(9, b"\1\2"), 1_500_000, 1_500_000_000),
    ],
    ids=["none", "micro", "nano", "milli", "seconds", "pico", "smallest", "binary", "finer than nano",
         "smallest binary", "named", "offset", "offset back", "of wrong size"],
)  # fmt: skip
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
    assert problems(data) == ["damaged pcapng block of type 6 skipped"]


@pytest.mark.parametrize("length", [0, 8, 11, 0x7FFFFFFF, 0xFFFFFFFF])
def test_pcapng_an_absurd_block_length_ends_the_reading_and_takes_no_memory(length: int) -> None:
    data = pcapng(PACKETS[:3]) + struct.pack("<II", 6, length) + bytes(500)
    with little_memory(4 << 20):
        assert numbers(data) == [0, 1, 2]
    (problem,) = problems(data)
    assert problem.startswith(f"the block after packet 3 declares {length:,} bytes")


def test_pcapng_a_forged_block_length_takes_memory_only_as_bytes_come() -> None:
    data = pcapng(PACKETS[:3]) + struct.pack("<II", 6, LARGEST) + bytes(500)
    with little_memory(500_000):
        assert numbers(data) == [0, 1, 2]
    assert problems(data) == ["the file ends inside the block after packet 3"]


UNTIMELY = "a packet's timestamp is outside the years 1970 to 2262; kdbg uses the time of the previous packet"


@pytest.mark.parametrize(
    ("options", "ticks"),
    [
        (b"", (1 << 64) - 1),
        (option(9, b"\0"), (1 << 64) - 1),
        (option(14, struct.pack("<q", (1 << 63) - 1)), 0),
        (option(14, struct.pack("<q", -1)), 999_999),
        (option(9, b"\x09"), 1 << 63),
    ],
    ids=["largest", "largest of seconds", "largest offset", "before 1970", "first after the last"],
)
def test_pcapng_a_time_that_no_calendar_has_is_told_and_replaced(options: bytes, ticks: int) -> None:
    odd = interface(RAW, options=options) + enhanced(PACKETS[1], ticks, 1) * 2
    data = section() + interface(RAW) + enhanced(PACKETS[0], 7) + odd + enhanced(PACKETS[2], 8)
    packets, _ = read(data)
    assert [found[1] for found in packets] == [7000, 7000, 7000, 8000]
    assert problems(data) == [f"interface 1: {UNTIMELY} (2 times)"]


def test_pcapng_the_last_time_that_is_believed() -> None:
    nano = interface(RAW, options=option(9, b"\x09"))
    packets, capture = read(section() + nano + enhanced(PACKETS[0], (1 << 63) - 1) + enhanced(PACKETS[1], 0))
    assert [found[1] for found in packets] == [(1 << 63) - 1, 0]
    assert capture.problems == []


def test_pcapng_a_problem_names_the_interface_and_escapes_its_name() -> None:
    name = option(2, "\x1b[2J\nn\u00f6".encode() + b"\xff" + b"x" * 100)
    data = section() + interface(RAW, options=name) + enhanced(PACKETS[0], (1 << 64) - 1)
    assert read(data)[0][0][1] == 0
    called = r"'\x1b[2J\nn\xf6\ufffd" + "x" * 32 + "'"
    assert problems(data) == [f"interface 0 ({called}): {UNTIMELY}"]


@pytest.mark.parametrize("view", ["tree", "summary", "hex", "json"])
def test_pcapng_with_a_forged_clock_is_shown_by_every_view(view: str, tmp_path: Path) -> None:
    for number, clock in enumerate((b"", option(9, b"\0"), option(14, struct.pack("<q", (1 << 63) - 1)))):
        path = tmp_path / f"{number}.pcapng"
        ticks = (1 << 64) - 1
        blocks = (enhanced(frame, ticks) for frame in recorded())
        path.write_bytes(section() + interface(ETHERNET, options=clock) + b"".join(blocks))
        done = call("decode", "-f", view, path)
        assert "Metadata" in done.out
        assert UNTIMELY in done.err


def test_pcapng_a_damaged_interface_keeps_its_number() -> None:
    data = section() + block(1, b"shrt") + interface(RAW) + enhanced(PACKETS[0], 1, 0) + enhanced(PACKETS[1], 2, 1)
    assert numbers(data) == [1]
    damaged, unknown = problems(data)
    assert damaged == "damaged pcapng block of type 1 skipped"
    assert unknown.startswith("packet of an interface that the file does not describe")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (section()[:20], "the file ends inside the block after packet 1"),
        (section().replace(b"\x4d\x3c", b"\x4d\x3d"), "the section header after packet 1 is damaged"),
        (section().replace(b"\1\0\0\0", b"\2\0\0\0"), "the section header after packet 1 is damaged"),
        (block(0x0A0D0D0A, bytes.fromhex("4d3c2b1a 0100 0000")), "the section header after packet 1 is damaged"),
        (section()[:-4] + bytes(4), "the section header after packet 1 is damaged"),
    ],
    ids=["cut", "byte order", "version", "short", "two lengths"],
)  # fmt: skip
def test_pcapng_a_damaged_section_header_ends_the_reading(header: bytes, expected: str) -> None:
    assert problems(pcapng(PACKETS[:1]) + header) == [expected]


def test_pcapng_how_many_bytes_a_block_may_have() -> None:
    for size, problem in (
        (16_777_216, "the file ends inside the block"),
        (16_777_217, "the block after packet 0 declares"),
    ):
        (said,) = problems(pcapng([]) + struct.pack("<II", 6, size) + bytes(100))
        assert said.startswith(problem)


def test_pcapng_the_smallest_blocks_there_are() -> None:
    empty = block(0xBAD, b"")
    assert len(empty) == 12
    nothing = enhanced(b"", 5)
    data = section() + empty + interface(RAW) + nothing + enhanced(PACKETS[0], 1) + empty
    assert numbers(data) == [0]
    _, capture = read(data)
    assert (capture.packets, capture.problems) == (2, [])


def test_pcapng_a_packet_never_takes_bytes_from_behind_its_block() -> None:
    claims = bytearray(enhanced(PACKETS[6][:-1], 1))
    claims[20:24] = struct.pack("<I", len(PACKETS[6]))
    packets, capture = read(section() + interface(RAW) + claims + enhanced(PACKETS[1], 2))
    assert [(found[3], found[6], found[7]) for found in packets] == [(6, b"006" * 6 + b"00", 21), (1, b"001001", 6)]
    assert capture.problems == []


def test_pcapng_a_block_whose_length_is_no_multiple_of_four_is_padded() -> None:
    body = struct.pack("<5I", 0, 0, 1, len(PACKETS[0]), len(PACKETS[0])) + PACKETS[0]
    length = struct.pack("<I", len(body) + 12)
    assert len(body) % 4 == 3
    sound = struct.pack("<I", 6) + length + body + bytes(1) + length
    assert numbers(section() + interface(RAW) + sound + enhanced(PACKETS[1], 2)) == [0, 1]
    (problem,) = problems(section() + interface(RAW) + struct.pack("<I", 6) + length + body + length + bytes(1))
    assert "two different lengths" in problem


def test_pcapng_options_end_where_they_say_and_comments_are_none() -> None:
    comment, nano, end, milli = option(1, b"seen"), option(9, b"\x09"), option(0, b""), option(9, b"\x03")
    packets, _ = read(section() + interface(RAW, options=comment + nano + end + milli) + enhanced(PACKETS[0], 7))
    assert packets[0][1] == 7


def test_pcapng_two_different_lengths_end_the_reading() -> None:
    bad = bytearray(enhanced(PACKETS[1], 2))
    bad[-4:] = b"\1\2\3\4"
    (problem,) = problems(pcapng(PACKETS[:1]) + bad + enhanced(PACKETS[2], 3))
    assert problem.startswith("the block after packet 1 has two different lengths")


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
    expected, _ = read(variant("nanosecond"))
    original, path = tmp_path / "original.pcap", tmp_path / "edited.pcapng"
    original.write_bytes(variant("nanosecond"))
    subprocess.run(["editcap", "-F", "pcapng", str(original), str(path)], check=True)
    with open_capture(path) as capture:
        assert list(capture) == expected
        assert capture.problems == []
