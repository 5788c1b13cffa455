"""What TCP itself tells of connections: who asked for one, who hung up, what was sent again, how long packets take.

`Paths` takes the packets that `Table` takes, beside it and before it, and holds what a `Path` says of each connection
and of each attempt to get one. It reads headers alone, delivers no bytes, and its memory is bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from kdbg.capture.packet import ACK, FIN, RST, SHUT, SYN, Endpoint, Packet, endpoint, reverse

from . import direction_stats
from .connection import MADE_UP
from .direction_stats import HEAD, MASK, Shut, Stall, Way

MOST = 65_536
"""Paths that are held; beyond them those that ended longest ago are forgotten."""
BARE = FIN | SYN | RST
Side = Literal[0, 1]
"""0 is the end that opened the connection, 1 the other."""


class Closed(NamedTuple):
    """One end hung up, at `time`: with a FIN, or a RST."""

    time: int
    side: Side
    reset: bool


class Path:
    """One connection, or an attempt to get one, by its headers.

    Times are nanoseconds since the epoch, None for what was not seen. `syns` counts how often the connection was asked
    for, from `start` on; `answered` is when that was granted, `refused` when it was turned down, and
    `established` when the one who asked took note. `ways` are what either end sent: the opening one's first.
    `begun` is the sequence number of its SYN, -1 for none. `closes` tells who hung up, in order.
    """

    __slots__ = (
        "acceptor", "answered", "begun", "closes", "established", "first_packet", "initiator", "last_packet",
        "last_time", "opened", "refused", "start", "syns", "ways",
    )  # fmt: skip
    answered: int | None
    established: int | None
    refused: int | None

    def __init__(self, flow: bytes, packet: Packet, opened: bool) -> None:
        self.initiator: Endpoint
        self.acceptor: Endpoint
        self.initiator, self.acceptor = endpoint(flow)
        self.first_packet: int = packet[0]
        self.last_packet: int = packet[0]
        self.start: int = packet[1]
        self.last_time: int = packet[1]
        self.opened: bool = opened
        self.begun: int = -1
        self.syns: int = 0
        self.answered = self.established = self.refused = None
        self.ways: tuple[Way, Way] = Way(), Way()
        self.closes: list[Closed] = []

    @property
    def unanswered(self) -> bool:
        """Whether nothing at all came back from where it was asked for."""
        return self.syns > 0 and self.answered is None and self.refused is None and not self.ways[1].packets

    @property
    def ended(self) -> bool:
        """Whether an end hung up, or it never began."""
        return bool(self.closes) or self.refused is not None

    @property
    def there(self) -> int | None:
        """Nanoseconds from the capture's place to the acceptor and back, by the handshake."""
        return None if self.answered is None or self.syns != 1 else self.answered - self.start

    @property
    def back(self) -> int | None:
        """Nanoseconds from the capture's place to the initiator and back, by the handshake."""
        return None if self.answered is None or self.established is None else self.established - self.answered

    @property
    def round_trip(self) -> int | None:
        """Nanoseconds of the whole round trip between its ends, by the handshake; without what the acceptor took."""
        there, back = self.there, self.back
        return None if there is None or back is None else there + back


