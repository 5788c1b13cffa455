"""Archives that tests make: many captures put together into one file, rolled into pieces, reordered."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import cycle, islice, pairwise
from pathlib import Path
from random import Random

from tests.cli.calls import SHARED, SHIPPED

HEAD = bytes.fromhex("d4c3b2a1020004000000000000000000000004000100000020")[:20] + struct.pack("<I", 1)
"""Of a pcap file: little endian, microseconds, Ethernet, packets of up to 256 KiB."""


def records(path: Path) -> list[bytes]:
    """The whole packets of a file whose header says the same as HEAD, each with its own header; of others none."""
    data = path.read_bytes()
    if data[:4] != HEAD[:4] or data[20:24] != HEAD[20:24]:
        return []
    found, place = [], 24
    while place + 16 <= len(data):
        end = place + 16 + struct.unpack_from("<I", data, place + 8)[0]
        if end > len(data):
            break
        found.append(data[place:end])
        place = end
    return found


def concatenated(most: int = 40) -> list[bytes]:
    """The packets of so many captures, one after the other, as if each had been taken when the last was over."""
    captures = [found for path in [*SHIPPED, *SHARED] if (found := records(path))]
    packets: list[bytes] = []
    clock = 0
    for found in islice(cycle(captures), most):
        times = [int.from_bytes(packet[:4], "little") for packet in found]
        start = min(times)
        packets += [
            struct.pack("<I", START + clock + time - start) + packet[4:]
            for time, packet in zip(times, found, strict=True)
        ]
        clock += max(times) - start + 1
    return packets


START = 1_795_264_200
"""Seconds since 1970 of 2026-11-21 12:30:00 UTC."""


def write(path: Path, packets: Iterable[bytes]) -> Path:
    path.write_bytes(HEAD + b"".join(packets))
    return path


def rolled(folder: Path, packets: list[bytes], pieces: int, dice: Random) -> Path:
    """The packets in files as `tcpdump -C` names them, cut where the dice fall."""
    folder.mkdir()
    cuts = [0, *sorted(dice.sample(range(1, len(packets)), pieces - 1)), len(packets)]
    for number, (start, stop) in enumerate(pairwise(cuts)):
        write(folder / f"roll.pcap{number or ''}", packets[start:stop])
    return folder


def reordered(packets: list[bytes], reach: int, dice: Random) -> list[bytes]:
    """The packets as a busy machine may have captured them: each up to `reach` places from where it belongs."""
    places = sorted(range(len(packets)), key=lambda place: place + dice.uniform(0, reach))
    return [packets[place] for place in places]
