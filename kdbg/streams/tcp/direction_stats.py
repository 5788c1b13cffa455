"""What one end of a connection sent, by TCP's headers: in order, again, ahead of a hole; and what it took."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, deque
from typing import Final, NamedTuple

from kdbg.capture.packet import ACK, RST, SHUT, Packet

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
MASK = 0xFFFF_FFFF
HALF = 1 << 31
HEAD = 8
"""Bytes that are kept of the first thing that an end says, and of the last."""


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


class Way:
    """What one end sent.

    `head` is how its first bytes begin, `tail` how its last segment does, which has `tail_length` bytes. `resent`
    counts segments that were sent again, `late` those that filled a hole: they, or what they repeat, were lost before
    they were captured, or overtaken. `unseen` counts bytes that the other end acknowledged and the capture lacks.
    `announced` is how many bytes it must have sent behind those that came, by an empty segment at `announced_time`.
    `again` has the numbers of the first packets that were sent again. `shuts` are the times in which this end took
    nothing more from the other.
    """

    __slots__ = (
        "acked", "again", "ahead", "announced", "announced_time", "awaited", "bytes", "head", "holes",
        "largest", "largest_acked", "last_sent", "last_time", "late", "next", "open_since", "open_times", "packets",
        "probes", "resent", "shuts", "stalls", "tail", "tail_length", "unseen",
    )  # fmt: skip
    next: int
    acked: int

    def __init__(self) -> None:
        self.next: int = -1
        self.acked: int = -1
        self.head: bytes = b""
        self.tail: bytes = b""
        self.bytes: int = 0
        self.packets: int = 0
        self.resent: int = 0
        self.late: int = 0
        self.probes: int = 0
        self.unseen: int = 0
        self.tail_length: int = 0
        self.last_time: int = 0
        self.last_sent: int = 0
        self.largest: int = 0
        self.largest_acked: int = 0
        self.holes: list[tuple[int, int, int]] = []
        self.stalls: list[Stall] = []
        self.open_since: int = 0
        self.open_times: int = 0
        self.ahead: int = 0
        self.announced: int = 0
        self.announced_time: int = 0
        self.again: list[int] = []
        self.awaited: deque[tuple[int, int]] | None = None
        self.shuts: list[Shut] = []

    @property
    def waiting(self) -> bool:
        """Whether bytes were sent that nobody has acknowledged."""
        return self.acked >= 0 and self.next >= 0 and self.acked != self.next

    @property
    def is_shut(self) -> bool:
        """Whether its receive window is 0 now."""
        return bool(self.shuts) and self.shuts[-1].until is None

    def resent_by(self, number: int) -> int:
        """Return how many segments were sent again up to the packet of this number."""
        return bisect_right(self.again, number) if self.again else 0

    def shut_between(self, start: int, end: int) -> int:
        """Return the nanoseconds between two times in which its receive window was 0."""
        if not self.shuts:
            return 0
        spans = ((max(shut.since, start), end if shut.until is None else min(shut.until, end)) for shut in self.shuts)
        return sum(until - since for since, until in spans if until > since)


def empty(way: Way, seq: int, time: int) -> None:
    """Take a segment without bytes that stands elsewhere than the next one would: a probe, or one behind lost bytes."""
    if way.next < 0:
        return
    if seq == way.next - 1 & MASK:
        way.probes += 1
    elif (seq - way.next & MASK) < HALF:
        way.announced, way.announced_time = seq - way.next & MASK, time


def awaited(way: Way, number: int) -> None:
    """Remember up to where a packet's bytes go."""
    if way.awaited is None:
        way.awaited = deque(maxlen=MOST_AWAITED)
    way.awaited.append((way.next, number))


def arrived(way: Way, ack: int, time: int, times: OrderedDict[int, int]) -> None:
    """Take note when packets were acknowledged; of very many, the oldest are forgotten."""
    awaited = way.awaited
    while awaited and (ack - awaited[0][0] & MASK) < HALF:
        times[awaited.popleft()[1]] = time
        if len(times) > MOST_ACKNOWLEDGED:
            times.popitem(last=False)  # a plain dict looks for its first entry among all that were deleted


def window(way: Way, flags: int, time: int) -> None:
    """Take note whether an end takes bytes; what a RST says of its window means nothing."""
    if flags & RST:
        return
    shut = way.is_shut
    if flags & SHUT and not shut and flags & ACK and len(way.shuts) < MOST_SHUT:
        way.shuts.append(Shut(time, None))
    elif shut and not flags & SHUT:
        way.shuts[-1] = way.shuts[-1]._replace(until=time)


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
    _stalled(way, None, time, length)


def _stalled(way: Way, until: int | None, last: int, size: int) -> None:
    """Note how the bytes fare that are sent again and again: the last of `stalls` while they wait."""
    stalls = way.stalls
    if way.open_times > 1 and stalls and stalls[-1].until is None:
        size = max(size, stalls[-1].size)
        stalls.pop()
    if len(stalls) < MOST_STALLS:
        stalls.append(Stall(way.open_since, until, last, way.open_times, size))


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


__all__: Final = ["Shut", "Stall", "Way", "acknowledged", "arrived", "awaited", "empty", "out_of_order", "window"]
