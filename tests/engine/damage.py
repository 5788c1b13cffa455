"""Streams with damage done to them, and the two framers of a conversation that read them, without TCP."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

from kdbg.exchanges.engine.directions import RequestSide, ResponseSide
from kdbg.exchanges.engine.framing import Framer
from kdbg.exchanges.engine.pairing import Pairing
from kdbg.exchanges.engine.search import MAX_FRAME
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers

PEERS = Peers(1, ("10.0.0.1", 51514), ("10.0.0.2", 9092))
FIRST_ID = 0x5A3C0700
"""Correlation ids that no other bytes of the messages look like."""


class Log:
    """What a side was told, in order: halves, and numbers of skipped bytes."""

    events: list[CapturedMessage | int]
    last: CapturedMessage

    def logged(self, taken: bool) -> bool:
        """Log the last frame, if one was taken."""
        if taken:
            self.events.append(self.last)
        return taken


class LoggedRequests(RequestSide, Log):
    def frame(self, *args: Any) -> None:
        super().frame(*args)
        assert self.last is not None
        self.events.append(self.last)

    def take(self, *args: Any) -> bool:
        return self.logged(super().take(*args))

    def skipped(self, length: int, beginning: bytes) -> None:
        super().skipped(length, beginning)
        self.events.append(length)


class LoggedResponses(ResponseSide, Log):
    def frame(self, *args: Any) -> None:
        super().frame(*args)
        assert self.last is not None
        self.events.append(self.last)

    def take(self, *args: Any) -> bool:
        return self.logged(super().take(*args))

    def skipped(self, length: int, beginning: bytes) -> None:
        super().skipped(length, beginning)
        self.events.append(length)


class Line:
    """A conversation with both its framers, without TCP. Times are ten times the packet's number."""

    def __init__(self, *, synced: bool = True) -> None:
        self.exchanges: list[Exchange] = []
        self.pairing = Pairing(PEERS, self.exchanges.append, whole=synced)
        self.responses = LoggedResponses(self.pairing)
        responses = Framer(self.responses, synced=synced)
        self.requests = LoggedRequests(self.pairing, responses.retry)
        self.requests.events, self.responses.events = [], []
        self.framers = Framer(self.requests, synced=synced), responses
        self.number = 0

    def feed(self, forth: bool, *pieces: bytes | int) -> Line:
        """Bytes arrive, numbers of bytes are lost."""
        framer = self.framers[not forth]
        for piece in pieces:
            self.number += 1
            if isinstance(piece, int):
                framer.gap(piece, self.number * 10, self.number)
            elif piece:
                framer.data(piece, self.number * 10, self.number)
        return self

    def end(self) -> Line:
        for framer in self.framers:
            framer.end(self.number * 10, self.number)
        return self

    @property
    def ids(self) -> list[tuple[int, bool, bool]]:
        return [(e.correlation_id, e.request is not None, e.response is not None) for e in self.exchanges]


