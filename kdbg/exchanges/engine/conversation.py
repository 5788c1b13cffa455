"""A connection that speaks Kafka: its two ends and what pairs their messages; exchanges until they are final."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from ...budget import Held
from ...protocol.findings import Finding
from ..messages.exchange import Exchange
from ..messages.known import Known
from ..messages.peers import Peers
from .direction import HOLD, NO_FRAME, Depth
from .directions import RequestSide, ResponseSide
from .framing import Framer
from .pairing import Pairing


class Conversation:
    """The state of a connection that speaks Kafka.

    `requests` and `responses` take what the client and the broker sent. `complete` is called with each exchange once
    both its halves are there, and may still change until `is_final` says that it does not. `left_over` takes the
    findings that no exchange has, at the end. `synced` says of either direction whether its next byte begins a frame;
    `midstream` that the connection is older than the capture.
    """

    __slots__ = ("broker", "client", "pairing", "requests", "responses")

    def __init__(
        self,
        peers: Peers,
        complete: Callable[[Conversation, Exchange], None],
        left_over: Callable[[Peers, Finding], None],
        *,
        whole: bool,
        synced: tuple[bool, bool],
        known: Known,
        held: Held,
        midstream: bool,
    ) -> None:
        self.pairing: Pairing = Pairing(
            peers, partial(complete, self), left_over, whole=whole, known=known, holds=True, held=held
        )
        self.broker: ResponseSide = ResponseSide(self.pairing, midstream=midstream)
        self.responses: Framer = Framer(self.broker, synced=synced[1], held=held)
        self.client: RequestSide = RequestSide(self.pairing, self.responses.retry, midstream=midstream)
        self.requests: Framer = Framer(self.client, synced=synced[0], held=held)

    def is_final(self, exchange: Exchange, reads: Depth | None) -> bool:
        """Return whether a complete exchange is final: no byte is taken from it any more, and nothing added.

        Where `reads` says how far, its messages are read: those that have a use for all their bytes are final.
        """
        for side, half in ((self.broker, exchange.response), (self.client, exchange.request)):
            if side.last is half and (reads is None or not side.prove_by_reading(reads)):
                return False
        return exchange.answered or not self.pairing.stragglers.may_be_answered(exchange)

    def make_final(self, exchange: Exchange) -> None:
        """Take a complete exchange as final, whatever comes after it, before it is handed out."""
        for side, half in ((self.client, exchange.request), (self.broker, exchange.response)):
            if side.last is half:
                side.last = NO_FRAME
        self.pairing.stragglers.tell(exchange)

    def forget(self, exchange: Exchange) -> None:
        """Do not hold on to an exchange that was settled: the connection may be silent for long."""
        for side in (self.client, self.broker):
            side.forget(exchange)


class Run(Exchange):
    """Stands for `count` exchanges, one after the other, that were decoded in another process."""

    __slots__ = ("count",)

    def __init__(self, peers: Peers, count: int) -> None:
        super().__init__(peers, None, 0, 0, None)
        self.count: int = count


MOST, MOST_BYTES = 256, 16 << 20
"""Exchanges held at once, and bytes of them; beyond that the oldest is taken as final."""


class Outbox:
    """`add` exchanges as they are completed, and `take` those that are final.

    An exchange is final once a frame follows the last one of its halves, or nothing can; and `HOLD` after it was
    completed, by the time of the packets. So it is never held for longer than that, if packets come at all. `reads`:
    the caller reads all messages so far; done here already, that shows which need no frame after them.
    """

    def __init__(self, reads: Depth | None = None) -> None:
        self.reads = reads
        self.held: deque[tuple[Exchange, Conversation, int, int]] = deque()
        self._ready: list[Exchange] = []
        self._size = self.runs = 0

    def add(self, conversation: Conversation, exchange: Exchange) -> None:
        """Hold an exchange until it is final; take the oldest as final where too many are held."""
        half = exchange.response or exchange.request
        assert half is not None
        size, held = len(half.data), self.held
        self._size += size
        held.append((exchange, conversation, half.last_time, size))
        if self._size > MOST_BYTES or len(held) + self.runs > MOST:
            self._ready += self._final(half.last_time)
        if self._size > MOST_BYTES or len(held) + self.runs > MOST:
            oldest, its, _, _ = held[0]
            its.make_final(oldest)
            if oldest is not exchange:  # of this one it may still be said that its length is wrong
                its.forget(oldest)

    def skip(self, conversation: Conversation, run: Run) -> None:
        """Hold a run, which is final, as one exchange; take the oldest as final where too many are held."""
        self.held.append((run, conversation, 0, 0))
        self.runs += run.count - 1
        while len(self.held) + self.runs > MOST:
            self._ready += (final := self._final(0))
            self.runs -= sum(one.count - 1 for one in final if isinstance(one, Run))
            if self.held and len(self.held) + self.runs > MOST:
                oldest, its, _, _ = self.held[0]
                its.make_final(oldest)
                its.forget(oldest)

    def take(self, now: int) -> list[Exchange]:
        """Return the exchanges that are final at this time, in nanoseconds."""
        final = self._final(now)
        if self._ready:
            self._ready, final = [], [*self._ready, *final]
        return final

    def _final(self, now: int) -> list[Exchange]:
        final: list[Exchange] = []
        held, reads, limit = self.held, self.reads, now - HOLD
        while held:
            exchange, conversation, time, size = held[0]
            if (
                exchange.response is conversation.broker.last
                or exchange.request is conversation.client.last
                or not exchange.answered
            ) and not conversation.is_final(exchange, reads):
                if time >= limit:
                    break
                conversation.make_final(exchange)
                conversation.forget(exchange)
            held.popleft()
            self._size -= size
            final.append(exchange)
        return final
