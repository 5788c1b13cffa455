"""One TCP connection as `Table` tracks it: its ends, its counts, what waits in it, its two streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ...capture.packet import ACK, Endpoint, Packet, reverse
from .stream import MASK, Stream

NO_PACKETS: Final = list[Packet]()
"""What waits of a connection whose beginning is known."""


@dataclass(eq=False, slots=True)
class Connection:
    """One connection, from its first packet on.

    `initiator` opened it and `acceptor` was listening: certain if `handshake`, otherwise a guess by the ports.
    `sent` and `answered` are the streams of the initiator and of the acceptor. `bytes` counts TCP payload as sent,
    repetitions included; times are nanoseconds, `first_packet` and `last_packet` are numbers of the capture.
    `early` are packets that wait: until it is known where the data of both ends begins, and until what they acknowledge
    is there; `lossy` says that it did not come, and `reset` that one end closed.

    `again` is a SYN that came when it was over, with the number of its own.

    `asks` counts the packets that ask for it, `tries` how many of them are no copies of another. `refused` says that
    nothing but a RST answered.
    """

    number: int
    initiator: Endpoint
    acceptor: Endpoint
    sent: Stream
    answered: Stream
    handshake: bool
    first_packet: int
    last_packet: int
    start: int
    last_time: int
    packets: int = 0
    asks: int = 0
    tries: int = 0
    refused: bool = False
    bytes: int = 0
    early: list[Packet] = field(default_factory=lambda: NO_PACKETS)
    again: Packet | None = None
    lossy: bool = False
    reset: bool = False

    @property
    def unanswered(self) -> bool:
        """Whether it was asked for more than once, and nothing else: after once, the capture may end too early."""
        return self.tries > 1 and self.asks == self.packets

    @property
    def ended(self) -> bool:
        """Whether nothing more will be delivered, whatever packets come."""
        return self.sent.ended and self.answered.ended

    @property
    def over(self) -> bool:
        """Whether both ends have sent their FIN, or one of them a RST."""
        return self.reset or (self.sent.finished and self.answered.finished)

    def ignore(self) -> None:
        """Free what waits and deliver nothing from now on, not even the end; for receivers that want no more."""
        self.early = NO_PACKETS
        self.sent.ignore()
        self.answered.ignore()

    def close(self) -> None:
        """End both directions."""
        self.sent.close(self.last_time, self.last_packet)
        self.answered.close(self.last_time, self.last_packet)


TrackedConnection: TypeAlias = tuple[Connection, Stream, Stream]
"""A connection, the stream of one direction, the stream of the other."""


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
    chosen = all(each.first is not None and 0 < each.first <= MADE_UP for each in (stream, other))
    return None if stream.first == packet[3] + 1 & MASK and not chosen else again
