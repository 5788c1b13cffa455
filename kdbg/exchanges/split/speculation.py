"""A part of a capture decoded without what came before it, as far as nothing depends on that.

Of each connection in the part there is at most one span (`Skippable`): its packets from the beginning of a request,
and from the beginning of the response to that same request, up to an exchange that begins packets as well. Requests may
be in flight there: the two directions are cut at different packets, at the same exchange. In it are only exchanges in
which nothing is unusual, in packets that were captured in order; several more of that kind follow it. All other packets
are `edges`: they go through the engine that knows what came before (skipping.py), which then skips the span.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from ...budget import Held
from ...capture.packet import FIN, RST, SYN, Packet, PieceCounts, reverse
from ...streams.tcp.stream import MASK
from ..engine.conversation import Conversation
from ..engine.identify import API_VERSIONS
from ..engine.requests import RequestHeader, begins
from ..messages.exchange import CapturedMessage, Exchange
from ..messages.handshake import SASL_AUTHENTICATE, SASL_HANDSHAKE
from ..messages.known import Known
from ..messages.peers import Peers

UNUSUAL = FIN | SYN | RST
CONFIRMED = 8
"""Exchanges without anything unusual that follow a span: what is wrong with a message shows in the next ones."""
REUSED = 4
"""Requests in flight that have other correlation ids than the next one: see `Pairing`."""
TRIED = 64
"""Exchanges that are tried as the first one after a span."""
FORGET = 64
"""Exchanges after which packets are forgotten that must be in the span: more than `CONFIRMED`."""
STATEFUL = frozenset({API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE})
"""APIs whose messages determine how later ones are read."""
NOBODY = Peers(0, ("", 0), ("", 0))
Data: TypeAlias = Callable[[bytes, int, int], None]


class Stretch(NamedTuple):
    """One direction of a span: the sequence number of its first byte, its bytes, its first packet, the one after it."""

    seq: int
    size: int
    first: int
    end: int


class Skippable(NamedTuple):
    """Part of a connection that needs nothing from before: `flow` is that of the client's packets.

    `packets` and `bytes` count all packets in it. `begun` are the correlation ids of its first requests, `latest` is
    that of the last one.
    """

    flow: bytes
    requests: Stretch
    responses: Stretch
    client_id: str
    begun: list[int]
    latest: int
    exchanges: int
    packets: int
    bytes: int
    last: tuple[int, int]
    """Time and number of its last packet."""


class Speculated(NamedTuple):
    """What came of a part of a capture.

    `edges` are the packets outside of all spans. `exchanges` are those in spans in the order in which they were
    completed, `completed` has the packet that did so of each, and `spans_of` the place of its span.
    """

    spans: list[Skippable]
    edges: list[Packet]
    exchanges: list[Exchange]
    completed: array[int]
    spans_of: array[int]


class Report(NamedTuple):
    """What the first process has to know of a part: `found` but for the exchanges.

    `naming` are the places, among all exchanges in spans, of those that may contain names of topic ids;
    `naming_packed` are these exchanges.
    """

    counts: PieceCounts
    found: Speculated
    naming: list[int]
    naming_packed: tuple[bytes, bytes, bytes]


class _End(NamedTuple):
    """Where a span may end: after `size` exchanges, with these packets; so many bytes were `asked` and `answered`."""

    size: int
    asked: int
    answered: int
    request: Packet
    response: Packet


class _Side:
    """One direction of a connection: `receive` takes its bytes once the span has begun; `due` is what comes next.

    `recent` are its latest packets since then, `earlier` is how many packets and bytes there were before these, and
    `last` time and number of the last one.
    """

    __slots__ = ("conversation", "due", "earlier", "has_data", "last", "other", "receive", "recent")
    other: _Side

    def __init__(self, conversation: _Unknown) -> None:
        self.receive: Data | None = None
        self.due = 0
        self.conversation = conversation
        self.has_data = False
        self.recent: list[Packet] = []
        self.earlier = 0, 0
        self.last = 0, 0

    def forget(self, number: int) -> None:
        """Forget the packets before one of a number; they are in the span."""
        end = bisect_left(self.recent, (number,))
        packets, size = self.earlier
        if end:
            self.last = self.recent[end - 1][1], self.recent[end - 1][0]
        self.earlier = packets + end, size + sum(packet[7] for packet in self.recent[:end])
        del self.recent[:end]


class _Unknown:
    """A connection of which nothing is known: `held` are its client's packets from the first request on.

    `end` is where the span may end, as far as it is known that it lasts.
    """

    __slots__ = ("broker_first", "client", "correlation_id", "end", "exchanges", "first", "header", "is_over")

    def __init__(self) -> None:
        self.client: _Side | None = None
        self.header: RequestHeader | None = None
        self.correlation_id = b""
        self.first: Packet | None = None
        self.broker_first: Packet | None = None
        self.exchanges: list[Exchange] = []
        self.end: _End | None = None
        self.is_over = False


class Speculation:
    """Takes the packets of a part of a capture."""

    def __init__(self) -> None:
        self._sides: dict[bytes, _Side] = {}
        self._all: list[_Unknown] = []
        self._edges: list[Packet] = []
        self._known, self._held = Known.nothing(), Held()

    def take(self, packets: Sequence[Packet]) -> None:
        """Take the next packets."""
        sides, edge = self._sides, self._edges.append
        for packet in packets:
            number, time, flow, seq, ack, flags, payload, length = packet
            side = sides.get(flow) or self._new(flow)
            receive = side.receive
            if receive is None:
                if (length or flags & UNUSUAL) and not side.conversation.is_over:
                    self._seek(side, packet)
                else:
                    edge(packet)
            elif flags & UNUSUAL:
                self._end(side)
                edge(packet)
            elif not length:
                side.recent.append(packet)
            elif seq == side.due and len(payload) == length and not 0 < (ack - side.other.due) & MASK < 1 << 31:
                side.due = (seq + length) & MASK
                side.recent.append(packet)
                receive(payload, time, number)
            else:
                self._end(side)
                edge(packet)

    def _new(self, flow: bytes) -> _Side:
        conversation = _Unknown()
        self._all.append(conversation)
        one, two = _Side(conversation), _Side(conversation)
        one.other, two.other = two, one
        self._sides[flow], self._sides[reverse(flow)] = one, two
        return one

    def _end(self, side: _Side) -> None:
        """Take no more of a connection: a packet is unusual."""
        side.conversation.is_over = True
        side.receive = side.other.receive = None

    def _seek(self, side: _Side, packet: Packet) -> None:
        """Look for a packet that begins with a request, then for one that begins with the response to it."""
        unknown, (_, _, _, seq, _, flags, payload, length) = side.conversation, packet
        whole = len(payload) == length and not flags & UNUSUAL
        if flags & UNUSUAL:
            side.has_data = side.other.has_data = False
        side.has_data = side.has_data or bool(length)
        if unknown.client is None:
            header = begins(payload) if whole and side.other.has_data else None
            if header is not None and header.known and header.client_id and not header.cut:
                unknown.client, unknown.header = side, header
                unknown.correlation_id = header.correlation_id.to_bytes(4, "big", signed=True)
        elif not whole or (side is unknown.client and seq != side.due):
            self._edges += unknown.client.recent
            unknown.client.recent = []
            unknown.client = None
        elif side is not unknown.client and payload[4:8] == unknown.correlation_id:
            self._begin(side, packet)
            return
        if side is unknown.client:
            side.due = (seq + length) & MASK
            side.recent.append(packet)
        else:
            self._edges.append(packet)

    def _begin(self, side: _Side, packet: Packet) -> None:
        """Begin a span with the packets of the client that are held, and with this one of the broker."""
        unknown, client = side.conversation, side.other
        assert unknown.header is not None
        conversation = Conversation(
            NOBODY,
            lambda conversation, exchange: self._complete(side, exchange),
            lambda peers, finding: None,
            whole=True,
            synced=(True, True),
            known=self._known,
            held=self._held,
            midstream=False,
        )
        conversation.client.client_id = unknown.header.client_id
        client.receive, side.receive = conversation.requests.data, conversation.responses.data
        unknown.first, unknown.broker_first = client.recent[0], packet
        for number, time, _, _, _, _, payload, _ in client.recent:
            client.receive(payload, time, number)
        side.due = (packet[3] + packet[7]) & MASK
        side.recent.append(packet)
        side.receive(packet[6], packet[1], packet[0])

    def _complete(self, side: _Side, exchange: Exchange) -> None:
        """Take the next exchange of a connection whose broker is at this side."""
        unknown = side.conversation
        if not _is_usual(exchange):
            self._end(side)
        exchanges = unknown.exchanges
        exchanges.append(exchange)
        if not (unknown.is_over or len(exchanges) % FORGET) and len(exchanges) > FORGET:
            end = self._end_at(unknown, side.other, len(exchanges) - FORGET)
            if end is not None:
                unknown.end = end
                side.other.forget(end.request[0])
                side.forget(end.response[0])

    def close(self) -> Speculated:
        """Return what came of all packets."""
        edges, spans, ended = self._edges, list[Skippable](), list[tuple[int, int, Exchange]]()
        for unknown in self._all:
            client = unknown.client
            if client is None:
                continue
            span = self._span(unknown, client) if unknown.broker_first is not None else None
            for side in (client, client.other):
                edges += side.recent
                side.receive = None
            if span is not None:
                for exchange in unknown.exchanges[: span.exchanges]:
                    request, response = _pair(exchange)
                    last, answered = request.last_packet, response.last_packet
                    ended.append((answered if answered > last else last, len(spans), exchange))
                spans.append(span)
            unknown.exchanges = []  # which would otherwise be freed by the garbage collector alone
        edges.sort(key=_number)
        ended.sort(key=_number)
        completed, places = array("Q", map(_number, ended)), array("I", (one[1] for one in ended))
        return Speculated(spans, edges, [one[2] for one in ended], completed, places)

    def _end_at(self, unknown: _Unknown, client: _Side, size: int) -> _End | None:
        """Return how a span ends after so many exchanges; None where the next one does not begin packets."""
        first, broker_first, before = unknown.first, unknown.broker_first, unknown.end
        assert first is not None
        assert broker_first is not None
        more = unknown.exchanges[before.size if before is not None else 0 : size]
        if not all(map(_is_usual, more)):  # what is said of an exchange may be said only after it is complete
            return None
        halves = [_pair(exchange) for exchange in more]
        asked = sum(4 + len(request.data) for request, _ in halves) + (before.asked if before is not None else 0)
        answered = sum(4 + len(half.data) for _, half in halves) + (before.answered if before is not None else 0)
        next_request, next_response = _pair(unknown.exchanges[size])
        request = _at(client.recent, next_request.first_packet)
        response = _at(client.other.recent, next_response.first_packet)
        if (
            request is None
            or response is None
            or (request[3] - first[3]) & MASK != asked & MASK
            or (response[3] - broker_first[3]) & MASK != answered & MASK
            or request[0] < broker_first[0]
        ):
            return None
        return _End(size, asked, answered, request, response)

    def _span(self, unknown: _Unknown, client: _Side) -> Skippable | None:
        """Return the longest span of a connection that is certain, None where there is none; forget what is in it."""
        exchanges, first, broker_first, header = unknown.exchanges, unknown.first, unknown.broker_first, unknown.header
        assert first is not None
        assert broker_first is not None
        assert header is not None
        least = unknown.end.size if unknown.end is not None else 0
        usual = (place for place in range(least, len(exchanges)) if not _is_usual(exchanges[place]))
        most = next(usual, len(exchanges)) - CONFIRMED
        ends = (self._end_at(unknown, client, size) for size in range(most, max(least, most - TRIED), -1))
        end = next((end for end in ends if end is not None), unknown.end)
        if end is None:
            return None
        client.forget(end.request[0])
        client.other.forget(end.response[0])
        packets, size = map(sum, zip(client.earlier, client.other.earlier, strict=True))
        return Skippable(
            first[2],
            Stretch(first[3], end.asked, first[0], end.request[0]),
            Stretch(broker_first[3], end.answered, broker_first[0], end.response[0]),
            header.client_id or "",
            [exchange.correlation_id for exchange in exchanges[:REUSED]],
            exchanges[end.size - 1].correlation_id,
            end.size,
            packets,
            size,
            max(client.last, client.other.last),
        )


_number: Callable[[tuple[Any, ...]], int] = itemgetter(0)
"""Returns the number of a packet, or what else is sorted by one."""


def _at(packets: Sequence[Packet], number: int) -> Packet | None:
    """Return the packet of a number; None where it is not among these."""
    place = bisect_left(packets, (number,))
    return packets[place] if place < len(packets) and packets[place][0] == number else None


def _pair(exchange: Exchange) -> tuple[CapturedMessage, CapturedMessage]:
    """Return both halves of a complete exchange."""
    assert exchange.request is not None
    assert exchange.response is not None
    return exchange.request, exchange.response


def _is_usual(exchange: Exchange) -> bool:
    """Return whether an exchange may be in a span: complete, with nothing to say about it, and of no use to others."""
    api, request, response = exchange.api, exchange.request, exchange.response
    if api is None or request is None or response is None or api.key in STATEFUL or exchange.findings:
        return False
    return not (request.missing or response.missing)
