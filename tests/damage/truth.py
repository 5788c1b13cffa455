"""What a whole capture says: its streams, the frames in them, and which two make an exchange.

Streams are put together and cut into frames by themselves, by sequence numbers and sizes alone; kdbg's reading of the
undamaged capture says only which exchange a frame belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kdbg.capture import Packet, open_capture
from kdbg.capture.packet import ACK, SYN, reverse
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange

MASK = 0xFFFFFFFF
Way = tuple[int, bool]
"""One direction: the connection's number in this capture, and whether it is that of the first packet's sender."""


class Place(NamedTuple):
    """Where a packet's bytes stand: in which direction, from which byte of it on."""

    way: Way
    start: int


class Frame(NamedTuple):
    """A frame of a stream, its size at `start`, and the index of its exchange."""

    way: Way
    start: int
    data: bytes
    exchange: int
    asks: bool

    @property
    def end(self) -> int:
        """Where the next frame begins."""
        return self.start + 4 + len(self.data)


class Whole(NamedTuple):
    """A capture without damage. `frames` by direction, in order; `halves`: the two frames of each exchange."""

    name: str
    packets: list[Packet]
    places: list[Place]
    streams: dict[Way, bytes]
    frames: dict[Way, list[Frame]]
    exchanges: list[Exchange]
    halves: list[tuple[Frame | None, Frame | None]]


def placed(packets: Sequence[Packet]) -> tuple[list[Place], dict[Way, bytes]]:
    """Return where each packet's bytes stand, and all bytes of each direction, what is missing as zeros."""
    numbers: dict[bytes, int] = {}
    first: dict[Way, int] = {}
    places: list[Place] = []
    streams: dict[Way, bytearray] = {}
    count = 0
    for _, _, flow, seq, _, flags, payload, length in packets:
        if (flags & (SYN | ACK) == SYN) or flow not in numbers:
            count += not (flags & SYN and first.get((numbers.get(flow, 0), True)) == (seq + 1) & MASK)
            if numbers.get(flow) != count:
                numbers[flow], numbers[reverse(flow)] = count, -count
        way = abs(numbers[flow]), numbers[flow] > 0
        begin = first.setdefault(way, (seq + bool(flags & SYN)) & MASK)
        place = (seq + bool(flags & SYN) - begin + (1 << 31) & MASK) - (1 << 31)
        places.append(Place(way, place))
        stream = streams.setdefault(way, bytearray())
        if length and place >= 0:
            stream.extend(bytes(max(0, place + length - len(stream))))
            stream[place : place + len(payload)] = payload
    return places, {way: bytes(stream) for way, stream in streams.items()}


def cut(stream: bytes) -> list[tuple[int, bytes]]:
    """Return the frames that tile a stream from its first byte on; the last one may lack its end."""
    found, start = [], 0
    while len(stream) - start >= 4:
        size = int.from_bytes(stream[start : start + 4], "big", signed=True)
        if size < 0:
            break
        found.append((start, stream[start + 4 : start + 4 + size]))
        start += 4 + size
    return found


def numbered(packets: Sequence[Packet]) -> list[Packet]:
    """Return the packets as a file would have them: numbered from 1, in the order of times that they come in."""
    times = sorted(packet[1] for packet in packets)
    return [(n + 1, times[n], *packet[2:]) for n, packet in enumerate(packets)]


@cache
def whole(path: Path) -> Whole:
    """Read a capture that has no damage."""
    with open_capture(path) as capture:
        packets = numbered(list(capture))
    places, streams = placed(packets)
    exchanges = list(Engine().run([packets]))
    left = {way: cut(stream) for way, stream in streams.items()}
    frames: dict[Way, list[Frame]] = {way: [] for way in streams}

    def frame(half: CapturedMessage | None, n: int) -> Frame | None:
        if half is None:
            return None
        way = places[half.first_packet - 1].way
        found = next((one for one in left[way] if one[1] == half.data), None)
        assert found is not None, f"{path.name}: a message of exchange {n + 1} is no frame"
        left[way].remove(found)
        frames[way].append(Frame(way, *found, n, half.direction == "request"))
        return frames[way][-1]

    halves = [(frame(one.request, n), frame(one.response, n)) for n, one in enumerate(exchanges)]
    for some in frames.values():
        some.sort(key=lambda one: one.start)
    return Whole(path.name, packets, places, streams, frames, exchanges, halves)