class Damaged:
    """A stream of frames with damage done to it, and which frames are untouched by it."""

    def __init__(self, frames: list[bytes]) -> None:
        self.frames = frames
        self.starts = [sum(map(len, frames[:n])) for n in range(len(frames))]
        self.stream = bytearray(b"".join(frames))
        self.gaps: list[tuple[int, int]] = []
        self.hurt: set[int] = set()
        self.lies: dict[int, int] = {}

    def lie(self, n: int, claimed: int) -> None:
        """The length of a frame says something else."""
        self.lies[n] = claimed
        self.stream[self.starts[n] : self.starts[n] + 4] = struct.pack(">i", claimed)
        self.hurt.add(n)

    def insert(self, n: int, rubbish: bytes) -> None:
        """Bytes of no frame stand in front of one."""
        place = self.starts[n]
        self.stream[place:place] = rubbish
        self.starts[n:] = [start + len(rubbish) for start in self.starts[n:]]
        self.gaps = [(a + len(rubbish), b + len(rubbish)) if a >= place else (a, b) for a, b in self.gaps]

    def lose(self, start: int, length: int) -> None:
        """Bytes are missing from the capture."""
        end = min(start + length, len(self.stream))
        for gap in [gap for gap in self.gaps if gap[0] <= end and start <= gap[1]]:
            self.gaps.remove(gap)
            start, end = min(start, gap[0]), max(end, gap[1])
        self.gaps.append((start, end))
        self.hurt |= {n for n, s in enumerate(self.starts) if s < end and start < s + len(self.frames[n])}

    def pieces(self, sizes: random.Random, most: int) -> list[bytes | int]:
        """The stream in segments."""
        out: list[bytes | int] = []
        place = 0
        for start, end in [*sorted(self.gaps), (len(self.stream), len(self.stream))]:
            while place < start:
                size = min(sizes.randint(1, most), start - place)
                out.append(bytes(self.stream[place : place + size]))
                place += size
            if end > start:
                out.append(end - start)
                place = end
        return out

    def swallowed(self) -> set[int]:
        """Frames inside a length that happens to end where a frame does: nothing looks wrong but a long message."""
        found = set()
        for n, claimed in self.lies.items():
            end = self.starts[n] + 4 + claimed
            if end in [*self.starts, len(self.stream)]:
                found |= {other for other, start in enumerate(self.starts) if self.starts[n] < start < end}
        return found

    def check(self, events: list[CapturedMessage | int]) -> None:
        """Frames, skipped bytes and gaps tile the stream; every frame is a real one; no whole one is missing."""
        gaps, place, found = sorted(self.gaps), 0, set()

        def over_gaps() -> None:
            nonlocal place
            while gaps and gaps[0][0] <= place:
                place = max(place, gaps.pop(0)[1])

        for event in events:
            if isinstance(event, int):
                for _ in range(event):
                    over_gaps()
                    place += 1
                continue
            over_gaps()
            assert place in self.starts, f"no frame begins at {place}"
            found.add(self.starts.index(place))
            end = place + 4 + len(event.data)
            assert event.data == self.stream[place + 4 : end]
            if event.missing:
                assert end == len(self.stream) or (gaps and gaps[0][0] == end)
                end += event.missing
                gaps[:] = [gap for gap in gaps if gap[1] > end]
            else:
                assert not (gaps and gaps[0][0] < end)
            place = min(end, len(self.stream)) if not gaps or gaps[0][0] >= end else end
        over_gaps()
        assert place == len(self.stream)
        self.hurt |= self.swallowed()
        assert set(range(len(self.frames))) - self.hurt <= found, "a frame outside the damage is lost"


def damage(stream: Damaged, rng: random.Random, times: int) -> None:
    """Do some damage, never to neighbours: what a lie swallows must not be hurt too."""
    places = sorted(rng.sample(range(1, len(stream.frames) - 1, 4), min(times, len(stream.frames) // 4)))
    for n in places:
        size = len(stream.frames[n]) - 4
        match rng.randrange(4):
            case 0:
                stream.lie(n, rng.choice([-1, -(2**31), 2**31 - 1, MAX_FRAME + 1, 0, 7, 100_000_000, 90_000, 5_000]))
            case 1:
                stream.lie(n, max(0, size + rng.choice([-1, 1]) * rng.randint(1, size)))
            case 2:
                stream.insert(n, rng.randbytes(rng.randint(1, 60)))
            case 3:
                stream.lose(stream.starts[n] + rng.randrange(-8, size), rng.randint(1, size))


Said = tuple[str, int, dict[str, Any], dict[str, Any]]


def messages(rng: random.Random, count: int) -> list[Said]:
    """(api, version, request, response) of so many exchanges."""

    def word() -> str:
        return "".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 30)))

    def brokers() -> list[dict[str, Any]]:
        return [{"node_id": n, "host": word(), "port": 9092, "rack": None} for n in range(rng.randint(1, 9))]

    choices: list[Callable[[], Said]] = [
        lambda: ("Metadata", 1, {"topics": [{"name": word()}] * rng.randint(1, 9)}, {"brokers": brokers()}),
        lambda: ("Heartbeat", 0, {"group_id": word(), "generation_id": 5, "member_id": word()}, {"error_code": 27}),
        lambda: ("FindCoordinator", 0, {"key": word()}, {"node_id": 3, "host": word(), "port": 9092}),
        lambda: ("OffsetFetch", 1, {"group_id": word(), "topics": [{"name": word(), "partition_indexes": [0, 1]}]},
                 {"topics": [{"name": word(), "partitions": [{"partition_index": 0, "committed_offset": 77}]}]}),
    ]  # fmt: skip
    return [rng.choice(choices)() for _ in range(count)]
