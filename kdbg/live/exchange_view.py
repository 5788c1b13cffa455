"""What the relay knows of a message that it has whole, as an exchange: for filters to ask, and for who changes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from ..exchanges.engine.requests import read_header
from ..exchanges.messages.exchange import CapturedMessage, Exchange, Known
from ..exchanges.messages.peers import Peers
from ..protocol.wire.language.api import Direction
from .effects import PendingRequest


class ExchangeView:
    """Makes exchanges of one connection's messages; `topics` are the names of topic ids that are known."""

    def __init__(self, peers: Callable[[], Peers], topics: dict[UUID, str]) -> None:
        self._peers = peers
        self._known = Known.nothing(topics)

    def exchange(self, asked: PendingRequest, direction: Direction, data: bytes) -> Exchange | None:
        """Return the exchange of a message, without its size; None for one that cannot be read, or whose request was
        not held."""
        if asked.data is None:
            return None
        header = read_header(asked.data, 0, len(asked.data))[1]
        if header is None:
            return None
        exchange = Exchange(self._peers(), header.api, header.version, header.correlation_id, header.client_id)
        exchange.answered = asked.answered
        exchange.request = self._half(asked.data, "request", exchange)
        if direction == "response":
            exchange.response = self._half(data, "response", exchange)
            exchange.response.asked = exchange.request
        return exchange

    def _half(self, data: bytes, direction: Direction, exchange: Exchange) -> CapturedMessage:
        now = time.time_ns()
        half = CapturedMessage(data, (now, now), (0, 0), direction)
        half.api, half.version, half.known = exchange.api, exchange.version, self._known
        return half
