"""Capture files that tests make block by block, and what is read from them."""

from __future__ import annotations

import io
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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


def pcap(
    packets: list[bytes],
    order: str = "<",
    nano: bool = False,
    link: int = RAW,
    snaplen: int = 262_144,
    cut: int | None = None,
) -> bytes:
    """A file of these packets, each with as many bytes as `cut` leaves of it."""
    head = struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)
    parts = [head]
    for n, data in enumerate(packets):
        seconds, fraction = divmod(START + n * 1_000_001, 1_000_000_000)
        kept = data[:cut]
        sizes = len(kept), len(data)
        parts += struct.pack(order + "IIII", seconds, fraction if nano else fraction // 1000, *sizes), kept
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
    assert {finding.kind for finding in capture.problems} <= {"damaged-capture"}
    return [finding.text for finding in capture.problems]


def recorded() -> list[bytes]:
    """The frames of a recording of real traffic: Ethernet, IPv4, TCP."""
    data = (ROOT / "captures" / "errors.pcap").read_bytes()
    frames, place = [], 24
    while place < len(data):
        size = struct.unpack_from("<I", data, place + 8)[0]
        frames.append(data[place + 16 : place + 16 + size])
        place += 16 + size
    return frames


def variant(name: str) -> bytes:
    """The recording as another program or link would have it."""
    frames = recorded()
    makes: dict[str, Callable[[], bytes]] = {
        "vlan": lambda: pcap([it[:12] + b"\x81\0\0\7" + it[12:] for it in frames], link=ETHERNET),
        "linux-sll": lambda: pcap([bytes(14) + it[12:] for it in frames], link=113),
        "linux-sll2": lambda: pcap([it[12:14] + bytes(18) + it[14:] for it in frames], link=COOKED2),
        "nanosecond": lambda: pcap(frames, nano=True, link=ETHERNET),
        "snaplen-96": lambda: pcap(frames, link=ETHERNET, snaplen=96, cut=96),
        "pcapng": lambda: pcapng(frames, link=ETHERNET),
        "truncated": lambda: pcap(frames, link=ETHERNET)[:-7],
    }
    return makes[name]()


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
