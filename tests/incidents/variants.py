"""Staged runs as one meets them: in parts, at another speed, two in one capture, one among fifty healthy clients."""

from __future__ import annotations

import gzip
import heapq
import struct
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from kdbg.analysis.diagnosis import Case, diagnose
from kdbg.analysis.ledgers import Ledgers
from kdbg.capture import open_capture
from kdbg.capture.packet import Packet
from kdbg.exchanges.engine.engine import Engine

BLOCK = 512
CROWD = 50
"""Healthy clients among which a failing one is buried."""


@cache
def packets_of(path: Path) -> tuple[Packet, ...]:
    """The packets of a capture."""
    with open_capture(path) as capture:
        return tuple(packet for block in capture.blocks() for packet in block)


def part(capture: Path, since: float, until: float, into: Path) -> Path:
    """Write the part of a capture between two shares of its time; return its place."""
    data = gzip.decompress(capture.read_bytes())
    at, records = 24, list[tuple[float, bytes]]()
    while at < len(data):
        seconds, microseconds, size = struct.unpack_from("<3I", data, at)
        records.append((seconds + microseconds / 1e6, data[at : at + 16 + size]))
        at += 16 + size
    first, last = min(time for time, _ in records), max(time for time, _ in records)
    kept = (record for time, record in records if since * (last - first) <= time - first <= until * (last - first))
    into.write_bytes(gzip.compress(data[:24] + b"".join(kept), 1))
    return into


def at_speed(packets: Iterable[Packet], speed: float) -> list[Packet]:
    """The packets with other pauses: at a speed of 2 all takes half the time."""
    found = list(packets)
    first = found[0][1]
    return [(packet[0], first + round((packet[1] - first) / speed), *packet[2:]) for packet in found]


def elsewhere(packets: Iterable[Packet], place: int, start: int) -> list[Packet]:
    """The packets in another network (`place`: 10 to 99), from a moment on; texts of addresses are as long as before.

    Stages have 127.0.0.0/24, or 10.99.0.0/24 where a network namespace was made.
    """
    found = list(packets)
    shift = start - found[0][1]
    namespace = found[0][2][0] == 10
    network = bytes((10, place, 0) if namespace else (127, *divmod(place, 10)))
    old, new = b"10.99.0." if namespace else b"127.0.0.", b"%d.%d.%d." % tuple(network)
    moved = list[Packet]()
    for number, time, flow, seq, ack, flags, payload, length in found:
        flow = network + flow[3:4] + network + flow[7:]
        moved.append((number, time + shift, flow, seq, ack, flags, payload.replace(old, new), length))
    return moved


def together(*runs: Iterable[Packet]) -> list[Packet]:
    """The packets of several runs in the order of their times, numbered anew."""
    merged = heapq.merge(*(sorted(run, key=lambda packet: packet[1]) for run in runs), key=lambda packet: packet[1])
    return [(number, *packet[1:]) for number, packet in enumerate(merged, 1)]


def judged(packets: Iterable[Packet]) -> list[Case]:
    """What diagnosis says of packets."""
    engine = Engine()
    ledgers = Ledgers(engine.names_then)
    for block in blocks(packets):
        ledgers.packets(block)
        ledgers.take(engine.receive_all(block))
    ledgers.take(engine.close())
    ledgers.left_over(engine.findings)
    return diagnose(ledgers)


def blocks(packets: Iterable[Packet]) -> Iterator[list[Packet]]:
    left = iter(packets)
    while block := list(islice(left, BLOCK)):
        yield block
