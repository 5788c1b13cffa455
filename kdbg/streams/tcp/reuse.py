"""Ports that are used again: whether a SYN belongs to the connection that is there, or begins another one."""

from __future__ import annotations

from collections.abc import Sequence

from kdbg.capture.packet import ACK, Packet, reverse
from kdbg.streams.tcp.connection import Connection, TrackedConnection
from kdbg.streams.tcp.stream import MASK

LATE_SYN, LATE_BYTES = 64, 1 << 20
"""A SYN that comes after data is the same connection's if it was shuffled by no more packets and bytes than these."""
MADE_UP = 1 << 20
"""TCP chooses initial sequence numbers of up to this for both ends once in 2^24 connections; programs often do."""


def is_same(entry: TrackedConnection, first: int, flow: bytes) -> bool:
    """Whether a SYN belongs to this connection, sent again or captured late; if not, the ports are used anew."""
    connection, stream, _ = entry
    begun = stream.first if stream.first is not None else lowest(connection.early, flow)
    if begun is None:
        return not (connection.ended or connection.reset)
    if begun == first:
        return True
    late = 0 < (begun - first) & MASK <= LATE_BYTES and connection.packets <= LATE_SYN
    return late and not stream.certain


def lowest(packets: Sequence[Packet], flow: bytes) -> int | None:
    """Return the sequence number of the first byte that these packets have of a direction, None for none."""
    found: int | None = None
    for _, _, its_flow, seq, _, _, _, length in packets:
        if length and its_flow == flow and (found is None or 0 < (found - seq) & MASK <= LATE_BYTES):
            found = seq
    return found


def reopened(entry: TrackedConnection, packet: Packet) -> Packet | None:
    """Return the SYN that this packet answers, if both begin a connection after one with the same numbers is over.

    A SYN alone is a late copy of the old one. With its answer it is one too where TCP chose the numbers: it chooses
    those of both ends twice in 2^64 connections. Programs that make packets up choose the same for all.
    """
    connection, stream, other = entry
    if not packet[5] & ACK:
        connection.again = packet if stream.certain and other.certain else None
        return None
    again, connection.again = connection.again, None
    if again is None or again[2] != reverse(packet[2]) or packet[4] != again[3] + 1 & MASK:
        return None
    is_copy = stream.first == packet[3] + 1 & MASK and not _are_made_up(connection)
    return None if is_copy else again


def _are_made_up(connection: Connection) -> bool:
    """Whether both ends began with a number that a program chose, not TCP."""
    return all(
        stream.first is not None and 0 < stream.first <= MADE_UP for stream in (connection.sent, connection.answered)
    )
