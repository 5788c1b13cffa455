"""An engine that is given the edges of a part of a capture, and skips the spans in it.

A span is skipped only if the engine would have come to the same: it stands at the span's first byte, with nothing
unusual on the connection, and will have the responses to all earlier requests once it is at the span's first response.
Otherwise the packets of the span are given to the engine like the edges.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ...budget import Held
from ...capture.packet import Packet, reverse
from ...streams.tcp.connection import TrackedConnection
from ...streams.tcp.stream import MASK
from ...streams.tcp.table import CONNECTIONS, LOOK, NEVER
from ..engine.conversation import Conversation, Run
from ..engine.direction import NO_FRAME
from ..engine.directions import RequestSide, ResponseSide
from ..engine.engine import Engine
from ..engine.framing import Framer
from ..engine.in_flight import correlation_id_at
from ..engine.search import MAX_FRAME, size_at
from ..messages.exchange import Exchange
from ..messages.known import Known
from ..messages.peers import Peers
from .speculation import NOBODY, REUSED, UNUSUAL, Skippable, Speculated


def _nobodys_conversation() -> Conversation:
    ends = (True, True)
    known, held = Known.nothing(), Held()
    return Conversation(
        NOBODY, lambda *_: None, lambda *_: None, whole=True, synced=ends, known=known, held=held, midstream=False
    )


CONVERSATION: Final = _nobodys_conversation()


class Skipped(NamedTuple):
    """A span that was skipped: the connection, and what was known of it."""

    peers: Peers
    facts: dict[str, Any]


class Skipping:
    """Gives an engine the packets of a part in `blocks`, and adds in between what was completed elsewhere.

    `naming` are exchanges in spans that may contain names of topic ids, by their places among all; `read` returns all
    packets of the part. `skipped` has the spans that were skipped by their places; `left` is how many exchanges
    in them the engine has not numbered yet.
    """

    def __init__(
        self, engine: Engine, found: Speculated, naming: dict[int, Exchange], read: Callable[[], list[Packet]]
    ) -> None:
        self._engine, self._spans, self._edges = engine, found.spans, found.edges
        self._completed: Sequence[int] = found.completed
        self._spans_of: Sequence[int] = found.spans_of
        self._naming, self._read = naming, read
        self._all: list[Packet] = []
        self._done = 0
        self.skipped: dict[int, Skipped] = {}
        self.left = 0
        starts = [(span.requests.first, place, 0) for place, span in enumerate(found.spans)]
        starts += [(span.responses.first, place, 1) for place, span in enumerate(found.spans)]
        self._starts = deque(sorted(starts))

    def blocks(self) -> Iterator[list[Packet]]:
        """Yield the packets that the engine has to take; it must have taken them when the next ones are asked for."""
        table, place = self._engine.table, 0
        while place < len(self._edges):
            number = self._edges[place][0]
            if self._starts and self._starts[0][0] < number:
                self._start(place)
                continue
            self._pass(number)
            ends = [number + LOOK]
            if self._starts:
                ends.append(self._starts[0][0])
            if self._done < len(self._completed):
                ends.append(self._completed[self._done])
            end = bisect_left(self._edges, (min(ends),), place + 1)
            if table.due <= self._edges[end - 1][0]:
                end = place + 1
            yield self._edges[place:end]
            place = end
        while self._starts:
            self._start(place)
        self._pass(NEVER)

    def _complete(self, number: int) -> None:
        """Tell the engine of the exchanges that were completed elsewhere before this packet."""
        end, outbox = bisect_left(self._completed, number, self._done), self._engine.outbox
        for place in range(self._done, end) if self._naming else ():
            if place in self._naming:
                self._skip(place)
                outbox.add(CONVERSATION, self._naming[place])
                self._done = place + 1
        self._skip(end)

    def _skip(self, end: int) -> None:
        if end > self._done:
            self._engine.outbox.skip(CONVERSATION, Run(NOBODY, end - self._done))
        self._done = end

    def _pass(self, number: int) -> None:
        """Take what is in the spans before a packet: what was completed, and where the table looks again."""
        table = self._engine.table
        while table.due < number:
            packets = self._packets()
            place = bisect_left(packets, (table.due,))
            if place == len(packets) or packets[place][0] >= number:
                break
            self._complete(packets[place][0])
            table.settle_at(*packets[place][:2])
        self._complete(number)

    def _packets(self) -> list[Packet]:
        if not self._all:
            self._all = self._read()
        return self._all

    def _start(self, place: int) -> None:
        """Skip one direction of a span, or have its packets taken like the edges from this place on."""
        _, number, direction = self._starts.popleft()
        span = self._spans[number]
        entry = self._engine.table.entry(span.flow)
        if direction:
            assert entry is not None
            self._skip_responses(entry, span)
        elif entry is not None and self._may_skip(entry, span, place):
            self.skipped[number] = self._skip_requests(entry, span)
            self.left += span.exchanges
        else:
            self._give(number, place)

    def _give(self, number: int, place: int) -> None:
        """Have the packets of a span taken like the edges from this place on."""
        span = self._spans[number]
        stretches = {span.flow: span.requests, reverse(span.flow): span.responses}
        for packet in self._packets():
            stretch = stretches.get(packet[2])
            if stretch is not None and stretch.first <= packet[0] < stretch.end:
                self._edges.append(packet)
        self._edges[place:] = sorted(self._edges[place:])
        self._starts.remove((span.responses.first, number, 1))
        kept = [at for at, one in enumerate(self._spans_of) if one != number]
        self._done -= sum(one == number for one in self._spans_of[: self._done])
        self._naming = {new: self._naming[old] for new, old in enumerate(kept) if old in self._naming}
        self._completed = [self._completed[at] for at in kept]
        self._spans_of = [self._spans_of[at] for at in kept]

    def _may_skip(self, entry: TrackedConnection, span: Skippable, place: int) -> bool:
        """Return whether an engine that stands before a span would find what is in it."""
        connection, stream, _ = entry
        sides = _sides(entry)
        if sides is None or connection.early or connection.lossy or connection.reset:
            return False
        requests, pairing = sides[0].owner, sides[0].owner.pairing
        assert isinstance(requests, RequestSide)
        in_flight = [exchange.correlation_id for exchange in pairing.in_flight]
        return (
            stream.due & MASK == span.requests.seq
            and not sides[0].partial
            and pairing.is_usual
            and requests.client_id == span.client_id
            and not set(in_flight[-REUSED:]) & set(span.begun)
            and self._answers(entry, sides[1].partial, in_flight, span, place)
        )

    def _answers(
        self, entry: TrackedConnection, partial: bytes, in_flight: list[int], span: Skippable, place: int
    ) -> bool:
        """Return whether the broker answers all requests in flight, in their order, before the span's responses."""
        flow, other = reverse(span.flow), entry[2]
        seq, data = other.due & MASK, bytearray(partial)
        end = bisect_left(self._edges, (span.responses.first,), place)
        for _, _, its_flow, its_seq, _, flags, payload, length in self._edges[place:end]:
            if its_flow != flow:
                continue
            if flags & UNUSUAL or (length and (its_seq != seq or len(payload) != length)):
                return False
            seq = (seq + length) & MASK
            data += payload
        at = 0
        for correlation_id in in_flight:
            if len(data) - at < 8:
                return False
            size = size_at(data, at)[0]
            if not 4 <= size <= MAX_FRAME or correlation_id_at(data, at + 4)[0] != correlation_id:
                return False
            at += 4 + size
        return at == len(data) and seq == span.responses.seq

    def _skip_requests(self, entry: TrackedConnection, span: Skippable) -> Skipped:
        connection, stream, _ = entry
        framer = stream.receiver
        assert isinstance(framer, Framer)
        pairing = framer.owner.pairing
        stream.due += span.requests.size
        framer.owner.last = NO_FRAME
        pairing.latest = span.latest
        pairing.asked += span.exchanges
        connection.packets += span.packets
        connection.bytes += span.bytes
        connection.last_time, connection.last_packet = span.last
        return Skipped(pairing.peers, pairing.known.facts)

    def _skip_responses(self, entry: TrackedConnection, span: Skippable) -> None:
        stream = entry[2]
        framer = stream.receiver
        assert isinstance(framer, Framer)
        assert not framer.partial
        assert not framer.owner.pairing.in_flight
        stream.due += span.responses.size
        framer.owner.last = NO_FRAME
        framer.owner.pairing.answered += span.exchanges


def may_skip(engine: Engine) -> bool:
    """Return whether an engine is far from the bounds of what it holds, which depend on packets that it skips."""
    return engine.table.size < CONNECTIONS and engine.held.left > engine.held.most // 2


def _sides(entry: TrackedConnection) -> tuple[Framer, Framer] | None:
    """Return who takes what a client and what a broker sent, where both streams of a connection go on as usual."""
    _, stream, other = entry
    requests, responses = stream.receiver, other.receiver
    if not (stream.regular and other.regular and isinstance(requests, Framer) and isinstance(responses, Framer)):
        return None
    if not (isinstance(requests.owner, RequestSide) and isinstance(responses.owner, ResponseSide)):
        return None
    return (requests, responses) if requests.is_synced and responses.is_synced else None
