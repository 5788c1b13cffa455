"""Many TCP connections: packets go in, and each connection's two streams of bytes come out at its receivers.

Memory stays bounded however long the capture: connections that have ended keep only what tells late packets from a new
connection on the same ports, and when the table is full the least recently active are ended and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from kdbg.capture.packet import ACK, FIN, RST, SYN, Packet, endpoint, reverse
from kdbg.tcp.stream import BYTES, MASK, SEGMENTS, Receiver, Stream

CONNECTIONS = 65_536
LATE_SYN, LATE_BYTES = 64, 1 << 20
"""A SYN that comes after data is the same connection's if it was shuffled by no more packets and bytes than these."""
UNUSUAL = FIN | SYN | RST
EPHEMERAL = 32_768
"""Linux gives connecting sockets ports from here on; other systems start higher."""

OpenedBy: TypeAlias = Literal["syn", "syn-ack", "data"]


class Connection:
    """One connection, from its first packet on.

    `initiator` opened it and `acceptor` was listening: certain if `handshake`, otherwise a guess (see `_by_port`).
    `sent` and `answered` are the streams of the initiator and of the acceptor. `bytes` counts TCP payload as sent,
    repetitions included; times are nanoseconds, `first_packet` and `last_packet` are numbers of the capture.
    """

    __slots__ = (
        "acceptor", "answered", "bytes", "first_packet", "handshake", "initiator", "last_packet", "last_time", "number",
        "opened_by", "packets", "sent", "start",
    )  # fmt: skip

    def __init__(self, number: int, flow: bytes, opened_by: OpenedBy, packet: Packet, sent: Stream, answered: Stream):
        self.number: int = number
        self.opened_by: OpenedBy = opened_by
        self.initiator: tuple[str, int]
        self.acceptor: tuple[str, int]
        self.initiator, self.acceptor = endpoint(flow)
        self.handshake: bool = opened_by != "data"
        self.first_packet: int = packet[0]
        self.last_packet: int = packet[0]
        self.start: int = packet[1]
        self.last_time: int = packet[1]
        self.packets: int = 0
        self.bytes: int = 0
        self.sent: Stream = sent
        self.answered: Stream = answered

    @property
    def ended(self) -> bool:
        """Whether nothing more will be delivered, whatever packets come."""
        return self.sent.ended and self.answered.ended

    def ignore(self) -> None:
        """Free what waits and deliver nothing from now on, not even the end; for receivers that want no more."""
        self.sent.ignore()
        self.answered.ignore()

    def close(self) -> None:
        """End both directions."""
        self.sent.close(self.last_time, self.last_packet)
        self.answered.close(self.last_time, self.last_packet)


TrackedConnection: TypeAlias = tuple[Connection, Stream, Stream]
"""A connection, the stream of one direction, the stream of the other."""


