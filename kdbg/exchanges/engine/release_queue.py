"""Complete exchanges, held until they are final, and handed out in the order in which they were completed."""

from __future__ import annotations

from collections import deque

from ..messages.exchange import Exchange
from .conversation import Conversation
from .direction import HOLD, Depth

MOST, MOST_BYTES = 256, 16 << 20
"""Exchanges held at once, and bytes of them; beyond that the oldest is taken as final."""


class Outbox:
    """`add` exchanges as they are completed, and `take` those that are final.

    An exchange is final once a frame stands behind the last one of its halves, or nothing can; and `HOLD` after it was
    completed, by the time of the packets. So it is never held for longer than that, if packets come at all. `reads`:
    whoever takes the exchanges reads all messages so far; done here already, that shows which need no other behind.
    """

    def __init__(self, reads: Depth | None = None) -> None:
        self.reads = reads
        self.held: deque[tuple[Exchange, Conversation, int, int]] = deque()
        self._ready: list[Exchange] = []
        self._size = 0

    def add(self, conversation: Conversation, exchange: Exchange) -> None:
        """Hold an exchange until it is final; take the oldest as final where too many are held."""
        half = exchange.response or exchange.request
        assert half is not None
        size, held = len(half.data), self.held
        self._size += size
        held.append((exchange, conversation, half.last_time, size))
        if self._size > MOST_BYTES or len(held) > MOST:
            self._ready += self._final(half.last_time)
        if self._size > MOST_BYTES or len(held) > MOST:
            oldest, its, _, _ = held[0]
            its.settle(oldest)
            if oldest is not exchange:  # of this one it may still be said that its length is wrong
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
            ) and not conversation.prove(exchange, reads):
                if time >= limit:
                    break
                conversation.settle(exchange)
                conversation.forget(exchange)
            held.popleft()
            self._size -= size
            final.append(exchange)
        return final

    def settle(self) -> list[Exchange]:
        """Return all exchanges that are complete: no more is to come for now, so they are taken as final."""
        return self.take(_NEVER)


_NEVER = 1 << 127
