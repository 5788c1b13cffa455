"""A capture as two places would have recorded it: packets of the client reach the broker later, and the reverse.

What is known then: how long each packet was under way, and by how much the clock of the broker's place is ahead.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from kdbg.capture.frames import Dissectors, Frame, Frames

CAPTURES = Path(__file__).parents[2] / "captures"
MILLISECOND = 1_000_000
NANOSECONDS = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII").pack


class Way(NamedTuple):
    """What lies between the places, in nanoseconds: `there` and `back`, to which up to `jitter` is added.

    The clock of the broker's place is `ahead`, and gains `drift` nanoseconds in each. Times between packets are
    `stretched`, so that nothing is answered before it came.
    """

    there: int = MILLISECOND
    back: int = 2 * MILLISECOND
    jitter: int = 0
    ahead: int = 0
    drift: float = 0.0
    stretched: int = 50


STRAIGHT = Way()


class Seen(NamedTuple):
    """A packet as a place has it: its time by the clock there, its bytes, how many were sent."""

    time: int
    link: int
    data: bytes
    sent: int


Loses = Callable[[int], bool]
"""Whether a packet of this number, from 0, is not recorded."""


def nothing(number: int) -> bool:
    return False


def places(
    capture: str, way: Way = STRAIGHT, *, client: Loses = nothing, broker: Loses = nothing, seed: int = 1
) -> tuple[list[Seen], list[Seen]]:
    """The packets of a capture in captures/ as the client's place has them, and the broker's."""
    chance, dissect = random.Random(seed), Dissectors()
    near, far = list[Seen](), list[Seen]()
    start: int | None = None
    with Frames(CAPTURES / capture) as frames:
        for number, frame in enumerate(frames):
            start = frame.time if start is None else start
            time = start + (frame.time - start) * way.stretched
            asks = _asks(dissect, frame)
            under_way = (way.there if asks else way.back) + chance.randint(0, way.jitter)
            here, there = (time, time + under_way) if asks else (time + under_way, time)
            if not client(number):
                near.append(Seen(here, frame.link, frame.data, frame.sent))
            if not broker(number):
                ahead = way.ahead + int((there - start) * way.drift)
                far.append(Seen(there + ahead, frame.link, frame.data, frame.sent))
    return sorted(near, key=lambda seen: seen.time), sorted(far, key=lambda seen: seen.time)


def _asks(dissect: Dissectors, frame: Frame) -> bool:
    """Whether a packet goes to the broker, which has the lower port."""
    packet = dissect.packet(frame)
    return packet is not None and packet[2][-4:-2] > packet[2][-2:]


def pcap(seen: Iterable[Seen], snaplen: int = 262_144) -> bytes:
    """The file of what a place has seen."""
    seen = list(seen)
    found = [NANOSECONDS.pack(0xA1B23C4D, 2, 4, 0, 0, 262_144, seen[0].link if seen else 1)]
    for time, _, data, sent in seen:
        kept = data[:snaplen]
        found += RECORD(time // 10**9, time % 10**9, len(kept), sent), kept
    return b"".join(found)


def written(folder: Path, both: tuple[Iterable[Seen], Iterable[Seen]]) -> tuple[Path, Path]:
    """The files of both places."""
    near, far = folder / "client.pcap", folder / "broker.pcap"
    near.write_bytes(pcap(both[0]))
    far.write_bytes(pcap(both[1]))
    return near, far
