"""A stream that tests feed segments by their place, and what came out of it: bytes and gaps."""

from __future__ import annotations

from typing import NamedTuple

from kdbg.streams.tcp.stream import MASK, Stream


class Gap(NamedTuple):
    length: int


class Recorder:
    """A receiver that keeps what it is told, joining pieces of data."""

    def __init__(self) -> None:
        self.events: list[bytes | Gap] = []
        self.calls: list[tuple[str, object, int, int]] = []
        self.ends: list[tuple[int, int]] = []

    def data(self, payload: bytes, time: int, number: int) -> None:
        assert payload
        assert not self.ends
        self.calls.append(("data", payload, time, number))
        if self.events and isinstance(self.events[-1], bytes):
            self.events[-1] += payload
        else:
            self.events.append(payload)

    def gap(self, length: int, time: int, number: int) -> None:
        assert length > 0
        assert not self.ends
        self.calls.append(("gap", length, time, number))
        if self.events and isinstance(self.events[-1], Gap):
            self.events[-1] = Gap(self.events[-1].length + length)
        else:
            self.events.append(Gap(length))

    def end(self, time: int, number: int) -> None:
        self.ends.append((time, number))


class Feeder:
    """A stream and its recorder; positions are counted from the first byte sent."""

    def __init__(self, first: int | None = 1000, origin: int = 1000, **limits: int) -> None:
        self.seen = Recorder()
        self.stream = Stream(self.seen, **limits)
        self.origin, self.number = origin, 0
        if first is not None:
            self.stream.start(first)

    def __call__(self, place: int, payload: bytes, length: int | None = None) -> list[bytes | Gap]:
        self.number += 1
        size = len(payload) if length is None else length
        self.stream.receive((self.origin + place) & MASK, payload, size, self.number * 10, self.number)
        return self.seen.events

    def finish(self, place: int) -> None:
        self.number += 1
        self.stream.finish((self.origin + place) & MASK, self.number * 10, self.number)

    def close(self) -> list[bytes | Gap]:
        self.stream.close(9990, 999)
        return self.seen.events