class Table:
    """Feed it with `receive` and, at the end, `close`.

    `accept` is called once for a new connection and says who receives what the initiator sends and what the acceptor
    sends. `segments` and `size` bound what one stream holds back behind a hole.
    """

    def __init__(
        self,
        accept: Callable[[Connection], tuple[Receiver, Receiver]],
        *,
        connections: int = CONNECTIONS,
        segments: int = SEGMENTS,
        size: int = BYTES,
    ) -> None:
        self._accept = accept
        self._most, self._segments, self._size = connections, segments, size
        self._entries: dict[bytes, TrackedConnection] = {}
        self._count = 0

    def receive(self, packet: Packet) -> None:
        """Take the next packet of the capture."""
        number, time, flow, seq, ack, flags, payload, length = packet
        entry = self._entries.get(flow)
        if flags & SYN:
            seq = (seq + 1) & MASK
            entry = self._shake_hands(entry, seq, packet)
        elif entry is None:
            if not length or flags & RST:
                return
            entry = self._open(packet, "data")
        connection, stream, other = entry
        connection.packets = seen = connection.packets + 1
        connection.bytes += length
        connection.last_time, connection.last_packet = time, number
        if flags & RST:
            if stream.near(seq):
                connection.close()
            return
        if length:
            stream.receive(seq, payload, length, time, number)
        if flags & FIN:
            stream.finish((seq + length) & MASK, time, number)
        if not other.regular:
            if flags & ACK:
                other.acknowledged(ack, seen)
            if other.deadline <= seen:
                other.overdue(seen)
        if stream.deadline <= seen:
            stream.overdue(seen)

    def receive_all(self, packets: Iterable[Packet]) -> None:
        """Take the next packets of the capture.

        Bytes that come in order, and packets without any, are handled here, as in `receive`, with fewer calls.
        """
        entries, receive = self._entries, self.receive
        for packet in packets:
            number, time, flow, seq, _, flags, payload, length = packet
            entry = entries.get(flow)
            if entry is not None and not flags & UNUSUAL:
                connection, stream, other = entry
                if not (stream.regular and other.regular):
                    receive(packet)
                elif not length:
                    connection.packets += 1
                    connection.last_time, connection.last_packet = time, number
                elif seq == stream.due & MASK and len(payload) == length:
                    connection.packets += 1
                    connection.bytes += length
                    connection.last_time, connection.last_packet = time, number
                    stream.due += length
                    stream.receiver.data(payload, time, number)
                else:
                    receive(packet)
            else:
                receive(packet)

    def place(self, packet: Packet) -> tuple[Connection, Stream, int] | None:
        """Return connection and stream of a packet that was received last, and the position of its first byte there.

        None for a packet of no connection.
        """
        entry = self._entries.get(packet[2])
        if entry is None:
            return None
        connection, stream, _ = entry
        return connection, stream, stream.position(packet[3] + bool(packet[5] & SYN))

    def close(self) -> None:
        """End every connection; for the end of the capture."""
        for connection, stream, _ in list(self._entries.values()):
            if stream is connection.sent:
                connection.close()
        self._entries.clear()

    def _shake_hands(self, entry: TrackedConnection | None, first: int, packet: Packet) -> TrackedConnection:
        """Take a SYN or SYN-ACK; `first` is the sequence number of the first byte to come."""
        ack = packet[4] if packet[5] & ACK else None
        if entry is None or not _same(entry, first):
            if entry is not None:
                entry[0].close()
            entry = self._open(packet, "syn" if ack is None else "syn-ack")
        connection, stream, other = entry
        stream.start(first)
        stream.certain = True
        if ack is not None:
            other.start(ack)
        if stream is (connection.sent if ack is None else connection.answered):
            connection.handshake = True
        return entry

    def _open(self, packet: Packet, opened_by: OpenedBy) -> TrackedConnection:
        flow = packet[2]
        if opened_by == "syn-ack" or (opened_by == "data" and _by_port(flow)):
            flow = reverse(flow)
        if len(self._entries) >= 2 * self._most:
            self._make_room()
        self._count += 1
        sent, answered = (Stream(segments=self._segments, size=self._size) for _ in range(2))
        connection = Connection(self._count, flow, opened_by, packet, sent, answered)
        self._entries[reverse(flow)] = connection, answered, sent
        self._entries[flow] = connection, sent, answered
        for_sent, for_answered = self._accept(connection)
        sent.attach(for_sent)
        answered.attach(for_answered)
        return self._entries[packet[2]]

    def _make_room(self) -> None:
        """End and forget the quarter of the connections that was silent longest."""
        ours = (flow for flow, (connection, stream, _) in self._entries.items() if stream is connection.sent)
        silent = sorted(ours, key=lambda flow: self._entries[flow][0].last_packet)
        for flow in silent[: max(1, len(silent) // 4)]:
            self._entries[flow][0].close()
            del self._entries[flow]
            self._entries.pop(reverse(flow), None)


def _by_port(flow: bytes) -> bool:
    """Whether the source is likely the listening end: its port is the lower one, and no ephemeral one.

    Between two ephemeral ports who speaks first is taken for the initiator.
    """
    source, destination = int.from_bytes(flow[-4:-2], "big"), int.from_bytes(flow[-2:], "big")
    return source < destination and source < EPHEMERAL


def _same(entry: TrackedConnection, first: int) -> bool:
    """Whether a SYN belongs to this connection, sent again or captured late; if not, the ports are used anew."""
    connection, stream, _ = entry
    if stream.first is None:
        return not connection.ended
    if stream.first == first:
        return True
    late = 0 < (stream.first - first) & MASK <= LATE_BYTES and connection.packets <= LATE_SYN
    return late and not stream.certain
