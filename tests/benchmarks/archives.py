"""Captures too large to keep: real traffic repeated to a wanted size, one busy connection, very many small ones."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy

import kdbg

PCAP = struct.Struct("<IHHIIII")
RECORD = struct.Struct("<IIII")
HEAD = PCAP.pack(0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 101)
"""Of a pcap file in microseconds whose packets begin with their IP header."""
IP_TCP = struct.Struct(">BBHIBBH4s4sHHIIBBHI")
ETHERNET, SOURCE_HOST, TARGET_HOST = 14, 14, 18
"""Bytes in front of the IP header; in it, where the third byte of each address is."""
SYN, ACK, PUSH = 0x02, 0x10, 0x18
START = 1_795_264_200
BROKER_PORT = 9092
AT_ONCE = 200
"""Small connections that are open side by side."""
HOT_SHARE = 33
"""Of so many packets one is not the busy connection's."""


def repeated(capture: Path, out: Path, size: int) -> Path:
    """The capture again and again, each time later and between other hosts, up to about `size` bytes."""
    with capture.open("rb") as file:
        head, data = file.read(PCAP.size), numpy.frombuffer(file.read(), numpy.uint8).copy()
    places, times = _packets(data.tobytes())
    span = times[-1] - times[0] + 2
    with out.open("wb") as file:
        file.write(head)
        for copy in range(max(1, round(size / len(data)))):
            stamps = (times + copy * span).astype("<u4").view(numpy.uint8).reshape(-1, 4)
            data[places[:, None] + numpy.arange(4)] = stamps
            for host in (SOURCE_HOST, TARGET_HOST):
                data[places + RECORD.size + ETHERNET + host] = copy % 250 + 1
            file.write(data)
    return out


def _packets(data: bytes) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Where each packet's own header is, and the second it was captured in."""
    places, times, place = [], [], 0
    while place < len(data):
        seconds, _, captured, _ = RECORD.unpack_from(data, place)
        places.append(place)
        times.append(seconds)
        place += RECORD.size + captured
    return numpy.array(places), numpy.array(times, numpy.int64)


def hot(capture: Path, out: Path, packets: int) -> Path:
    """`packets` in all, 97 % of them of one connection, which repeats the capture's first Produce."""
    asked, answered = _produce(capture)
    busy = conversation(0, _exchanges(asked, answered, packets))
    others = side_by_side(conversation(number, _exchanges(asked, answered, 20)) for number in range(1, packets))
    mixed = (next(others) if number % HOT_SHARE == 0 else next(busy) for number in range(packets))
    return write(out, mixed)


def many(capture: Path, out: Path, connections: int, exchanges: int = 12) -> Path:
    """So many connections, none of which is closed, of so many Produce requests each."""
    asked, answered = _produce(capture)
    talks = (conversation(number, _exchanges(asked, answered, exchanges)) for number in range(connections))
    return write(out, side_by_side(talks))


def _produce(capture: Path) -> tuple[bytes, bytes]:
    """A request and its response."""
    exchange = next(kdbg.read(capture, api="produce"))
    assert exchange.response is not None
    return exchange.request.data, exchange.response.data


def _exchanges(asked: bytes, answered: bytes, count: int) -> Iterator[tuple[bytes, bytes]]:
    """A request and its response again and again, under new correlation ids."""
    for correlation in range(count):
        number = struct.pack(">i", correlation)
        yield asked[:4] + number + asked[8:], number + answered[4:]


def conversation(number: int, exchanges: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The packets of a connection: the handshake, then requests and responses in turn."""
    client, port = bytes([10, 1 + number // 50_000, 0, 1]), 10_000 + number % 50_000
    sides = [(client, bytes([10, 0, 0, 1]), port, BROKER_PORT), (bytes([10, 0, 0, 1]), client, BROKER_PORT, port)]
    sent = [1_000, 2_000]

    def packet(side: int, flags: int, payload: bytes = b"") -> bytes:
        source, target, source_port, target_port = sides[side]
        here, there = sent[side] & 0xFFFFFFFF, sent[1 - side] & 0xFFFFFFFF
        length = IP_TCP.size + len(payload)
        sent[side] += len(payload) + (flags & SYN == SYN)
        head = IP_TCP.pack(
            0x45, 0, length, 0, 64, 6, 0, source, target, source_port, target_port, here, there, 0x50, flags, 0xFFFF, 0
        )
        return head + payload

    yield packet(0, SYN)
    yield packet(1, SYN | ACK)
    yield packet(0, ACK)
    for pair in exchanges:
        for side, message in enumerate(pair):
            yield packet(side, PUSH, struct.pack(">i", len(message)) + message)


def side_by_side(conversations: Iterator[Iterator[bytes]], at_once: int = AT_ONCE) -> Iterator[bytes]:
    """A packet of each of those that are open in turn; where one ends the next opens."""
    open_now = deque(islice(conversations, at_once))
    while open_now:
        conversation = open_now.popleft()
        if (packet := next(conversation, None)) is not None:
            yield packet
            open_now.append(conversation)
        elif (following := next(conversations, None)) is not None:
            open_now.append(following)


def write(out: Path, packets: Iterable[bytes]) -> Path:
    """A capture of the packets, each 10 µs after the one before."""
    with out.open("wb") as file:
        file.write(HEAD)
        for number, packet in enumerate(packets):
            seconds, rest = divmod(number * 10, 1_000_000)
            file.write(RECORD.pack(START + seconds, rest, len(packet), len(packet)) + packet)
    return out
