"""Dialogues as a test writes them down, played through a Engine as the packets of one TCP connection.

    playbook >> request(5) << response(5)
    assert playbook.close() == ["5><"]

`>>` sends from the client, `<<` from the broker: bytes, or `Lost(n)` for n bytes that the capture lacks. What came out
is written `5><` (request and response), `5>` (unanswered), `5>!` (wants no answer), `<5` (response without request),
`token><` (a raw SASL token and its answer), `5>!<` (answered, though it wanted no answer).

To ask what came out is a pause: the engine is told that nothing more is there for now. `handed_out` is what came
without.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import kdbg
from kdbg.capture.packet import ACK, FIN, PSH, SYN, Packet, reverse
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.protocol.findings import Finding

CLIENT = "kdbg"


def flow(client_port: int = 51514, broker_port: int = 9092) -> bytes:
    return bytes([10, 0, 0, 1, 10, 0, 0, 2]) + client_port.to_bytes(2, "big") + broker_port.to_bytes(2, "big")


class Lost(NamedTuple):
    """Bytes that were sent and are not in the capture."""

    length: int


def framed(message: bytes) -> bytes:
    return struct.pack(">i", len(message)) + message


def request(
    correlation_id: int, api: str | int = "Metadata", version: int = 1, *, client: str | None = CLIENT, **body: Any
) -> bytes:
    """The frame of a request; a Metadata request asks for all topics if `topics` says nothing else."""
    if api == "Metadata":
        body.setdefault("topics", [{"name": "orders"}, {"name": "payments"}])
    header = {"correlation_id": correlation_id, "client_id": client}
    return framed(kdbg.encode(body, api=api, version=version, direction="request", header=header))


def response(correlation_id: int, api: str | int = "Metadata", version: int = 1, **body: Any) -> bytes:
    """The frame of a response; a Metadata response names one broker if `brokers` says nothing else."""
    if api == "Metadata":
        body.setdefault("brokers", [{"node_id": 1, "host": "broker-1.example", "port": 9092, "rack": None}])
    header = {"correlation_id": correlation_id}
    return framed(kdbg.encode(body, api=api, version=version, direction="response", header=header))


def opaque(correlation_id: int, key: int, version: int, body: bytes, client: str | None = CLIENT) -> bytes:
    """The frame of a request that kdbg has no grammar for."""
    name = b"\xff\xff" if client is None else struct.pack(">h", len(client)) + client.encode()
    return framed(struct.pack(">hhi", key, version, correlation_id) + name + body)


def answer(correlation_id: int, body: bytes) -> bytes:
    """The frame of a response of which only the header is known."""
    return framed(struct.pack(">i", correlation_id) + body)


def told(exchange: Exchange) -> str:
    """An exchange in two to five letters."""
    name = "token" if exchange.api is not None and exchange.api.key < 0 else str(exchange.correlation_id)
    if exchange.request is None:
        return f"<{name}"
    if exchange.response is None:
        return f"{name}>" if exchange.answered else f"{name}>!"
    return f"{name}><" if exchange.answered else f"{name}>!<"


class Playbook:
    """One connection of a Engine. `cut`: the most bytes of one segment; `syn`: the capture saw it open."""

    def __init__(
        self, cut: int = 1 << 16, *, syn: bool = True, path: bytes | None = None, session: Engine | None = None
    ) -> None:
        self.session = session or Engine()
        self.cut, self.path = cut, path or flow()
        self.number = 0
        self.next = {True: 1000, False: 5000}
        self.handed_out: list[Exchange] = []
        if syn:
            self.packet(True, SYN)
            self.packet(False, SYN | ACK, ack=1001)
            self.next = {True: 1001, False: 5001}
            self.packet(True, ACK, ack=5001)

    def packet(self, forth: bool, flags: int, payload: bytes = b"", ack: int = 0) -> None:
        self.number += 1
        path = self.path if forth else reverse(self.path)
        packet: Packet = (
            self.number, self.number * 1000, path, self.next[forth], ack, flags, payload, len(payload),
        )  # fmt: skip
        self.handed_out += self.session.receive(packet)
        self.next[forth] += len(payload)

    def send(self, forth: bool, what: bytes | Lost) -> Playbook:
        if isinstance(what, Lost):
            self.next[forth] += what.length
            return self
        for start in range(0, len(what), self.cut):
            self.packet(forth, PSH | ACK, what[start : start + self.cut], ack=self.next[not forth])
        return self

    def __rshift__(self, what: bytes | Lost) -> Playbook:
        return self.send(True, what)

    def __lshift__(self, what: bytes | Lost) -> Playbook:
        return self.send(False, what)

    def fin(self) -> Playbook:
        self.packet(True, FIN | ACK)
        self.packet(False, FIN | ACK)
        return self

    def close(self) -> list[str]:
        """The capture is over: everything that came out of it."""
        self.handed_out += self.session.close()
        return self.seen

    @property
    def exchanges(self) -> list[Exchange]:
        """What came out so far, after a pause."""
        self.handed_out += self.session.idle()
        return self.handed_out

    @property
    def seen(self) -> list[str]:
        """What came out so far."""
        return [told(exchange) for exchange in self.exchanges]

    @property
    def findings(self) -> list[Finding]:
        """What was odd about connections and exchanges; what is odd inside messages is not for these tests."""
        found = [finding for exchange in self.exchanges for finding in exchange.findings]
        return found + [finding for _, finding in self.session.findings]

    def lengths(self, kind: str) -> list[int]:
        return [finding.length for finding in self.findings if finding.kind == kind]

    def halves(self, direction: str) -> list[CapturedMessage]:
        both = [half for exchange in self.exchanges for half in (exchange.request, exchange.response)]
        return [half for half in both if half is not None and half.direction == direction]
