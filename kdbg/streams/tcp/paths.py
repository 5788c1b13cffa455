"""What TCP itself tells of connections: who asked for one, who closed, what was sent again, how long packets take.

`Paths` takes the packets that `Table` takes, beside it and before it, and holds what a `Path` says of each connection
and of each attempt to get one. It reads headers alone, delivers no bytes, and its memory is bounded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from kdbg.capture.packet import ACK, FIN, RST, SHUT, SYN, Endpoint, Packet, endpoint, reverse

from .connection import MADE_UP
from .stream import MASK

COPY = 1_000_000
"""Nanoseconds within which the same segment is one packet that was captured twice, not one that was sent again."""
OVERTAKEN = 3_000_000
"""Nanoseconds within which a segment that fills a hole was overtaken, not lost."""
MOST_STALLS = 64
MOST_SHUT = 64
"""Zero windows of one end that are remembered."""
MOST_AGAIN = 1024
MOST_AWAITED = 256
"""Segments of one end whose acknowledgement is waited for."""
MOST_ACKNOWLEDGED = 65_536
MOST_HOLES = 8
HALF = 1 << 31
HEAD = 8
"""Bytes that are kept of the first thing that an end says, and of the last."""
Data: TypeAlias = bytes
"""What `Way` cannot call bytes, as it counts them under that name."""
MOST = 65_536
"""Paths that are held; beyond them those that ended longest ago are forgotten."""
BARE = FIN | SYN | RST
Side = Literal[0, 1]
"""0 is the end that opened the connection, 1 the other."""


class Stall(NamedTuple):
    """Bytes that had to be sent again: `since` they were due, `until` they were acknowledged, None if never.

    `times` says how often they were sent again, the last time at `last`; `size` is the longest segment among them.
    """

    since: int
    until: int | None
    last: int
    times: int
    size: int


class Shut(NamedTuple):
    """A time in which an end took no more bytes: its receive window was 0, `until` is None while it is."""

    since: int
    until: int | None


@dataclass(eq=False, slots=True)
class Way:
    """What one end sent.

    `head` is how its first bytes begin, `tail` how its last segment does, which has `tail_length` bytes. `resent`
    counts segments that were sent again, `late` those that filled a hole: they, or what they repeat, were lost before
    they were captured, or overtaken. `unseen` counts bytes that the other end acknowledged and the capture lacks.
    `announced` is how many bytes it must have sent after those that came, by an empty segment at `announced_time`.
    `again` has the numbers of the first packets that were sent again. `shuts` are the times in which this end took
    nothing more from the other.
    """

    next: int = -1
    acked: int = -1
    head: Data = b""
    tail: Data = b""
    bytes: int = 0
    packets: int = 0
    resent: int = 0
    late: int = 0
    probes: int = 0
    unseen: int = 0
    tail_length: int = 0
    last_time: int = 0
    last_sent: int = 0
    largest: int = 0
    largest_acked: int = 0
    holes: list[tuple[int, int, int]] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    open_since: int = 0
    open_times: int = 0
    ahead: int = 0
    announced: int = 0
    announced_time: int = 0
    again: list[int] = field(default_factory=list)
    awaited: deque[tuple[int, int]] | None = None
    shuts: list[Shut] = field(default_factory=list)

    @property
    def waiting(self) -> bool:
        """Whether bytes were sent that nobody has acknowledged."""
        return self.acked >= 0 and self.next >= 0 and self.acked != self.next

    def resent_by(self, number: int) -> int:
        """Return how many segments were sent again up to the packet of this number."""
        return bisect_right(self.again, number) if self.again else 0

    def shut_between(self, start: int, end: int) -> int:
        """Return the nanoseconds between two times in which its receive window was 0."""
        if not self.shuts:
            return 0
        spans = ((max(shut.since, start), end if shut.until is None else min(shut.until, end)) for shut in self.shuts)
        return sum(until - since for since, until in spans if until > since)


class Closed(NamedTuple):
    """One end closed, at `time`: with a FIN, or a RST."""

    time: int
    side: Side
    reset: bool


@dataclass(eq=False, slots=True)
class Path:
    """One connection, or an attempt to get one, by its headers.

    Times are nanoseconds since the epoch, None for what was not seen. `syns` counts how often the connection was asked
    for, from `start` on; `answered` is when that was granted, `refused` when it was turned down, and
    `established` when the one who asked took note. `ways` are what either end sent: the opening one's first.
    `begun` is the sequence number of its SYN, -1 for none. `closes` tells who closed, in order.
    """

    initiator: Endpoint
    acceptor: Endpoint
    first_packet: int
    last_packet: int
    start: int
    last_time: int
    opened: bool
    begun: int = -1
    syns: int = 0
    answered: int | None = None
    established: int | None = None
    refused: int | None = None
    ways: tuple[Way, Way] = field(default_factory=lambda: (Way(), Way()))
    closes: list[Closed] = field(default_factory=list)

    @property
    def unanswered(self) -> bool:
        """Whether nothing at all came back from where it was asked for."""
        return self.syns > 0 and self.answered is None and self.refused is None and not self.ways[1].packets

    @property
    def ended(self) -> bool:
        """Whether an end closed, or it never began."""
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
                        if way.awaited is None:
                            way.awaited = deque(maxlen=MOST_AWAITED)
                        way.awaited.append((way.next, number))
                else:
                    out_of_order(way, packet)
            elif seq != way.next and not flags & BARE and way.next >= 0:
                if seq == way.next - 1 & MASK:
                    way.probes += 1
                elif (seq - way.next & MASK) < HALF:  # after lost bytes
                    way.announced, way.announced_time = seq - way.next & MASK, time
            if flags & ACK and ack != other.acked:
                acknowledged(other, ack, time)
                while times is not None and other.awaited and (ack - other.awaited[0][0] & MASK) < HALF:
                    times[other.awaited.popleft()[1]] = time
                    if len(times) > MOST_ACKNOWLEDGED:
                        times.popitem(last=False)  # a plain dict looks for its first entry among all that were deleted
                if path.established is None and side == 0:
                    path.established = time
            if (flags & SHUT or way.shuts) and not flags & RST:  # what a RST says of its window means nothing
                shuts = way.shuts
                shut = bool(shuts) and shuts[-1].until is None
                if flags & SHUT and not shut and flags & ACK and len(shuts) < MOST_SHUT:
                    shuts.append(Shut(time, None))
                elif shut and not flags & SHUT:
                    shuts[-1] = shuts[-1]._replace(until=time)
            if flags & BARE:
                _marked(path, side, packet)

    def _opened(self, packet: Packet, entry: tuple[Path, Side] | None) -> tuple[Path, Side] | None:
        """Return the path of a packet that asks for a connection, or is the first of one."""
        flow, flags = packet[2], packet[5]
        if entry is not None:
            path, side = entry
            same = path.ways[side].next in (-1, packet[3] + 1 & MASK)  # a SYN that was sent again
            if path.ended:  # or a late copy of the one that began what is over
                same = path.syns > 0 and path.refused is None and packet[3] == path.begun > MADE_UP and side == 0
            if flags & ACK or same:
                return entry
        if entry is None and not flags & SYN and (not packet[7] or flags & RST):
            return None
        if flags & SYN and flags & ACK:
            flow, side = reverse(flow), 1
        else:
            side = 0
        if len(self._paths) >= self._most:
            self._make_room()
        number, time = packet[:2]
        path = Path(*endpoint(flow), number, number, time, time, bool(flags & SYN))
        self._paths[number] = path
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


def out_of_order(way: Way, packet: Packet) -> None:
    """Take a segment that is not the next one: the first of all, one ahead of a hole, or one that came before."""
    number, time, _, seq, _, _, payload, length = packet
    if way.next < 0:
        way.next = seq
    if way.acked < 0:
        way.acked = seq
    ahead = seq - way.next & MASK
    if ahead < HALF:
        if ahead:
            if len(way.holes) < MOST_HOLES:
                way.holes.append((way.next, seq, time))
            way.ahead += 1
        way.next = seq + length & MASK
        way.bytes += length
        way.largest = max(way.largest, length)
        way.last_time = way.last_sent = time
        way.head = way.head or bytes(payload[:HEAD])
        way.tail, way.tail_length = payload[:HEAD], length
        return
    for place, (start, end, since) in enumerate(way.holes):
        if seq - start & MASK < (end - start & MASK):
            del way.holes[place]
            way.late += time - since >= OVERTAKEN
            if end - (seq + length) & MASK < HALF and end != seq + length & MASK:
                way.holes.append((seq + length & MASK, end, time))
            way.last_time = time
            return
    if time - way.last_sent < COPY:
        return
    if length == 1 and seq == way.next - 1 & MASK:
        way.probes += 1
        return
    way.resent += 1
    if len(way.again) < MOST_AGAIN:
        way.again.append(number)
    way.last_sent = time
    if not way.open_times:
        way.open_since = way.last_time
    way.open_times += 1
    stalls = way.stalls  # the last of them is of the bytes that are sent again and again, while they wait
    if way.open_times > 1 and stalls and stalls[-1].until is None:
        length = max(length, stalls.pop().size)
    if len(stalls) < MOST_STALLS:
        stalls.append(Stall(way.open_since, None, time, way.open_times, length))


def acknowledged(way: Way, ack: int, time: int) -> None:
    """Take note that the other end has what was sent before `ack`."""
    if way.acked >= 0 and (ack - way.acked & MASK) >= HALF:
        return
    if way.acked >= 0 and not way.open_times:
        way.largest_acked = max(way.largest_acked, ack - way.acked & MASK)
    way.acked = ack
    if way.next >= 0 and 0 < (ack - way.next & MASK) < HALF:
        way.unseen += ack - way.next & MASK
        way.next = ack
    way.holes = [hole for hole in way.holes if (hole[0] - ack & MASK) < HALF] if way.holes else way.holes
    if way.open_times:
        stall = way.stalls[-1]
        if stall.until is None:
            way.stalls[-1] = stall._replace(until=time)
        way.open_times = 0
