"""The first bytes of a connection: does it speak Kafka, and which end is the client?

Both directions are held until one of them shows a request: at its very beginning where the connection was seen to
open, else at the first place that proves itself. What never does is let go, with a word on what it looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..findings import Finding
from ..tcp.table import Connection
from . import requests
from .mistaken import looks_like

PATIENCE_WHOLE, PATIENCE_MIDSTREAM = 1 << 16, 4 << 20
"""Bytes held while no request shows: few where the capture saw the connection open, since Kafka begins with one."""


class _Side:
    """tcp.Receiver of one direction while the connection is unknown."""

    def __init__(self, opening: Opening, direction: int) -> None:
        self.opening, self.direction = opening, direction

    def data(self, payload: bytes, time: int, number: int) -> None:
        self.opening.data(self.direction, payload, time, number)

    def gap(self, length: int, time: int, number: int) -> None:
        self.opening.gap(self.direction, length, time, number)

    def end(self, time: int, number: int) -> None:
        self.opening.end(self.direction, time, number)


class Opening:
    """Holds what both sides sent until it is known what it is; then calls one of its two callbacks, once."""

    def __init__(
        self,
        connection: Connection,
        kafka: Callable[[Opening, int], None],
        other: Callable[[Opening, Finding | None], None],
    ) -> None:
        self.connection, self._kafka, self._other = connection, kafka, other
        self.sides = _Side(self, 0), _Side(self, 1)
        self.whole = connection.handshake
        self._events: list[tuple[int, str, Any, int, int]] = []
        self._held = [b"", b""]
        self._ended = 0
        self._decided = False

    def data(self, direction: int, payload: bytes, time: int, number: int) -> None:
        self._events.append((direction, "data", payload, time, number))
        self._held[direction] += payload
        self._decide(direction)

    def gap(self, direction: int, length: int, time: int, number: int) -> None:
        self._events.append((direction, "gap", length, time, number))
        self.whole = False

    def end(self, direction: int, time: int, number: int) -> None:
        self._events.append((direction, "end", None, time, number))
        self._ended += 1
        if self._ended == 2 and not self._decided:
            self._give_up()

    def starts_with_request(self, direction: int) -> bool:
        """Whether this direction begins with a request, as it must where the capture saw the connection open."""
        data = self._held[direction]
        if len(data) < 4:
            return False
        size = int.from_bytes(data[:4], "big", signed=True)
        accepted, header = requests.read_header(data, 4, size)
        return bool(accepted and header is not None and (header.known or self.whole)) or self._token(data)

    def replay(self, receivers: list[Any]) -> None:
        """Give what was held to those who can read it."""
        events, self._events = self._events, []
        self._held = [b"", b""]
        for direction, what, payload, time, number in events:
            if what == "end":
                receivers[direction].end(time, number)
            else:
                getattr(receivers[direction], what)(payload, time, number)

    def _token(self, data: bytes) -> bool:
        """A GSSAPI token without a handshake, as clients of 0.9 send it: a length that fits, an ASN.1 tag."""
        return self.whole and len(data) > 4 and data[4] == 0x60 and int.from_bytes(data[:4], "big") == len(data) - 4

    def _decide(self, direction: int) -> None:
        if self._decided:
            return
        data = self._held[direction]
        certain = self.connection.handshake
        if (direction == 0 or not certain) and (self.starts_with_request(direction) or self._request_inside(data)):
            self._decided = True
            self._kafka(self, direction)
            return
        limit = PATIENCE_WHOLE if certain and self.whole else PATIENCE_MIDSTREAM
        if looks_like(self._held[0][:8]) or sum(map(len, self._held)) > limit:
            self._give_up()

    def _request_inside(self, data: bytes) -> bool:
        """Whether a complete request stands somewhere in what was held: for captures that begin in the middle."""
        if self.connection.handshake and self.whole:
            return False
        place = requests.search(data, 0)
        while place is not None:
            end = place + 4 + int.from_bytes(data[place : place + 4], "big", signed=True)
            if end <= len(data) and requests.prove(data, place + 4, end):
                return True
            place = requests.search(data, place + 1)
        return False

    def _give_up(self) -> None:
        self._decided = True
        what = looks_like(self._held[0][:8]) or looks_like(self._held[1][:8])
        size = sum(map(len, self._held))
        finding = None
        if what:
            finding = Finding("not-kafka", f"{what}; not decoded", "", None, size)
        elif any(self._held):
            finding = Finding("not-kafka", f"nothing in its first {size} bytes is a Kafka request", "", None, size)
        self._events.clear()
        self._held = [b"", b""]
        self._other(self, finding)
