"""Capture files that tests make block by block, and what is read from them."""

from __future__ import annotations

import io
import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from kdbg.capture import Capture, Packet, open_capture

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
