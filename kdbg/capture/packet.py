"""What a packet is to kdbg: raw header bytes of one TCP segment go in, addresses to show come out."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import Any, NamedTuple, TypeAlias

Packet: TypeAlias = tuple[int, int, bytes, int, int, int, bytes, int]
"""(number, time, flow, seq, ack, flags, payload, length): one TCP segment.

A plain tuple, because one is made for every packet of a capture and read once.
  number   place in the capture, counted from 1; packets that are not TCP count too
  time     nanoseconds since the epoch
  flow     source address, destination address, source port, destination port as they stand in the headers:
           12 bytes for IPv4, 36 for IPv6; it names the connection and the direction
  seq ack  as on the wire, 32 bits
  flags    the TCP flags byte, with `SHUT` where the sender's receive window is 0
  payload  the bytes captured
  length   the bytes sent; more than len(payload) when the capture's snaplen cut the packet
"""

Segment: TypeAlias = tuple[bytes, int, int, int, bytes, int]
"""The part of a Packet that its bytes tell: (flow, seq, ack, flags, payload, length)."""

Endpoint: TypeAlias = tuple[str, int]
"""One end of a connection: (address as text, port)."""

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
SHUT = 0x100
"""Beside TCP's own flags: the sender takes no more bytes for now, its receive window is 0, however it is scaled."""


def endpoint(flow: bytes) -> tuple[Endpoint, Endpoint]:
    """Return source and destination of a flow, each as (address, port)."""
    size = (len(flow) - 4) // 2
    return _end(flow[:size], flow[-4:-2]), _end(flow[size : 2 * size], flow[-2:])


@lru_cache(maxsize=1 << 14)
def _end(address: bytes, port: bytes) -> Endpoint:
    """Return an end of a flow: a tuple that all share who keep it."""
    return _address(address), int.from_bytes(port, "big")


@lru_cache(maxsize=1 << 14)
def _address(data: bytes) -> str:
    """Return an address as text: a text that connections share, as few hosts have many of them."""
    return str(ip_address(data))


def reverse(flow: bytes) -> bytes:
    """Return the flow of the same connection's other direction: addresses and ports swapped."""
    size = (len(flow) - 4) // 2
    return flow[size : 2 * size] + flow[:size] + flow[-2:] + flow[-4:-2]


class Piece(NamedTuple):
    """Some packets of a capture: their bytes, how many packets are before, how many these are.

    Any copy of the capture can read them, with `state`, which is what their reader knows there; unless they are in
    `taken` already.
    """

    data: bytes
    before: int
    packets: int
    state: Any = None
    taken: list[Any] | None = None


class PieceCounts(NamedTuple):
    """What the packets of a piece add to the counts of their capture.

    `fragments`: among them are IP fragments, whose others may be in another piece.
    """

    packets: int
    bytes: int
    other: int
    first_time: int
    last_time: int
    notes: dict[str, int]
    fragments: bool
