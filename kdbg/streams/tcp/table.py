"""Many TCP connections: packets go in, and each connection's two streams of bytes come out at its receivers.

Memory stays bounded however long the capture: connections that have ended keep only what tells late packets from a new
connection on the same ports, and when the table is full the least recently active are ended and forgotten.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from kdbg.budget import Held
from kdbg.capture.packet import ACK, FIN, RST, SYN, Packet, endpoint, reverse

from .connection import NO_PACKETS, Connection, TrackedConnection, is_same, lowest, reopened
from .stream import BYTES, MASK, SEGMENTS, Receiver, Stream

CONNECTIONS = 65_536
SHUFFLED, LOOK = 1024, 64
"""Packets of the capture that are waited for what belongs before those at hand: where a connection's data begins, if
nothing has told that yet; what the other end sent before it heard of a reset; what was said before an answer to it.
After so many as the second, time counts as well: see `LATE`."""
LATE = 1_000_000_000
"""Nanoseconds of the capture after which nothing is waited for any more that is missing."""
LARGE = 1 << 12
BEFORE = 1 << 20
"""Bytes of the other end that data may wait for, which acknowledges them before they were captured."""
COPY = 1_000_000
"""Nanoseconds within which the same packet was captured twice, not sent again."""
UNUSUAL = FIN | SYN | RST
EPHEMERAL = 32_768
"""Linux gives connecting sockets ports from here on; other systems start higher."""

NEVER = 1 << 62
"""More packets than a capture can have."""


class ConnectionTable:
    """Feed it with `receive` and, at the end, `close`; `settle` where no packets come for a while.

    `accept` is called once for a new connection and says who receives what the initiator sends and what the acceptor
    sends. `segments` and `size` bound what one stream holds back after a hole, `held` what all of them do.
    """

    def __init__(
        self,
        accept: Callable[[Connection], tuple[Receiver, Receiver]],
        *,
        connections: int = CONNECTIONS,
        segments: int = SEGMENTS,
        size: int = BYTES,
        held: Held | None = None,
    ) -> None:
        self._held = held or Held()
        self._accept = accept
        self._most, self._segments, self._size = connections, segments, size
        self._entries: dict[bytes, TrackedConnection] = {}
        self._count = 0
        self._waiting: deque[tuple[int, Connection, int, int]] = deque()
        """Connections with packets that wait, or that were reset: when to look again, up to which packet of the capture
        they may wait, and until which time."""
        self._due = NEVER

    def receive(self, packet: Packet) -> None:
        """Take the next packet of the capture."""
        number, time, flow, seq, _, flags, _, length = packet
        if self._due <= number:
            self._settle(number, time)
        entry = self._entries.get(flow)
        if flags & SYN:
            entry = self._shake_hands(entry, (seq + 1) & MASK, packet)
        elif entry is None:
            if not length or flags & RST:
                return
            entry = self._open(packet)
        connection = entry[0]
        connection.packets += 1
        connection.bytes += length
        connection.last_time, connection.last_packet = time, number
        if connection.early or ((length or flags & FIN) and not _is_due(entry, packet)):
            self._keep(entry, packet)
        else:
            self._take(entry, packet)

    def _take(self, entry: TrackedConnection, packet: Packet) -> None:
        """Give a packet's bytes, and what else it says, to the streams of its connection."""
        number, time, _, seq, ack, flags, payload, length = packet
        connection, stream, other = entry
        seen = connection.packets
        if flags & SYN:
            seq = (seq + 1) & MASK
        if flags & RST:
            if stream.near(seq) and not (connection.reset or stream.older(seq)):
                connection.reset = True
                connection.refused = stream is connection.answered and 0 < connection.asks == connection.packets - 1
                self._await(connection, number, time)
            return
        if length:
            stream.receive(seq, payload, length, time, number)
        if flags & FIN:
            stream.finish((seq + length) & MASK, time, number)
        if not other.regular:
            if flags & ACK:
                other.acknowledged(ack, seen, time + LATE)
            if other.deadline <= seen:
                other.overdue(seen, time)
        if stream.deadline <= seen:
            stream.overdue(seen, time)

    def receive_all(self, packets: Sequence[Packet]) -> None:
        """Take the next packets of the capture.

        Bytes that come in order, and packets without any, are handled here, as in `receive`, with fewer calls.
        """
        entries, receive, look = self._entries, self.receive, self._due
        for packet in packets:
            number, time, flow, seq, ack, flags, payload, length = packet
            entry = entries.get(flow)
            if entry is not None and number < look and not flags & UNUSUAL:
                connection, stream, other = entry
                if stream.regular and other.regular:
                    if not length:
                        connection.packets += 1
                        connection.last_time, connection.last_packet = time, number
                        continue
                    in_order = seq == stream.due & MASK and len(payload) == length and ack <= other.due
                    if in_order and not connection.early:
                        connection.packets += 1
                        connection.bytes += length
                        connection.last_time, connection.last_packet = time, number
                        stream.due += length
                        stream.receiver.data(payload, time, number)
                        continue
            receive(packet)
            look = self._due

    def place(self, packet: Packet) -> tuple[Connection, Stream, int] | None:
        """Return connection and stream of the packet received last, and its position there; None if it has none."""
        entry = self._entries.get(packet[2])
        if entry is None:
            return None
        connection, stream, _ = entry
        return connection, stream, stream.position(packet[3] + bool(packet[5] & SYN))

    @property
    def due(self) -> int:
        """The number of the packet with which it looks again at what waits."""
        return self._due

    @property
    def size(self) -> int:
        """How many connections it knows."""
        return len(self._entries) // 2

    def entry(self, flow: bytes) -> TrackedConnection | None:
        """Return the connection of a flow, with the stream of this direction first; None where there is none."""
        return self._entries.get(flow)

    def settle_at(self, number: int, time: int) -> None:
        """Look at what waits, with a packet that is not given to it."""
        self._settle(number, time)

    def settle(self) -> None:
        """Take the data that waits for its beginning as all there is: none is there for now that belongs before it."""
        for _, connection, _, _ in list(self._waiting):
            if connection.early:
                self._give_up(connection, NEVER)

    def close(self) -> None:
        """End every connection; for the end of the capture."""
        self._settle(NEVER, NEVER)
        for connection, stream, _ in list(self._entries.values()):
            if stream is connection.sent:
                connection.close()
        self._entries.clear()

    def _keep(self, entry: TrackedConnection, packet: Packet) -> None:
        """Let a packet wait after those that do, or take it, and then what need not wait any more."""
        connection, stream, other = entry
        if not connection.early:
            connection.early = []
            self._await(connection, *packet[:2])
        before = stream.due, other.due, stream.ended, other.ended
        if _is_due(entry, packet):
            self._take(entry, packet)
        else:
            connection.early.append(packet)
        if packet[5] & SYN or (stream.due, other.due, stream.ended, other.ended) != before:
            self._take_due(connection)
        elif len(connection.early) > SHUFFLED or (
            packet[7] > LARGE and sum(early[7] for early in connection.early) > self._size
        ):
            self._give_up(connection, NEVER)  # the packets' numbers do not count them

    def _take_due(self, connection: Connection) -> None:
        early, entries = connection.early, self._entries
        while due := next((one for one in early if _is_due(entries[one[2]], one)), None):
            early.remove(due)
            self._take(entries[due[2]], due)
        if not early:
            connection.early = NO_PACKETS

    def _give_up(self, connection: Connection, number: int) -> None:
        """Take the packets that have waited long enough at this one.

        Nothing stands before the first of their bytes, unless something told so; what they acknowledge is not captured.
        """
        for flow in dict.fromkeys(packet[2] for packet in connection.early):
            stream, first = self._entries[flow][1], lowest(connection.early, flow)
            if stream.first is None and first is not None:
                stream.start(first)
        self._take_due(connection)
        while early := connection.early:
            if early[0][0] + SHUFFLED > number:
                self._await(connection, *early[0][:2])
                return
            self._entries[early[0][2]][2].give_up(early[0][4])
            connection.lossy = not _is_due(self._entries[early[0][2]], early[0])
            self._take_due(connection)

    def _await(self, connection: Connection, number: int, time: int) -> None:
        """Come back to a connection some packets after the one of this number."""
        self._waiting.append((number + LOOK, connection, number + SHUFFLED, time + LATE))
        self._due = self._waiting[0][0]

    def _settle(self, number: int, time: int) -> None:
        """Take what has waited long enough at this packet, and end what was reset and is silent since."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= number:
            _, connection, last, until = waiting.popleft()
            if number < last and time < until:
                waiting.append((min(number + LOOK, last), connection, last, until))
                continue
            if connection.early:
                self._give_up(connection, max(number, last))
            if connection.reset and not connection.ended:
                if number < NEVER and connection.last_packet + SHUFFLED > last:
                    self._await(connection, connection.last_packet, connection.last_time)
                else:
                    connection.close()
        self._due = waiting[0][0] if waiting else NEVER

    def _end(self, connection: Connection) -> None:
        """End a connection: no packets of its own come any more."""
        if connection.early:
            self._give_up(connection, NEVER)
        connection.close()

    def _shake_hands(self, entry: TrackedConnection | None, first: int, packet: Packet) -> TrackedConnection:
        """Take a SYN or SYN-ACK; `first` is the sequence number of the first byte to come."""
        ack = packet[4] if packet[5] & ACK else None
        if entry is not None and entry[0].over and (again := reopened(entry, packet)) is not None:
            self._end(entry[0])
            self._open(again)
            self.receive(again)
            entry = self._entries[packet[2]]
        elif entry is None or not is_same(entry, first, packet[2]):
            if entry is not None:
                self._end(entry[0])
            entry = self._open(packet)
        connection, stream, other = entry
        stream.start(first)
        stream.certain = True
        if ack is not None:
            other.start(ack)
        else:
            connection.tries += not connection.asks or packet[1] - connection.last_time >= COPY
            connection.asks += 1
        if stream is (connection.sent if ack is None else connection.answered) and stream.first == first:
            connection.handshake = True
        return entry

    def _open(self, packet: Packet) -> TrackedConnection:
        flow, flags = packet[2], packet[5]
        source, destination = int.from_bytes(flow[-4:-2], "big"), int.from_bytes(flow[-2:], "big")
        # Without a SYN the lower port is likely the listening one, unless it is ephemeral: then who speaks first asks.
        if flags & ACK if flags & SYN else source < destination and source < EPHEMERAL:
            flow = reverse(flow)
        if len(self._entries) >= 2 * self._most:
            self._make_room()
        self._count += 1
        sent, answered = (Stream(segments=self._segments, size=self._size, held=self._held) for _ in range(2))
        number, time = packet[:2]
        connection = Connection(
            self._count, *endpoint(flow), sent, answered, bool(flags & SYN), number, number, time, time
        )
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
            self._end(self._entries[flow][0])
            del self._entries[flow]
            self._entries.pop(reverse(flow), None)


def _is_due(entry: TrackedConnection, packet: Packet) -> bool:
    """Return whether nothing is missing that comes before a packet: the beginning of its end's data, what it answers.

    A connection is not `lossy` any more once data came for all that was said before. Where sequence numbers wrapped
    at 32 bits, nothing waits.
    """
    connection, stream, other = entry
    _, _, _, _, ack, flags, _, length = packet
    if stream.first is None and length and not stream.ended:
        return False
    ahead = ack - other.due if flags & ACK and other.first is not None and not other.ended else 0
    if not (length or flags & FIN) or not 0 < ahead <= BEFORE:
        connection.lossy = connection.lossy and not length
        return True
    return connection.lossy
