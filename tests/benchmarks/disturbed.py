"""Captures in which something is wrong, each with its undisturbed twin; made of a recorded one, always the same."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import kdbg

from .archives import PCAP, RECORD, conversation, side_by_side, write

PACKETS, EXCHANGES = 60_000, 20_000
LOST, REPEATED, DISPLACED, UNSEEN = 0.05, 0.03, 0.1, 0.01
"""Shares of packets: sent again later, sent twice, overtaken by others, and missing in the capture."""
LATER, FURTHER = 30, 5
"""Packets that pass until one that was lost is there; most that overtake another."""
CRC_AT, MAGIC_AT = 17, 16


def packets(capture: Path) -> Iterator[bytes]:
    """The capture's first packets, each with its header in the file."""
    with capture.open("rb") as file:
        file.read(PCAP.size)
        for _ in range(PACKETS):
            if not (head := file.read(RECORD.size)):
                return
            yield head + file.read(RECORD.unpack(head)[2])


def clean(capture: Path, out: Path) -> Path:
    return _copy(capture, out, packets(capture))


def lossy(capture: Path, out: Path) -> Path:
    """The network loses, repeats and shuffles packets, and the capture misses some; it tells all as it saw them."""
    dice = random.Random(5)
    arriving = list[tuple[float, int, bytes]]()
    for number, packet in enumerate(packets(capture)):
        what = dice.random()
        place = number + 0.0
        if what < UNSEEN:
            continue
        if what < UNSEEN + LOST:
            place += LATER
        elif what < UNSEEN + LOST + DISPLACED:
            place += dice.uniform(1, FURTHER)
        arriving.append((place, number, packet))
        if dice.random() < REPEATED:
            arriving.append((place + dice.uniform(1, LATER), number, packet))
    times = [packet[:8] for packet in packets(capture)]
    ordered = sorted(arriving)
    last = len(times) - 1
    return _copy(capture, out, (times[min(int(place), last)] + packet[8:] for place, _, packet in ordered))


def _copy(capture: Path, out: Path, packets: Iterable[bytes]) -> Path:
    with capture.open("rb") as file, out.open("wb") as copy:
        copy.write(file.read(PCAP.size))
        copy.writelines(packets)
    return out


def sound(capture: Path, out: Path) -> Path:
    return _spoken(capture, out, lambda message: message)


def longer(capture: Path, out: Path) -> Path:
    """Every message has a byte more than it says."""
    return _spoken(capture, out, lambda message: message + b"\0")


def corrupt(capture: Path, out: Path) -> Path:
    """Every message is sound in itself, but no batch of records has its checksum."""
    return _spoken(capture, out, _corrupted)


def _corrupted(message: bytes) -> bytes:
    """Batches are found by their magic and by what no other field has: a partition leader epoch in front of it."""
    found, start = bytearray(message), message.find(b"\x02")
    while start >= 0:
        base = start - MAGIC_AT
        length = struct.unpack_from(">i", message, base + 8)[0] if base >= 0 else 0
        if 49 <= length <= len(message) - base - 12:
            found[base + CRC_AT] ^= 0xFF
            start = base + 12 + length
        start = message.find(b"\x02", start + 1)
    return bytes(found)


def _spoken(capture: Path, out: Path, change: Callable[[bytes], bytes]) -> Path:
    """The capture's first exchanges, changed, said anew on as many connections as it had."""
    spoken: dict[int, list[tuple[bytes, bytes]]] = {}
    with kdbg.read(capture) as reading:
        for exchange in islice((each for each in reading if each.request and each.response), EXCHANGES):
            assert exchange.request is not None
            assert exchange.response is not None
            pair = change(exchange.request.data), change(exchange.response.data)
            spoken.setdefault(exchange.peers.number, []).append(pair)
    talks = (conversation(number, pairs) for number, pairs in enumerate(spoken.values()))
    return write(out, side_by_side(talks, len(spoken)))