class Paths:
    """Feed it with `receive_all`; what it knows of each connection is in `all()`, in the order of their beginnings.

    With `acknowledgements`, `acknowledged` tells when a packet's bytes were.
    """

    def __init__(self, most: int = MOST, *, acknowledgements: bool = False) -> None:
        self._times: OrderedDict[int, int] | None = OrderedDict() if acknowledgements else None
        self._most = most
        self._by_flow: dict[bytes, tuple[Path, Side]] = {}
        self._paths: dict[int, Path] = {}
        self.forgotten: int = 0

    def all(self) -> Iterator[Path]:
        """Yield all paths that are held."""
        return iter(list(self._paths.values()))

    def __len__(self) -> int:
        return len(self._paths)

    def path_of(self, first_packet: int) -> Path | None:
        """Return the path whose first packet has this number, which names a connection as `Peers` does."""
        return self._paths.get(first_packet)

    def acknowledged(self, number: int) -> int | None:
        """Return when the bytes of the packet of this number were acknowledged; None where that is not known."""
        return None if self._times is None else self._times.get(number)

    def receive_all(self, packets: Sequence[Packet]) -> None:
        """Take the next packets of the capture."""
        by_flow, times = self._by_flow, self._times
        for packet in packets:
            number, time, flow, seq, ack, flags, payload, length = packet
            entry = by_flow.get(flow)
            if entry is None or flags & SYN:
                entry = self._opened(packet, entry)
                if entry is None:
                    continue
            path, side = entry
            path.last_time, path.last_packet = time, number
            way, other = path.ways[side], path.ways[1 - side]
            way.packets += 1
            if length:
                if seq == way.next:  # what comes in order, nearly always
                    way.next = seq + length & MASK
                    way.bytes += length
                    if length > way.largest:
                        way.largest = length
                    way.last_time = way.last_sent = time
                    if not way.head:
                        way.head = bytes(payload[:HEAD])
                    way.tail, way.tail_length = payload[:HEAD], length
                    if times is not None:
                        direction_stats.awaited(way, number)
                else:
                    direction_stats.out_of_order(way, packet)
            elif seq != way.next and not flags & BARE:
                direction_stats.empty(way, seq, time)
            if flags & ACK and ack != other.acked:
                direction_stats.acknowledged(other, ack, time)
                if other.awaited and times is not None:
                    direction_stats.arrived(other, ack, time, times)
                if path.established is None and side == 0:
                    path.established = time
            if flags & SHUT or way.shuts:
                direction_stats.window(way, flags, time)
            if flags & BARE:
                _marked(path, side, packet)

    def _opened(self, packet: Packet, entry: tuple[Path, Side] | None) -> tuple[Path, Side] | None:
        """Return the path of a packet that asks for a connection, or is the first of one."""
        flow, flags = packet[2], packet[5]
        if entry is not None:
            path, side = entry
            if flags & ACK or _same(path, side, packet[3]):
                return entry
        if entry is None and not flags & SYN and (not packet[7] or flags & RST):
            return None
        if flags & SYN and flags & ACK:
            flow, side = reverse(flow), 1
        else:
            side = 0
        if len(self._paths) >= self._most:
            self._make_room()
        path = Path(flow, packet, bool(flags & SYN))
        self._paths[packet[0]] = path
        self._by_flow[flow] = path, 0
        self._by_flow[reverse(flow)] = path, 1
        return path, side

    def _make_room(self) -> None:
        """Forget a quarter of the paths: those that have been silent longest."""
        silent = sorted(self._paths.values(), key=lambda path: path.last_time)[: max(1, self._most // 4)]
        gone = {id(path) for path in silent}
        self.forgotten += len(silent)
        for path in silent:
            del self._paths[path.first_packet]
        self._by_flow = {flow: entry for flow, entry in self._by_flow.items() if id(entry[0]) not in gone}


def _same(path: Path, side: Side, seq: int) -> bool:
    """Whether a SYN belongs to this path: sent again, or a late copy of the one that began what is over."""
    if path.ended:
        return path.syns > 0 and path.refused is None and seq == path.begun > MADE_UP and side == 0
    return path.ways[side].next in (-1, seq + 1 & MASK)


def _marked(path: Path, side: Side, packet: Packet) -> None:
    """Take a segment that begins or ends something."""
    _, time, _, seq, _, flags, _, length = packet
    if flags & SYN and path.ended:
        return
    if flags & SYN:
        path.ways[side].next = seq + 1 & MASK
        if flags & ACK:
            path.answered = path.answered or time
        else:
            path.begun = seq
            path.syns += 1
    elif flags & RST:
        if side == 1 and path.answered is None and path.syns and not path.ways[0].bytes:
            path.refused = path.refused or time
        path.closes.append(Closed(time, side, True))
    elif not any(closed.side == side and not closed.reset for closed in path.closes):
        path.closes.append(Closed(time, side, False))
        path.ways[side].next = seq + length + 1 & MASK


__all__: Final = ["Closed", "Path", "Paths", "Shut", "Stall", "Way"]
