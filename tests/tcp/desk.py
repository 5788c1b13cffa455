"""A table of connections that tests feed packets, and what each side of each connection was told."""

from __future__ import annotations

from collections.abc import Iterator

from kdbg.capture.packet import ACK, PSH, SYN, reverse
from kdbg.streams.tcp.connection import Connection
from kdbg.streams.tcp.stream import Receiver
from kdbg.streams.tcp.table import ConnectionTable

CLIENT, BROKER = ("10.0.0.1", 51514), ("10.0.0.2", 9092)
FLOW = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + (51514).to_bytes(2, "big") + (9092).to_bytes(2, "big")
BACK = reverse(FLOW)
DATA = PSH | ACK


class Side:
    """A receiver that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[bytes | int] = []
        self.ends: list[tuple[int, int]] = []

    def data(self, payload: bytes, time: int, number: int) -> None:
        assert not self.ends
        self.events.append(payload)

    def gap(self, length: int, time: int, number: int) -> None:
        assert not self.ends
        self.events.append(length)

    def end(self, time: int, number: int) -> None:
        self.ends.append((time, number))

    @property
    def bytes(self) -> bytes:
        return b"".join(event for event in self.events if isinstance(event, bytes))


class Desk:
    """A table that keeps every connection, and makes packets with numbers and times."""

    def __init__(self, **limits: int) -> None:
        self.connections: list[Connection] = []
        self.sides: list[tuple[Side, Side]] = []
        self.table = ConnectionTable(self.accept, **limits)
        self.number = 0

    def accept(self, connection: Connection) -> tuple[Receiver, Receiver]:
        self.connections.append(connection)
        self.sides.append((Side(), Side()))
        return self.sides[-1]

    def __call__(self, flow: bytes, flags: int, seq: int = 0, payload: bytes = b"", ack: int = 0) -> None:
        self.number += 1
        self.table.receive((self.number, self.number * 1000, flow, seq, ack, flags, payload, len(payload)))

    def handshake(self, client: int = 100, broker: int = 500, flow: bytes = FLOW) -> None:
        self(flow, SYN, client)
        self(reverse(flow), SYN | ACK, broker, ack=client + 1)
        self(flow, ACK, client + 1, ack=broker + 1)

    @property
    def events(self) -> list[tuple[list[bytes | int], list[bytes | int]]]:
        return [(sent.events, answered.events) for sent, answered in self.sides]

    @property
    def ends(self) -> list[tuple[int, int]]:
        return [(len(sent.ends), len(answered.ends)) for sent, answered in self.sides]


def ports(count: int) -> Iterator[bytes]:
    return (FLOW[:8] + (20_000 + n).to_bytes(2, "big") + FLOW[-2:] for n in range(count))
