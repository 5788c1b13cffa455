"""Requests in flight, and responses whose requests were not seen yet: halves that wait for the other one, in bounds.

Messages that are alike in time and correlation id are counted: that distinguishes their exchanges.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, SupportsIndex

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind, PlainFact
from ...protocol.findings.faults import ValueFact
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ..messages.exchange import CapturedMessage, Exchange
from .requests import fits, may_fit

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
        """Return the first request after raw tokens, if this response is its: the last token may have no answer."""
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


LATE = 100
"""So many responses after it was passed over, a request is given up; so many requests are remembered after that."""


NONE: Final[dict[Any, Any]] = {}
"""Stands for each of the three sorts until there is one: most connections never have any."""


class Straggler(NamedTuple):
    """A request that a response came for. `emitted`: its exchange has been handed over, and may not be final yet."""

    exchange: Exchange
    finding: Finding
    emitted: bool


class Stragglers:
    """`wait` says whether one of the first two sorts is remembered."""

    __slots__ = ("_silent", "_told", "overtaken", "wait")

    def __init__(self) -> None:
        self.wait: bool = False
        self.overtaken: dict[Exchange, tuple[int, int]] = NONE
        """By which correlation id a request was passed over, and up to which response it may wait."""
        self._silent: dict[int, tuple[Exchange, int]] = NONE
        """Requests with acks=0, by their correlation ids, and how many requests that want a response came before."""
        self._told: dict[int, Straggler] = NONE

    def find(self, correlation_id: int) -> Exchange | None:
        """Return the request of this correlation id that may still be answered, None for none."""
        for exchange in self.overtaken:
            if exchange.correlation_id == correlation_id:
                return exchange
        if correlation_id in self._silent:
            return self._silent[correlation_id][0]
        return self._told[correlation_id].exchange if correlation_id in self._told else None

    def take(self, correlation_id: int) -> Straggler | None:
        """Return the request of this correlation id, whose response is here, and forget it."""
        exchange = self.find(correlation_id)
        if exchange is None:
            return None
        if exchange in self.overtaken:
            by, _ = self.overtaken.pop(exchange)
            late = Finding(Kind.OUT_OF_ORDER, "response", facts=FactKind.ANSWERED_AFTER.of(by))
            return Straggler(exchange, late, False)
        if correlation_id in self._silent:
            del self._silent[correlation_id]
            unasked = Finding(Kind.UNSOLICITED_RESPONSE, "response", facts=PlainFact.ANSWERED_UNASKED)
            return Straggler(exchange, unasked, True)
        return self._told.pop(correlation_id)

    # Passed over

    def overtake(self, exchange: Exchange, by: int, answered: int) -> None:
        """Let a request wait longer that the response with correlation id `by`, the `answered`-th, has passed over."""
        self.overtaken = self.overtaken or {}
        self.overtaken[exchange] = by, answered + LATE
        self.wait = True

    def overdue(self, answered: int) -> Iterator[tuple[Exchange, ValueFact]]:
        """Yield, and forget, the requests that have waited too long, each with the reason why."""
        for exchange, (_, until) in list(self.overtaken.items()):
            many = len(self.overtaken) > LATE
            if not many and until >= answered:
                break
            del self.overtaken[exchange]
            yield exchange, (FactKind.PASSED_OVER_MANY if many else FactKind.PASSED_OVER).of(LATE)

    def give_up(self) -> Iterator[Exchange]:
        """Yield, and forget, the requests that were passed over."""
        while self.overtaken:
            exchange = next(iter(self.overtaken))
            del self.overtaken[exchange]
            yield exchange

    # Without a response

    def keep_silent(self, exchange: Exchange, asked: int) -> None:
        """Keep a request that wants no response, before which came `asked` requests that want one."""
        self._silent = self._silent or {}
        self._silent[exchange.correlation_id] = exchange, asked
        self.wait = True

    def may_be_answered(self, exchange: Exchange) -> bool:
        """Return whether a response to this request, which wants none, would be paired with it."""
        return self._silent.get(exchange.correlation_id, (None,))[0] is exchange

    def tell(self, exchange: Exchange) -> None:
        """Let go a request that wants no response: its exchange is final without one."""
        if self.may_be_answered(exchange):
            del self._silent[exchange.correlation_id]
            self.remember(
                exchange, Finding(Kind.UNSOLICITED_RESPONSE, "response", facts=PlainFact.ANSWERED_UNASKED_LATE)
            )

    def pass_silent(self, answered: int) -> None:
        """Let go the acks=0 requests before the `answered`-th that wants a response: responses come in order."""
        while self._silent:
            exchange, before = next(iter(self._silent.values()))
            if before >= answered:
                break
            self.tell(exchange)
        self.wait = bool(self._silent or self.overtaken)

    def remember(self, told: Exchange, finding: Finding) -> None:
        """Remember a request handed out without a response, and the finding for a response that comes all the same."""
        if told.api is None or told.api is SASL_TOKEN:
            return
        again = Exchange(told.peers, told.api, told.version, told.correlation_id, told.client_id)
        again.answered = told.answered
        self._told = self._told or {}
        self._told[told.correlation_id] = Straggler(again, finding, False)
        if len(self._told) > LATE:
            del self._told[next(iter(self._told))]

    def end(self) -> None:
        """Forget the requests that want no response: none will come."""
        self._silent.clear()


class Repeats:
    """Counts the messages of one direction that begin at the same time, with the same correlation id."""

    __slots__ = ("_counts", "_last")

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._counts: dict[int, int] | None = None  # of most connections none, as no two messages begin at once

    def count(self, time: int, correlation_id: int) -> int:
        """Take the next message; return how many like it came just before."""
        last, self._last = self._last, (time, correlation_id)
        if last is None or time != last[0]:
            self._counts = None
            return 0
        if self._counts is None or len(self._counts) > MAX_IN_FLIGHT:
            self._counts = {last[1]: 1}
        found = self._counts.get(correlation_id, 0)
        self._counts[correlation_id] = found + 1
        return found
