"""Who opened a connection, by one of its packets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from ...budget import MEMORY
from ...capture.packet import ACK, FIN, RST, SYN, Packet, reverse
from .flows import MASK, ClockOffset, Conversation, Flow, FlowRun, Path, Sight

EPHEMERAL = 32_768


def opener(flow: bytes, flags: int) -> bool:
    """Return whether the source of a packet opened the connection: as its SYN says; else by the ports, a guess."""
    if flags & SYN:
        return not flags & ACK
    source, destination = int.from_bytes(flow[-4:-2], "big"), int.from_bytes(flow[-2:], "big")
    return not (source < destination and source < EPHEMERAL)


WAIT: Final = 1_000_000_000
"""Nanoseconds that a packet waits for the other places."""
KEEP: Final = 4 * WAIT
"""Nanoseconds that runs of bytes are known after they were seen."""
MOST_BYTES: Final = 64 << 20
"""Bytes of packets that wait at once, at most: beyond that they wait for less time."""
OVERHEAD: Final = 1024
"""Bytes that a packet takes beside its payload, with what is remembered of it."""
MOST_FLOWS, SWEEP = 1 << 16, 1 << 17
"""Connections that are remembered; packets after which old runs of all are forgotten."""
SLACK: Final = 1 << 20
"""Bytes below the most that may wait, from which on no more is remembered than has to be."""
MANY: Final = 128
"""Runs of a flow after which the old ones are forgotten."""
BLOCK, STEP = 256, 64
"""Packets that are told together; packets after which offsets of clocks are looked up."""
UNUSUAL: Final = SYN | FIN | RST
Waiting: TypeAlias = tuple[int, int, Packet, Flow, FlowRun | None]
"""When it was seen, place, packet, flow, and the run that it is, where it is one."""


class PointStream(NamedTuple):
    """What one place recorded: blocks of packets, and by how much its clock is ahead of that of place 0, about.

    `aliases` has the flows of it that stand under others at place 0, because addresses were translated on the way.
    """

    blocks: Iterable[Sequence[Packet]]
    ahead: int = 0
    aliases: Mapping[bytes, bytes] = MappingProxyType({})


class Merger:
    """Iterate once over `blocks`: what `feeds` have, as packets of one capture, by the clock of place 0.

    `offsets` has what is known of clocks, by pairs of places; `only` counts the packets that one place told of in place
    of another which lacks them.
    """

    def __init__(self, feeds: Sequence[PointStream], *, wait: int = WAIT) -> None:
        self.offsets: dict[tuple[int, int], ClockOffset] = {
            (first, second): ClockOffset(feeds[second].ahead - feeds[first].ahead)
            for second in range(len(feeds))
            for first in range(second)
        }
        self.filled: int = 0
        self._feeds, self._wait = feeds, wait
        self._ahead = [feed.ahead for feed in feeds]
        self._aliases = [dict(feed.aliases) for feed in feeds]
        self._flows: dict[bytes, Flow] = {}
        self._handshakes: dict[tuple[int, int], tuple[int, bytes]] = {}
        self._waiting: deque[Waiting] = deque()
        self._held = self._seen = 0
        self._horizon = 0
        """Runs that were seen before that are forgotten, in nanoseconds."""
        self._told = Sight(0)
        self._most = min(MOST_BYTES, MEMORY.connections // 2)

    def ahead(self, place: int) -> int:
        """Return by how much the clock of a place is ahead of that of place 0, most likely.

        Where they have seen nothing together, a third place tells that saw something with either.
        """
        if not place:
            return 0
        straight = self.offsets[0, place]
        if straight.bounds is None:
            for other in range(1, len(self._feeds)):
                first, second = min(other, place), max(other, place)
                if first != second and self.offsets[0, other].bounds and self.offsets[first, second].bounds:
                    offset = self.offsets[first, second].latest
                    return self.offsets[0, other].latest + (offset if other < place else -offset)
        return straight.latest

    def blocks(self, *, singly: bool = False) -> Iterator[list[Packet]]:
        """Yield the packets, some at a time."""
        block = list[Packet]()
        most = 1 if singly else BLOCK
        for place, packet in self._in_order():
            now = packet[1] - self._ahead[place]
            self._see(place, packet, now)
            waiting = self._waiting
            while waiting and (waiting[0][0] <= now - self._wait or self._held > self._most):
                self._tell(waiting.popleft(), block)
            while len(block) >= most:
                yield block[:most]
                del block[:most]
        while self._waiting:
            self._tell(self._waiting.popleft(), block)
            if len(block) >= most:
                yield block
                block = []
        if block:
            yield block

    def _in_order(self) -> Iterator[tuple[int, Packet]]:
        """Yield the packets of all places with their place, in the order of their times, clocks put right."""
        packets = [(packet for block in feed.blocks for packet in block) for feed in self._feeds]
        heads = {place: head for place, each in enumerate(packets) if (head := next(each, None)) is not None}
        ahead = self._ahead
        while heads:
            place = min(heads, key=lambda place: heads[place][1] - ahead[place])
            rest, packet = packets[place], heads.pop(place)
            until = min((head[1] - ahead[other] for other, head in heads.items()), default=None)
            own = ahead[place]
            while until is None or packet[1] - own <= until:
                yield place, packet
                self._seen += 1
                if not self._seen % STEP:
                    self._look()
                    own = ahead[place]
                following = next(rest, None)
                if following is None:
                    break
                packet = following
            else:
                heads[place] = packet

    def _look(self) -> None:
        """Take what is known of the clocks by now, and let go of what is old."""
        for place in range(1, len(self._ahead)):
            self._ahead[place] = self.ahead(place)
        if self._waiting:
            oldest, now = self._waiting[0][0], self._waiting[-1][0]
            self._horizon = now - (KEEP if self._held < self._most - SLACK else 2 * (now - oldest))
        if self._seen % SWEEP < STEP:
            for flow in self._flows.values():
                flow.forget(self._horizon)
            self._handshakes.clear()

    def _see(self, place: int, packet: Packet, now: int) -> None:
        """Take note of what a packet holds, and let it wait if it may have to be told of."""
        number, time, name, seq, _, flags, payload, length = packet
        if self._aliases[place]:
            name = self._alias(place, name, flags)
        flow = self._flows.get(name)
        run: FlowRun | None = None
        if flow is None or flags & UNUSUAL or len(payload) != length:
            flow = self._see_unusual(place, packet, name, now)
        elif length:
            start, teller = flow.place(seq), flow.conversation.teller
            known = flow.starting.get(start)
            if start >= flow.due:
                run = flow.add(start, start + length, now, place, (time, number))
            elif known is not None and known.end == start + length and place not in known.first:
                run = known
                run.first[place] = run.last[place] = time, number
                self._pair(run, place, time)
                if teller in run.first and teller != place:
                    return
            else:  # of its bytes some may be known
                for one in flow.see(place, seq, length, packet, now):
                    self._pair(one, place, time)
        elif flow.conversation.teller not in (-1, place):
            return
        self._held += length + OVERHEAD
        self._waiting.append((now, place, packet, flow, run))
        if len(flow.runs) > MANY:
            flow.forget(self._horizon)

    def _see_unusual(self, place: int, packet: Packet, name: bytes, now: int) -> Flow:
        """Take note of a packet with which a connection begins or ends, and of one that is not whole."""
        _, _, _, seq, ack, flags, _, _ = packet
        if flags & SYN:
            name = self._handshake(place, name, seq, ack, flags)
        flow = self._flows.get(name)
        if flow is None or (flags & SYN and flow.is_new(seq)):
            flow = self._begin(name, flags)
        if flags & SYN:
            flow.origin = seq
        size = _size(packet)
        for run in flow.see(place, seq, size, packet, now) if size else ():
            self._pair(run, place, packet[1])
        return flow

    def _begin(self, name: bytes, flags: int) -> Flow:
        """Begin a connection."""
        if len(self._flows) > 2 * MOST_FLOWS:
            for old in list(self._flows)[:MOST_FLOWS]:
                del self._flows[old]
        first = name if opener(name, flags) else reverse(name)
        conversation = Conversation(first, reverse(first))
        for flow in conversation.flows:
            self._flows[flow.flow] = flow
        return self._flows[name]

    def _pair(self, run: FlowRun, place: int, time: int) -> None:
        """Learn of the clocks from a run that several places have seen."""
        if run.first.get(place, (None,))[0] != time:
            return
        conversation = run.flow.conversation
        for other, (moment, _) in run.first.items():
            if other != place:
                first, second = (other, place) if other < place else (place, other)
                offset = time - moment if other < place else moment - time
                path = conversation.paths.get((first, second))
                if path is None:
                    path = conversation.paths[first, second] = Path()
                path.learn(run.flow.side, offset, run.first[first][0], self.offsets[first, second])

    def _alias(self, place: int, name: bytes, flags: int) -> bytes:
        """Return the flow that a flow of a place stands under, and take note of that with its connection."""
        known = self._aliases[place].get(name)
        if known is None:
            return name
        flow = self._flows.get(known) or self._begin(known, flags)
        if place not in flow.conversation.aliases:
            flow.conversation.aliases[place] = name if flow.side == 0 else reverse(name)
        return known

    def _handshake(self, place: int, name: bytes, seq: int, ack: int, flags: int) -> bytes:
        """Return the flow that a SYN stands under: another where addresses were translated on its way.

        Sequence numbers of both ends are 64 bits that nobody else has at the same time.
        """
        if not flags & ACK:
            return name
        other, its = self._handshakes.setdefault((seq, ack), (place, name))
        if other == place or its == name:
            return name
        child, alias, known = (place, name, its) if place > other else (other, its, name)
        self._aliases[child].update({alias: known, reverse(alias): reverse(known)})
        own = self._flows.get(alias)
        if own is not None:
            void = own.conversation.flows
            self._waiting = deque(one for one in self._waiting if one[3] not in void)
            for flow in void:
                self._flows.pop(flow.flow, None)
        return self._alias(child, alias, flags)

    def _tell(self, waiting: Waiting, block: list[Packet]) -> None:
        """Add what a packet brings to a block."""
        now, place, packet, flow, run = waiting
        _, _, _, seq, ack, flags, payload, length = packet
        self._held -= length + OVERHEAD
        conversation = flow.conversation
        if conversation.teller < 0:
            conversation.teller = self._teller(place, packet, flow)
        teller = conversation.teller
        if run is not None and run.end - run.start == length:
            if run.emitted < 0 and (place == teller or teller not in run.first):
                self.filled += place != teller
                run.emitted = place
            elif place != teller or run.emitted != place:
                return
            self._told = number = Sight(self._told + 1)
            number.run = run
            block.append((number, now, flow.flow, seq, ack, flags, payload, length))
            return
        size, start = _size(packet), flow.place(seq)
        runs = flow.between(start, start + size) if size else []
        if place != teller and flags & RST:
            if not flow.reset:
                flow.reset = True
                self._add(block, now, flow, seq, ack, flags, b"", 0, None)
            return
        if place != teller:  # only what the place that tells of the connection has not seen
            for run in runs:
                if run.emitted < 0 and (teller not in run.first or teller not in run.last):
                    run.emitted = place
                    self.filled += 1
                    self._part(block, now, packet, flow, run, 0)
            return
        flow.reset = flow.reset or bool(flags & RST)
        if not runs:
            self._add(block, now, flow, seq, ack, flags, payload, length, None)
        end = start + bool(flags & SYN) + length
        beyond = flow.between(start + size, end) if len(payload) < length else []
        more = bool(beyond) and beyond[0].start <= start + size and beyond[-1].end >= end
        more = more and all(one.end == other.start for one, other in pairwise(beyond))  # some place has what is missing
        for run in runs:  # in parts where the other places have its bytes in others
            if run.emitted in (-1, place):
                run.emitted = place
                rest = length - len(payload) if not more and run is runs[-1] else 0
                self._part(block, now, packet, flow, run, rest)

    def _teller(self, place: int, packet: Packet, flow: Flow) -> int:
        """Return the place that tells of a connection, which begins with this packet: the one nearest to its client.

        A packet of the client's that several have seen was first at the nearest, one of the broker's last.
        """
        start = flow.place(packet[3])
        runs = flow.between(start, start + max(_size(packet), 1))
        if not runs or len(runs[0].first) < 2:
            return place
        seen = {at: mark[0] - self._ahead[at] for at, mark in runs[0].first.items()}
        paths = flow.conversation.paths
        if len(seen) == 2 and (path := paths.get((min(seen), max(seen)))) is not None and path.votes:
            return min(seen) if path.votes > 0 else max(seen)
        return min(seen, key=seen.__getitem__) if flow.side == 0 else max(seen, key=seen.__getitem__)

    def _part(self, block: list[Packet], now: int, packet: Packet, flow: Flow, run: FlowRun, rest: int) -> None:
        """Pass on what a packet has of a run, and the gap of bytes after it that the capture lacks."""
        _, _, _, seq, ack, flags, payload, _ = packet
        start, syn = flow.place(seq), bool(flags & SYN)
        low, high = max(run.start - start, 0), min(run.end - start, _size(packet))
        data = payload[max(low - syn, 0) : max(high - syn, 0)]
        kept = flags & ~(SYN | FIN)
        if syn and low == 0:
            kept |= SYN
        if flags & FIN and high - syn > len(payload):
            kept |= FIN
        self._add(block, now, flow, (seq + low) & MASK, ack, kept, data, len(data) + rest, run)

    def _add(
        self, block: list[Packet], now: int, flow: Flow, seq: int, ack: int, flags: int, payload: bytes, length: int,
        run: FlowRun | None,
    ) -> None:  # fmt: skip
        self._told = number = Sight(self._told + 1)
        number.run = run
        block.append((number, now, flow.flow, seq, ack, flags, payload, length))


def _size(packet: Packet) -> int:
    """Return how many sequence numbers a packet takes of which the capture has all: SYN and FIN are one each."""
    _, _, _, _, _, flags, payload, length = packet
    return len(payload) + bool(flags & SYN) + bool(flags & FIN and len(payload) == length)
