"""A connection that speaks Kafka, put together: two framers, one pairing, and the word on when an exchange is final."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...budget import Held
from ...protocol.findings import Finding
from ..messages.exchange import Exchange, Known
from ..messages.peers import Peers
from .direction import Depth
from .directions import RequestSide, ResponseSide
from .framing import Framer
from .pairing import Pairing


class Conversation:
    """Everything that is remembered of a connection that speaks Kafka.

    `requests` and `responses` take what the client and the broker sent. `complete` is called with each exchange once
    both its halves are there, and may still change until `prove` says that it does not. `left_over` takes the
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
        held: Held | None = None,
        midstream: bool = False,
    ) -> None:
        held = held or Held()
        self.pairing: Pairing = Pairing(
            peers, partial(complete, self), left_over, whole=whole, known=known, holds=True, held=held
        )
        self.broker: ResponseSide = ResponseSide(self.pairing, midstream=midstream)
        self.responses: Framer = Framer(self.broker, synced=synced[1], held=held)
        self.client: RequestSide = RequestSide(self.pairing, self.responses.retry, midstream=midstream)
        self.requests: Framer = Framer(self.client, synced=synced[0], held=held)

    def prove(self, exchange: Exchange, reads: Depth | None) -> bool:
        """Return whether a complete exchange is final: no byte is taken from it any more, and nothing added.

        Where `reads` says how far, its messages are read: those that have a use for all their bytes are final.
        """
        for side, half in ((self.broker, exchange.response), (self.client, exchange.request)):
            if side.last is half and (reads is None or not side.prove_by_reading(reads)):
                return False
        return exchange.answered or not self.pairing.stragglers.may_be_answered(exchange)

    def settle(self, exchange: Exchange) -> None:
        """Take a complete exchange as final, whatever comes after it, before it is handed out."""
        for side, half in ((self.client, exchange.request), (self.broker, exchange.response)):
            if side.last is half:
                side.proved()
        self.pairing.stragglers.tell(exchange)

    def forget(self, exchange: Exchange) -> None:
        """Do not hold on to an exchange that was settled: the connection may be silent for long."""
        for side in (self.client, self.broker):
            side.forget(exchange)
