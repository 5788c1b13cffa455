"""One connection's messages in, exchanges out.

A request is registered from its header alone, before its body is looked at. Responses come in the order of the
requests (the guide's "Network"); the correlation id confirms it, and tells which request was never answered where one
is passed over. Either half may be missing from the capture, or come first where the capture is shuffled, so both wait
for each other. After SaslHandshake v0 the frames are raw tokens until a request proves itself again; clients of 0.9
send GSSAPI tokens without any handshake ("SASL Authentication Sequence" in the 0.10.1 guide).
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from functools import cache

from ..findings import Finding, Kind
from ..findings.facts import BrokenOff, RequestUnseen
from ..grammars import by_key
from ..grammars.sasl import api as SASL_TOKEN
from ..messages.exchange import CapturedMessage, Exchange, Known, Peers
from ..messages.message import header_grammar
from ..wire.nodes import WireStruct
from ..wire.readings.compiled import UNREADABLE, Reader, reader
from .requests import RequestHeader

PRODUCE, SASL_HANDSHAKE = 0, 17
ROUNDS = 16
"""The most raw tokens a client sends to authenticate once: no mechanism needs more than a few."""
MAX_WAITING, MAX_EARLY, MAX_HELD = 10_000, 100, 64 << 20
"""Halves that wait for the other one, by number and by bytes; beyond that the oldest are given up, to save memory."""
LOOK = 64
"""Halves after which the bytes are counted."""
_correlation_id = struct.Struct(">i").unpack_from


def _nothing() -> None:
    """What is done where nobody asked for anything."""


class Pairing:
    """Pairs the halves of one connection's exchanges and hands them to `deliver`.

    `whole` says that the capture holds the connection's beginning, `latest` is the newest request's correlation id,
    `tokens` is how many of the client's next frames may be raw SASL tokens, `known` what helps to read later messages.
    Who needs to know the next request sets `undecided`, and `retry` is called when it came; `closed` is called once
    both directions have ended.
    """

    def __init__(
        self, peers: Peers, deliver: Callable[[Exchange], None], *, whole: bool, known: Known | None = None
    ) -> None:
        self.peers, self.deliver, self.whole = peers, deliver, whole
        self.known = known or Known.nothing()
        self.waiting: deque[Exchange] = deque()
        self.early: deque[CapturedMessage] = deque()
        self.findings: list[Finding] = []
        self.latest = self.tokens = 0
        self.undecided = False
        self.retry: Callable[[], None] = _nothing
        self.closed: Callable[[Pairing], None] = lambda conversation: None
        self._open = 2

    @property
    def resting(self) -> bool:
        """Whether nothing waits: no request for its response, no token, no word on what was odd."""
        return self._open == 2 and not (self.waiting or self.early or self.findings or self.tokens or self.undecided)

    def emit(self, exchange: Exchange) -> None:
        """Hand over an exchange, with what was odd on the connection since the last one."""
        if self.findings:
            exchange.findings[:0] = self.findings
            self.findings.clear()
        self.deliver(exchange)

    def request(self, header: RequestHeader | None, half: CapturedMessage) -> None:
        """A request came; None as header: a raw SASL token."""
        if header is None:
            exchange = Exchange(self.peers, SASL_TOKEN, 0, 0, None)
            half.api = SASL_TOKEN
            self.tokens = (self.tokens or ROUNDS) - 1
        else:
            api, version, correlation_id, client_id, known = header
            self.latest = correlation_id
            exchange = Exchange(self.peers, api, version, correlation_id, client_id)
            half.api, half.version = api, version
            self.tokens = ROUNDS if api.key == SASL_HANDSHAKE and version == 0 else 0
            exchange.answered = not (api.key == PRODUCE and known and wants_no_answer(half))
            if api.key == SASL_HANDSHAKE:
                self._handshake(half)
        exchange.request = half
        half.known = self.known
        if half.missing:
            exchange.findings.append(_broken_off(half))
        if not exchange.answered:
            self.emit(exchange)
        elif not (self.early and self.meet(exchange)):
            self._wait(exchange)

    def _handshake(self, half: CapturedMessage) -> None:
        """The mechanism that a client chose: it says how the tokens that follow are laid out."""
        message = half.message()
        mechanism = message.body.get("mechanism") if message is not None else None
        self.known = Known(self.known.topics, {"mechanism": mechanism})

    def _wait(self, exchange: Exchange) -> None:
        """A request waits for its response; what could not be told without knowing it, may be told now."""
        self.waiting.append(exchange)
        if not len(self.waiting) % LOOK:
            self._make_room()
        if self.undecided:
            self.undecided = False
            self.retry()

    def _make_room(self) -> None:
        """Give up the oldest requests where too many wait, or too large ones."""
        held = sum(len(exchange.request.data) for exchange in self.waiting if exchange.request is not None)
        while len(self.waiting) > MAX_WAITING or held > MAX_HELD:
            exchange = self.waiting.popleft()
            held -= len(exchange.request.data) if exchange.request is not None else 0
            self.give_up(exchange)

    def meet(self, exchange: Exchange) -> bool:
        """Give a request the response that came before it. What is older on either side has missed the other."""
        for i, half in enumerate(self.early):
            if _correlation_id(half.data)[0] == exchange.correlation_id:
                while self.waiting:
                    self.give_up(self.waiting.popleft())
                for _ in range(i):
                    self.orphan(self.early.popleft())
                self.complete(exchange, self.early.popleft())
                return True
        return False

    def response(self, half: CapturedMessage) -> None:
        """A response came."""
        waiting = self.waiting
        if waiting and waiting[0].api is SASL_TOKEN:
            self._answer(waiting.popleft(), half)
            return
        correlation_id = _correlation_id(half.data)[0]
        if waiting and waiting[0].correlation_id == correlation_id:
            self._answer(waiting.popleft(), half)
        elif (exchange := self.expected(correlation_id)) is not None:
            while waiting[0] is not exchange:
                self.give_up(waiting.popleft())
            self._answer(waiting.popleft(), half)
        else:
            self.early.append(half)
            if len(self.early) > MAX_EARLY or sum(len(early.data) for early in self.early) > MAX_HELD:
                self.orphan(self.early.popleft())

    def _answer(self, exchange: Exchange, half: CapturedMessage) -> None:
        """The response that a request waited for: those before it would have met theirs by now, had it been seen."""
        while self.early:
            self.orphan(self.early.popleft())
        self.complete(exchange, half)

    def expected(self, correlation_id: int) -> Exchange | None:
        """The request that waits for a response of this correlation id."""
        for exchange in self.waiting:
            if exchange.correlation_id == correlation_id and exchange.api is not SASL_TOKEN:
                return exchange
        return None

    def complete(self, exchange: Exchange, half: CapturedMessage) -> None:
        """Both halves are there."""
        exchange.response = half
        half.api, half.version = exchange.api, exchange.version
        half.asked, half.known = exchange.request, self.known
        if half.missing:
            exchange.findings.append(_broken_off(half))
        if self.tokens and exchange.api is not None and exchange.api.key == SASL_HANDSHAKE:
            answer = half.message()
            if answer is not None and answer.body.get("error_code"):
                self.tokens = 0
        self.emit(exchange)

    def give_up(self, exchange: Exchange) -> None:
        """A request that no response will come for."""
        exchange.findings.append(Finding(Kind.UNANSWERED, "request"))
        self.emit(exchange)

    def give_up_tokens(self) -> None:
        """Where it is not known what comes next, a token's answer cannot be told from anything else."""
        while self.waiting and self.waiting[0].api is SASL_TOKEN:
            self.give_up(self.waiting.popleft())

    def orphan(self, half: CapturedMessage) -> None:
        """A response that no request was seen for: only its correlation id can be told."""
        exchange = Exchange(self.peers, None, 0, _correlation_id(half.data)[0], None)
        exchange.response = half
        size = len(half.data) - 4
        exchange.findings.append(Finding(Kind.UNASKED, "response", "body", 4, size, RequestUnseen()))
        if half.missing:
            exchange.findings.append(_broken_off(half))
        self.emit(exchange)

    def end(self) -> None:
        """One direction has ended; once both have, nothing can be waited for."""
        self._open -= 1
        if self._open:
            return
        while self.waiting:
            self.give_up(self.waiting.popleft())
        while self.early:
            self.orphan(self.early.popleft())
        self.closed(self)


def _broken_off(half: CapturedMessage) -> Finding:
    return Finding(Kind.TRUNCATED, half.direction, "", len(half.data), half.missing, BrokenOff())


@cache
def _up_to_acks(version: int) -> tuple[Reader, Reader]:
    """The readers of a Produce request's header, and of its fields up to `acks`: not of the records behind."""
    grammar = by_key(PRODUCE).at("request", version)
    names = [field.name for field in grammar.fields]
    fields = WireStruct(grammar.fields[: names.index("acks") + 1], None)
    return reader(header_grammar(by_key(PRODUCE), version, "request")), reader(fields)


def wants_no_answer(half: CapturedMessage) -> bool:
    """Whether a Produce request says acks=0."""
    read_head, read_acks = _up_to_acks(half.version)
    try:
        _, start = read_head(half.data, 0)
        return bool(read_acks(half.data, start)[0]["acks"] == 0)
    except UNREADABLE:
        return False
