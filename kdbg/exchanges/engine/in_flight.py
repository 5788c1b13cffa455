"""Requests in flight, and responses whose requests were not seen yet: halves that wait for the other one, in bounds."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import SupportsIndex

from ...protocol.grammars.sasl import api as SASL_TOKEN
from ..messages.exchange import CapturedMessage, Exchange
from .validation import fits, may_fit

MAX_IN_FLIGHT, MAX_UNMATCHED, MAX_BYTES = 10_000, 1_000, 64 << 20
"""Halves that wait for the other one, by number and by bytes; beyond that the oldest are given up, to save memory."""
LOOK = 64
"""Requests in flight after which their bytes are counted."""
correlation_id_at = struct.Struct(">i").unpack_from


class InFlight(list[Exchange]):
    """The requests that wait for their responses, in the order in which these are due; raw SASL tokens among them."""

    __slots__ = ()

    def find(self, correlation_id: int) -> Exchange | None:
        """Return the oldest request of this correlation id, None for none."""
        for exchange in self:
            if exchange.correlation_id == correlation_id and exchange.api is not SASL_TOKEN:
                return exchange
        return None

    def behind_tokens(self, data: bytes | bytearray, start: int, size: int) -> Exchange | None:
        """Return the first request behind raw tokens, if the response of `size` bytes at `start` is its.

        The last token may have no answer.
        """
        for exchange in self:
            if exchange.api is not SASL_TOKEN:
                whole = size >= 4 and len(data) - start >= 4
                return exchange if whole and correlation_id_at(data, start)[0] == exchange.correlation_id else None
        return None

    def surplus(self) -> Iterator[Exchange]:
        """Yield, and forget, the oldest requests where too many wait, or too large ones."""
        held = sum(len(exchange.request.data) for exchange in self if exchange.request is not None)
        while len(self) > MAX_IN_FLIGHT or held > MAX_BYTES:
            exchange = self.pop(0)
            held -= len(exchange.request.data) if exchange.request is not None else 0
            yield exchange


class Unmatched(list[CapturedMessage]):
    """The responses whose requests were not seen, or come later as the capture is shuffled, the oldest first."""

    __slots__ = ("_size",)

    def __init__(self) -> None:
        super().__init__()
        self._size = 0

    def pop(self, index: SupportsIndex = -1, /) -> CapturedMessage:
        """Return, and forget, one of them."""
        half = super().pop(index)
        self._size -= len(half.data)
        return half

    def keep(self, half: CapturedMessage) -> CapturedMessage | None:
        """Let a response wait; return the one that is given up for it, None for none."""
        self.append(half)
        self._size += len(half.data)
        if len(self) > MAX_UNMATCHED or self._size > MAX_BYTES:
            return self.pop(0)
        return None

    def take(self, exchange: Exchange, *, early: bool) -> CapturedMessage | None:
        """Return, and forget, the oldest response that a request may have, None for none.

        One that was captured before it is that of an earlier request, unless it may have come too `early`.
        """
        asked = exchange.request
        found = [half for half in self if correlation_id_at(half.data)[0] == exchange.correlation_id]
        if not early and asked is not None:
            found = [half for half in found if half.last_packet > asked.last_packet]
        best = next((half for half in found if reads(exchange, half)), None)
        return self.pop(self.index(best)) if best is not None else None


def reads(exchange: Exchange, half: CapturedMessage) -> bool:
    """Return whether these bytes may be the response to a request."""
    api, version, data = exchange.api, exchange.version, half.data
    if api is None or half.missing:
        return True
    return fits(api, version, "response", data) or may_fit(api, version, "response", data)
