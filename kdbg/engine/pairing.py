"""One connection's messages in, exchanges out.

A request is registered from its header alone, before its body is looked at. Responses must come in the order of the
requests (the guide's "Network"), but are paired by their correlation ids, whatever the order (see `stragglers`). Either
half may be missing from the capture, or come first where the capture is shuffled, so both wait for each other: within
bounds, and a finding says what was given up for them.

After SaslHandshake v0 the frames are raw tokens (see `tokens`).
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from functools import cache

from ..findings import Finding
from ..findings.facts import InFlightFull, ResponsesLost
from ..grammars import by_key
from ..grammars.sasl import api as SASL_TOKEN
from ..messages.exchange import CapturedMessage, Exchange, Known, Peers
from ..messages.message import header_grammar
from ..wire.nodes import WireStruct
from ..wire.readings.compiled import UNREADABLE, Reader, reader
from . import complaints, tokens
from .requests import RequestHeader
from .states import ENDS, Ending, Ends, next_state
from .stragglers import Stragglers

PRODUCE = 0
MAX_IN_FLIGHT, MAX_UNMATCHED, MAX_BYTES = 10_000, 100, 64 << 20
"""Halves that wait for the other one, by number and by bytes; beyond that the oldest are given up, to save memory."""
LOOK = 64
"""Requests in flight after which their bytes are counted."""
_correlation_id = struct.Struct(">i").unpack_from


def _nobody_asks(finding: Finding) -> None:
    """Do nothing: what `left_over` is unless the caller gives another."""


class Pairing:
    """Pair the halves of one connection's exchanges and hand them to `deliver`.

    `left_over` takes the findings that no exchange has when the connection is over. `whole` says that the capture holds
    the connection's beginning, `latest` is the newest request's correlation id, `tokens` is how many of the client's
    next frames may be raw SASL tokens, `known` what helps to read later messages. `asked` counts the requests that want
    a response, `answered` the responses. `undecided` is set by who needs to see the next request. `holds`: what
    `deliver` is given may still change until it is final; without that, a request that wants no response (acks=0) is
    not remembered, and a response to it is one to no request.
    """

    peers: Peers
    whole: bool
    asked: int
    answered: int
    deliver: Callable[[Exchange], None]
    left_over: Callable[[Finding], None]
    known: Known
    state: Ends
    latest: int
    tokens: int

    def __init__(
        self,
        peers: Peers,
        deliver: Callable[[Exchange], None],
        left_over: Callable[[Finding], None] = _nobody_asks,
        *,
        whole: bool,
        known: Known | None = None,
        holds: bool = False,
    ) -> None:
        self.peers, self.deliver, self.left_over, self.whole = peers, deliver, left_over, whole
        self.known = known or Known.nothing()
        self.state = Ends.OPEN
        self.in_flight: deque[Exchange] = deque()
        self.unmatched: deque[CapturedMessage] = deque()
        self.findings: list[Finding] = []
        self.latest = self.tokens = self.asked = self.answered = 0
        self.undecided = False
        self.stragglers: Stragglers = Stragglers()
        self._holds = holds
        self._lost_until: Exchange | None = None

    @property
    def quiescent(self) -> bool:
        """Whether nothing waits: no request for its response, no token, no word on what was odd."""
        waits = self.in_flight or self.unmatched or self.stragglers.overtaken or self.tokens
        return self.state is Ends.OPEN and not (waits or self.findings or self.undecided)

    def emit(self, exchange: Exchange) -> None:
        """Hand over an exchange, with what was odd on the connection since the last one."""
        if self.findings:
            exchange.findings[:0] = self.findings
            self.findings.clear()
        self.deliver(exchange)

    # Requests

    def request(self, header: RequestHeader | None, half: CapturedMessage) -> Exchange:
        """Register a request and return its exchange; None as header: a raw SASL token."""
        if header is None:
            exchange = self._token(half)
        else:
            api, version, correlation_id, client_id, known = header
            self.latest = correlation_id
            exchange = Exchange(self.peers, api, version, correlation_id, client_id)
            half.api, half.version = api, version
            exchange.answered = not (api.key == PRODUCE and known and wants_no_answer(half))
            self.tokens = tokens.expected_after(api, version)
            if api.key == tokens.SASL_HANDSHAKE:
                self.known = Known(self.known.topics, {"mechanism": tokens.mechanism_of(half)})
        exchange.request = half
        half.known = self.known
        if half.missing:
            exchange.findings.append(complaints.broken_off(half))
        if self.unmatched and self._meet(exchange):
            return exchange
        if exchange.answered:
            self._put_in_flight(exchange)
        else:
            if self._holds:
                self.stragglers.keep_silent(exchange, self.asked)
            self.emit(exchange)
        return exchange

    def _token(self, half: CapturedMessage) -> Exchange:
        """Return the exchange of a raw token; one without a handshake before it is from a client of 0.9."""
        if not self.tokens and "mechanism" not in self.known.facts:
            self.known = Known(self.known.topics, {"mechanism": tokens.DEFAULT_MECHANISM})
        self.tokens = (self.tokens or tokens.ROUNDS) - 1
        half.api = SASL_TOKEN
        return Exchange(self.peers, SASL_TOKEN, 0, 0, None)

    def _put_in_flight(self, exchange: Exchange) -> None:
        self.asked += 1
        self.in_flight.append(exchange)
        if not len(self.in_flight) % LOOK:
            self._make_room()

    def _make_room(self) -> None:
        """Give up the oldest requests where too many wait, or too large ones."""
        held = sum(len(exchange.request.data) for exchange in self.in_flight if exchange.request is not None)
        while len(self.in_flight) > MAX_IN_FLIGHT or held > MAX_BYTES:
            exchange = self.in_flight.popleft()
            held -= len(exchange.request.data) if exchange.request is not None else 0
            self.give_up(exchange, InFlightFull(MAX_IN_FLIGHT, MAX_BYTES))

    def _meet(self, exchange: Exchange) -> bool:
        """Pair a request with the response that came before it; return whether there was one."""
        for i, half in enumerate(self.unmatched):
            if _correlation_id(half.data)[0] == exchange.correlation_id and exchange.api is not SASL_TOKEN:
                del self.unmatched[i]
                self._pass_over(exchange)
                self._complete(exchange, half)
                return True
        return False

    def give_up(self, exchange: Exchange, why: complaints.NotAwaited | None = None) -> None:
        """Hand over a request without a response, with a finding that says `why`; a login's last token has none."""
        if exchange.api is SASL_TOKEN and self._ends_login(exchange):
            exchange.answered = False
        else:
            exchange.findings.append(complaints.unanswered(why))
            self.stragglers.remember(exchange, complaints.too_late())
        self.emit(exchange)

    def give_up_tokens(self) -> None:
        """Give up tokens where it is not known what comes next: their answers cannot be told from anything else."""
        while self.in_flight and self.in_flight[0].api is SASL_TOKEN:
            self.give_up(self.in_flight.popleft())

    def _ends_login(self, token: Exchange) -> bool:
        """Return whether a token ends a login in which the client has the last word, as a request came next."""
        followed = self.in_flight[0].api is not SASL_TOKEN if self.in_flight else not self.tokens
        return followed and tokens.client_speaks_last(self.known.facts)

    # Responses

    def response(self, half: CapturedMessage) -> Exchange | None:
        """Pair a response and return its exchange; None where its request is still to come, or was not seen."""
        self.answered += 1
        in_flight, data = self.in_flight, half.data
        first = in_flight[0] if in_flight else None
        if first is not None and first.api is SASL_TOKEN:
            behind = self.behind_tokens(data, 0, len(data))
            if behind is None:
                self._answer(in_flight.popleft(), half)
                return first
            self.give_up_tokens()
            first = behind
        correlation_id = _correlation_id(data)[0]
        if first is None or first.correlation_id != correlation_id:
            return self._response_out_of_turn(correlation_id, half)
        in_flight.popleft()
        self._answer(first, half)
        return first

    def behind_tokens(self, data: bytes | bytearray, start: int, size: int) -> Exchange | None:
        """Return the first request in flight behind raw tokens, if the response of `size` bytes at `start` is its.

        The last token may have no answer.
        """
        for exchange in self.in_flight:
            if exchange.api is not SASL_TOKEN:
                whole = size >= 4 and len(data) - start >= 4
                return exchange if whole and _correlation_id(data, start)[0] == exchange.correlation_id else None
        return None

    def expected(self, correlation_id: int) -> Exchange | None:
        """Return the request of this correlation id that a response may come for, due or not."""
        return self._flying(correlation_id) or self.stragglers.find(correlation_id)

    def _flying(self, correlation_id: int) -> Exchange | None:
        for exchange in self.in_flight:
            if exchange.correlation_id == correlation_id and exchange.api is not SASL_TOKEN:
                return exchange
        return None

    def _response_out_of_turn(self, correlation_id: int, half: CapturedMessage) -> Exchange | None:
        """Pair a response that is not to the oldest request in flight; return its exchange, None if there is none."""
        exchange = self._flying(correlation_id)
        if exchange is not None:
            self._pass_over(exchange)
            self.in_flight.popleft()
            self._answer(exchange, half)
            return exchange
        straggler = self.stragglers.take(correlation_id)
        if straggler is None:
            self._keep_unmatched(half)
            return None
        straggler.exchange.findings.append(straggler.finding)
        self._attach(straggler.exchange, half)
        if not straggler.emitted:
            self.emit(straggler.exchange)
        return straggler.exchange

    def _pass_over(self, exchange: Exchange) -> None:
        """Take the requests before this one out of flight: their responses are late, or lost with what is missing."""
        while self.in_flight and self.in_flight[0] is not exchange:
            passed = self.in_flight.popleft()
            if passed.api is SASL_TOKEN or self._lost_until is not None:
                self.give_up(passed)
            else:
                self.stragglers.overtake(passed, exchange.correlation_id, self.answered)
            self._forget_loss(passed)

    def _answer(self, exchange: Exchange, half: CapturedMessage) -> None:
        """Complete a request in flight; hand over the unmatched responses, whose requests would have come by now."""
        if self.unmatched or self._lost_until is not None or self.stragglers.wait:
            while self.unmatched:
                self.orphan(self.unmatched.popleft())
            self._forget_loss(exchange)
            for late, why in self.stragglers.overdue(self.answered):
                self.give_up(late, why)
            self.stragglers.pass_silent(self.asked - len(self.in_flight))
        self._complete(exchange, half)

    def _complete(self, exchange: Exchange, half: CapturedMessage) -> None:
        """Give the exchange its response and hand it over; a refused SaslHandshake ends the wait for tokens."""
        self._attach(exchange, half)
        if self.tokens and _is_handshake(exchange) and tokens.refused(half):
            self.tokens = 0
        self.emit(exchange)

    def _attach(self, exchange: Exchange, half: CapturedMessage) -> None:
        exchange.response = half
        half.api, half.version = exchange.api, exchange.version
        half.asked, half.known = exchange.request, self.known
        if half.missing:
            exchange.findings.append(complaints.broken_off(half))

    def _keep_unmatched(self, half: CapturedMessage) -> None:
        """Keep a response whose request may come yet."""
        self.unmatched.append(half)
        if len(self.unmatched) > MAX_UNMATCHED or sum(len(each.data) for each in self.unmatched) > MAX_BYTES:
            self.orphan(self.unmatched.popleft(), len(self.unmatched))

    def orphan(self, half: CapturedMessage, waiting: int = 0) -> None:
        """Hand over a response that no request was seen for: only its correlation id can be told."""
        exchange = Exchange(self.peers, None, 0, _correlation_id(half.data)[0], None)
        exchange.response = half
        exchange.findings.append(complaints.unasked(len(half.data) - 4, waiting))
        if half.missing:
            exchange.findings.append(complaints.broken_off(half))
        self.emit(exchange)

    def responses_lost(self) -> None:
        """Take note that bytes of the broker are missing or unreadable: they may have answered what is in flight."""
        for exchange in self.stragglers.give_up():
            self.give_up(exchange, ResponsesLost())
        self._lost_until = self.in_flight[-1] if self.in_flight else None

    def _forget_loss(self, exchange: Exchange) -> None:
        if exchange is self._lost_until:
            self._lost_until = None

    def end(self) -> None:
        """Take note that one direction has ended; once both have, hand over all that waits."""
        self.state = next_state(ENDS, self.state, Ending.END)
        if self.state is not Ends.CLOSED:
            return
        for exchange in self.stragglers.give_up():
            self.give_up(exchange)
        self.stragglers.end()
        while self.in_flight:
            self.give_up(self.in_flight.popleft())
        while self.unmatched:
            self.orphan(self.unmatched.popleft())
        for finding in self.findings:
            self.left_over(finding)
        self.findings.clear()


def _is_handshake(exchange: Exchange) -> bool:
    return exchange.api is not None and exchange.api.key == tokens.SASL_HANDSHAKE


@cache
def _up_to_acks(version: int) -> tuple[Reader, Reader]:
    """Return the readers of a Produce request's header, and of its fields up to `acks`: not of the records behind."""
    grammar = by_key(PRODUCE).at("request", version)
    names = [field.name for field in grammar.fields]
    fields = WireStruct(grammar.fields[: names.index("acks") + 1], None)
    return reader(header_grammar(by_key(PRODUCE), version, "request")), reader(fields)


def wants_no_answer(half: CapturedMessage) -> bool:
    """Return whether a Produce request says acks=0; False where it cannot be read so far."""
    read_head, read_acks = _up_to_acks(half.version)
    try:
        _, start = read_head(half.data, 0)
        return bool(read_acks(half.data, start)[0]["acks"] == 0)
    except UNREADABLE:
        return False
