"""Packets as places see them, made by hand: of one connection from 10.0.0.1:50000 to 10.0.0.2:9092, and of others."""

from __future__ import annotations

from kdbg.capture.packet import ACK, Packet, reverse


def flow(client: int, broker: int, port: int = 50_000) -> bytes:
    """The direction of a connection that its client sends."""
    return bytes([10, 0, 0, client, 10, 0, 0, broker]) + port.to_bytes(2, "big") + (9092).to_bytes(2, "big")


FORTH = flow(1, 2)
BACK = reverse(FORTH)


def packet(
    number: int, time: int, flow: bytes, seq: int, payload: bytes = b"", flags: int = ACK, *, ack: int = 0,
    length: int | None = None,
) -> Packet:  # fmt: skip
    """A packet; `length` bytes were sent, of which the payload was captured."""
    return number, time, flow, seq, ack, flags, payload, len(payload) if length is None else length
