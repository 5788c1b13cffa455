"""One connection's messages in, exchanges out, with what is odd about them as findings.

A request is registered from its header alone, before its body is looked at. Responses must come in the order of the
requests (the guide's "Network"), but are paired by their correlation ids, whatever the order (see in_flight.py). Either
half may be missing from the capture, or come first where the capture is shuffled, so both wait for each other: within
bounds, and a finding says what was given up for them.

After SaslHandshake v0 the frames are raw tokens (see messages/handshake.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain

from ...budget import MEMORY, SMALL, Held
from ...protocol.findings import Finding, Kind
from ...protocol.findings import facts as of
from ...protocol.findings.facts import FactKind, PlainFact
from ...protocol.findings.faults import ValueFact
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ..messages import handshake
from ..messages.exchange import CapturedMessage, Exchange
from ..messages.known import Known
from ..messages.message import carries_secrets
from ..messages.peers import Peers
from ..messages.rejection import note_rejection
from .identify import API_VERSIONS, LIKELY, Before, Candidate, identify
from .in_flight import (
    LOOK,
    MAX_BYTES,
    MAX_IN_FLIGHT,
    InFlight,
    Repeats,
    Stragglers,
    Unmatched,
    correlation_id_at,
    reads,
)
from .requests import Prefix, Prefixes, RequestHeader, fits, of_sequence, read_prefix
from .search import REFUSED

HALF = 600
"""Bytes of memory that a half takes beside its own, with its exchange."""


def _ignore(*_: object) -> None:
    """Do nothing: what `left_over` is unless the caller gives another, and `deliver` when all was delivered."""


@dataclass(slots=True, eq=False, repr=False)
class Pairing:
    """Pair the halves of one connection's exchanges and hand them to `deliver`.

    `left_over` takes the findings that no exchange has when the connection is over. `whole` says that the capture holds
    the connection's beginning, `latest` is the newest request's correlation id, None before the first, `tokens` is how
    many of the client's next frames may be raw SASL tokens, `known` what helps to read later messages, `unseen` what is
    known of a connection with responses to nobody. `asked` counts the requests that want a response, `answered` the
    responses. `undecided` is set by who needs to see the next request. `holds`: what `deliver` is given may still
    change until it is final; without that, a request that wants no response (acks=0) is not remembered, and a response
    to it is one to no request.
    """

    peers: Peers
    deliver: Callable[[Exchange], None]
    left_over: Callable[[Peers, Finding], None] = _ignore
    _: KW_ONLY
    whole: bool
    known: Known = field(default_factory=Known.nothing)
    holds: bool = False
    held: Held = field(default_factory=Held)
    open_ends: int = 2
    in_flight: InFlight = field(default_factory=InFlight)
    unmatched: Unmatched = field(default_factory=Unmatched)
    stragglers: Stragglers = field(default_factory=Stragglers)
    findings: list[Finding] = field(default_factory=list)
    prefixes: Prefixes = field(default_factory=Prefixes)
    tokens: int = 0
    asked: int = 0
    answered: int = 0
    latest: int | None = None
    undecided: bool = False
    handshake: int | None = None
    """The version of the last SaslHandshake request, until its tokens are through."""
    unseen: Before | None = None
    begun: Repeats = field(default_factory=Repeats)
    unsolicited: Repeats = field(default_factory=Repeats)
    _holds_much: bool = False
    _lost_until: Exchange | None = None

    def let_go(self) -> None:
        """Hand over what waits, as all connections hold too much."""
        while self.unmatched:
            self.orphan(self.unmatched.pop(0))
        while self.in_flight:
            self.give_up(self.in_flight.pop(0), FactKind.WAITED_TOO_MUCH.of(MEMORY.connections >> 20))
        self._hold()

    @property
    def quiescent(self) -> bool:
        """Whether nothing waits: no request for its response, no token, no word on what was odd."""
        waits = self.in_flight or self.unmatched or self.stragglers.overtaken or self.tokens
        return self.open_ends == 2 and not (waits or self.findings or self.undecided)

    @property
    def is_usual(self) -> bool:
        """Whether requests and responses went on as usual so far, and nothing but requests in flight waits."""
        waits = self.unmatched or self.stragglers.wait or self.tokens or self._lost_until or self._holds_much
        begun = self.open_ends == 2 and self.latest is not None and self.answered > 0
        return begun and not (waits or self.findings or self.undecided or self.handshake is not None)

    def request(self, header: RequestHeader | None, half: CapturedMessage) -> Exchange:
        """Register a request and return its exchange; None as header: a raw SASL token."""
        if header is None:
            if not self.tokens and "mechanism" not in self.known.facts:  # of a client of 0.9
                self.known = self.known.and_more("mechanism", "GSSAPI")  # what brokers take such tokens for
            self.tokens = (self.tokens or handshake.ROUNDS) - 1
            half.api = SASL_TOKEN
            return self._register(Exchange(self.peers, SASL_TOKEN, 0, 0, None), half)
        api, version, correlation_id, client_id, *_ = header
        exchange = Exchange(self.peers, api, version, correlation_id, client_id)
        half.api, half.version = api, version
        prefix = read_prefix(header, half.data)
        if prefix is not None:
            exchange.answered = prefix.wants_answer
        early, self.latest = self._is_new(correlation_id), correlation_id
        self.tokens = handshake.ROUNDS if api.key == handshake.SASL_HANDSHAKE and version == 0 else 0
        if self.handshake == 0 and api.key == handshake.SASL_AUTHENTICATE:
            mistake = of_sequence("sasl-authenticate-after-v0", api.name, version, 0, len(half.data))
            exchange.findings.append(mistake)
        self.handshake = version if api.key == handshake.SASL_HANDSHAKE else None
        if api.key == handshake.SASL_HANDSHAKE:
            self.known = self.known.and_more("mechanism", handshake.body_of(half).get("mechanism"))
        elif api.key == API_VERSIONS and (software := handshake.software_in(half)):
            self.known = self.known.and_more("software", software)
        elif prefix is not None:
            self.prefixes.remember(prefix, half.data)
        return self._register(exchange, half, early=early)

    def repeated(self, prefix: Prefix, correlation_id: int, half: CapturedMessage) -> Exchange:
        """Register a request with a prefix that is remembered, where no token is due, and return its exchange."""
        _, _, half.api, half.version, client_id, wants_answer = prefix
        exchange = Exchange(self.peers, half.api, half.version, correlation_id, client_id)
        exchange.answered = wants_answer
        early, self.latest = self._is_new(correlation_id), correlation_id
        self.handshake = None
        return self._register(exchange, half, early=early)

    def _register(self, exchange: Exchange, half: CapturedMessage, *, early: bool = True) -> Exchange:
        """Let a request wait for its response; `early`: that may be here."""
        exchange.request, half.known = half, self.known
        exchange.repeats = self.begun.count(half.first_time, exchange.correlation_id)
        if half.missing:
            exchange.findings.append(broken_off(half))
        if self.unmatched and exchange.api is not SASL_TOKEN:
            before = self.unmatched.take(exchange, early=early)
            if before is not None:
                self._pass_over(exchange, self.answered)
                self._complete(exchange, before)
                return exchange
        if exchange.answered:
            self.asked += 1
            if self.in_flight and self.whole and self._lost_until is None:
                api, number = exchange.api, exchange.correlation_id
                newest = self.in_flight[-4:]  # a client that reuses a correlation id does so at once
                again = any(one.correlation_id == number and one.api is not SASL_TOKEN for one in newest)
                if again and api is not None and api is not SASL_TOKEN:
                    known = api.name, exchange.version, 4, 4, str(number)
                    exchange.findings.append(of_sequence("reused-correlation-id", *known))
            self.in_flight.append(exchange)
            if not len(self.in_flight) % LOOK or len(half.data) > SMALL:
                for oldest in self.in_flight.surplus():
                    self.give_up(oldest, FactKind.IN_FLIGHT_FULL.of(requests=MAX_IN_FLIGHT, bytes=MAX_BYTES))
                self._hold()
        else:
            if self.holds:
                self.stragglers.keep_silent(exchange, self.asked)
            self._hand_over(exchange)
        return exchange

    def _is_new(self, correlation_id: int) -> bool:
        """Return whether a response of this correlation id that came before is the next request's."""
        return correlation_id != self.latest if self.latest is not None else self.whole

    def give_up(self, exchange: Exchange, why: NotAwaited | None = None) -> None:
        """Hand over a request without a response, with a finding that says `why`; a login's last token has none."""
        last = self.in_flight[0].api is not SASL_TOKEN if self.in_flight else not self.tokens
        mechanism = self.known.facts.get("mechanism") or ""
        if exchange.api is SASL_TOKEN and last and handshake.CLIENT_SPEAKS_LAST.get(mechanism, False):
            exchange.answered = False
        else:
            exchange.findings.append(Finding(Kind.NO_RESPONSE, "request", facts=why))
            half = exchange.request
            if half is not None and (large := too_large(half.data, half.size - 4)) is not None:
                exchange.findings.append(large)
            self.stragglers.remember(
                exchange, Finding(Kind.OUT_OF_ORDER, "response", facts=PlainFact.ANSWERED_TOO_LATE)
            )
        note_rejection(exchange)
        self._hand_over(exchange)

    def _hold(self) -> None:
        """Say how many bytes wait here for their other halves."""
        asked = (exchange.request for exchange in self.in_flight if exchange.request is not None)
        size = sum(len(half.data) + HALF for half in chain(self.unmatched, asked))
        self._holds_much = size > SMALL
        self.held.hold(self, size if self._holds_much else 0)

    def give_up_tokens(self) -> None:
        """Give up tokens where it is not known what comes next: their answers cannot be told from anything else."""
        while self.in_flight and self.in_flight[0].api is SASL_TOKEN:
            self.give_up(self.in_flight.pop(0))

    def response(self, half: CapturedMessage) -> Exchange | None:
        """Pair a response and return its exchange; None where its request is still to come, or was not seen."""
        in_flight, data = self.in_flight, half.data
        first = in_flight[0] if in_flight else None
        if first is not None and first.api is SASL_TOKEN:
            behind = in_flight.behind_tokens(data, 0, len(data))
            if behind is None:
                return self.due(half)
            self.give_up_tokens()
            first = behind
        correlation_id = correlation_id_at(data)[0]
        if first is None or first.correlation_id != correlation_id:
            exchange = in_flight.find(correlation_id)
            if exchange is not None:
                self._pass_over(exchange, self.answered + 1)
                return self.due(half)
            self.answered += 1
            straggler = self.stragglers.take(correlation_id)
            if straggler is None:
                self._keep(half)
                return None
            straggler.exchange.findings.append(straggler.finding)
            self._complete(straggler.exchange, half, emitted=straggler.emitted)
            return straggler.exchange
        request, api = first.request, first.api  # one that came before the request may answer one that is lost
        early = not self.whole and request is not None and api is not None and half.last_packet <= request.first_packet
        if early and api is not None and not (correlation_id and fits(api, first.version, "response", data)):
            self.answered += 1
            self._keep(half)
            return None
        return self.due(half)

    def due(self, half: CapturedMessage) -> Exchange:
        """Pair a response with the oldest request in flight, whose it is, and return their exchange."""
        if self._lost_until is not None:
            number = self.in_flight[0].correlation_id  # if several have it, the newest that fits is meant
            alike = [one for one in self.in_flight if one.correlation_id == number and one.api is not SASL_TOKEN]
            meant = next((one for one in reversed(alike) if reads(one, half)), None) if len(alike) > 1 else None
            if meant is not None:
                self._pass_over(meant, self.answered + 1)
        self.answered += 1
        exchange = self.in_flight.pop(0)
        if self._holds_much and not self.in_flight:
            self._hold()
        while self.unmatched:  # their requests would have come by now
            self.orphan(self.unmatched.pop(0))
        if exchange is self._lost_until:
            self._lost_until = None
        if self.stragglers.wait:
            for late, why in self.stragglers.overdue(self.answered):
                self.give_up(late, why)
            self.stragglers.pass_silent(self.asked - len(self.in_flight))
        self._complete(exchange, half)
        return exchange

    def expected(self, correlation_id: int) -> Exchange | None:
        """Return the request of this correlation id that a response may come for, due or not."""
        return self.in_flight.find(correlation_id) or self.stragglers.find(correlation_id)

    def _keep(self, half: CapturedMessage) -> None:
        """Let a response wait for its request."""
        if (oldest := self.unmatched.keep(half)) is not None:
            self.orphan(oldest, len(self.unmatched))
        self._hold()

    def _pass_over(self, exchange: Exchange, answered: int) -> None:
        """Take the requests before this one out of flight: their responses are late, or lost with what is missing.

        This one has the `answered`-th response of all.
        """
        while self.in_flight and self.in_flight[0] is not exchange:
            passed = self.in_flight.pop(0)
            if passed.api is SASL_TOKEN or self._lost_until is not None:
                self.give_up(passed)
            else:
                self.stragglers.overtake(passed, exchange.correlation_id, answered)
            if passed is self._lost_until:
                self._lost_until = None

    def _complete(self, exchange: Exchange, half: CapturedMessage, *, emitted: bool = False) -> None:
        """Give the exchange its response, and hand it over unless that was done before (`emitted`).

        A refused SaslHandshake ends the wait for tokens.
        """
        exchange.response = half
        half.api, half.version = exchange.api, exchange.version
        half.asked, half.known = exchange.request, self.known
        if half.missing:
            exchange.findings.append(broken_off(half))
        note_rejection(exchange)
        if self.tokens and exchange.api is not None and exchange.api.key == handshake.SASL_HANDSHAKE:
            self.tokens = 0 if handshake.body_of(half).get("error_code") else self.tokens
        if not emitted:
            self._hand_over(exchange)

    def _hand_over(self, exchange: Exchange) -> None:
        """Hand over an exchange, with what was odd on the connection since the last one."""
        if self.findings:
            exchange.findings[:0] = self.findings
            self.findings.clear()
        self.deliver(exchange)

    def orphan(self, half: CapturedMessage, waiting: int = 0) -> None:
        """Hand over a response that no request was seen for, as what its bytes make it, if anything."""
        if self.unseen is None:
            self.unseen = Before()
        candidates = identify(half.data, self.unseen) if not half.missing else []
        secret = [carries_secrets(one.api.at("response", one.version)) for one in candidates]
        read = bool(candidates) and (secret[0] or not any(secret))  # read as the first, another's might be shown
        exchange = Exchange(self.peers, None, 0, correlation_id_at(half.data)[0], None)
        exchange.response = half
        exchange.repeats = self.unsolicited.count(half.first_time, exchange.correlation_id)
        if read:
            exchange.api = half.api = candidates[0].api
            exchange.version = half.version = candidates[0].version
            half.known = self.known
        exchange.findings.append(unasked(len(half.data) - 4, waiting, candidates, read=read))
        if half.missing:
            exchange.findings.append(broken_off(half))
        self._hand_over(exchange)

    def responses_lost(self) -> None:
        """Take note that bytes of the broker are missing or unreadable: they may have answered what is in flight."""
        for exchange in self.stragglers.give_up():
            self.give_up(exchange, PlainFact.RESPONSES_LOST)
        self._lost_until = self.in_flight[-1] if self.in_flight else None

    def end(self) -> None:
        """Take note that one direction has ended; once both have, hand over all that waits."""
        self.open_ends -= 1
        if self.open_ends:
            return
        for exchange in self.stragglers.give_up():
            self.give_up(exchange)
        self.stragglers.end()
        while self.in_flight:
            self.give_up(self.in_flight.pop(0))
        while self.unmatched:
            self.orphan(self.unmatched.pop(0))
        for finding in self.findings:
            self.left_over(self.peers, finding)
        self.findings.clear()
        self.held.hold(self, 0)
        self.deliver = _ignore  # whom it led to leads back here: now they are freed without a search


NotAwaited = ValueFact | of.PlainFact
"""Why a response is waited for no longer."""


def broken_off(half: CapturedMessage) -> Finding:
    """Make the finding for a message whose end is missing."""
    place = half.direction, "", len(half.data), half.missing
    if half.held:
        return Finding(Kind.TRUNCATED, *place, of.PlainFact.BROKEN_OFF)
    return Finding(Kind.MEMORY_LIMIT, *place, FactKind.NOT_HELD.of(MEMORY.connections >> 20))


def too_large(data: bytes, size: int) -> Finding | None:
    """Make the finding for a request that begins so after its size; None if brokers take it, or kdbg knows it not."""
    key, version = int.from_bytes(data[:2]), int.from_bytes(data[2:4])
    api = find(key) if size > REFUSED and len(data) >= 4 else None
    if api is None or version not in api.versions:
        return None
    facts = FactKind.REQUEST_TOO_LARGE.of(api=api.name, version=version, size=size, most=REFUSED)
    return Finding(Kind.REQUEST_TOO_LARGE, "request", "", 0, facts=facts)


def unasked(size: int, waiting: int = 0, candidates: Sequence[Candidate] = (), *, read: bool = False) -> Finding:
    """Make the finding for a response to no request that was seen.

    `size` is that of its body in bytes; `waiting` is how many others it was given up for, else 0; `candidates` are what
    it may be by its bytes, and `read` says that it is read as the first.
    """
    facts: of.Answers | of.PlainFact | ValueFact
    if candidates:
        named = (
            (one.api.key, one.api.name, (one.version, *(other for other in one.versions if other != one.version)))
            for one in candidates
        )
        facts = of.Answers(tuple(named), len(candidates) < 2 or candidates[1].bits - candidates[0].bits >= LIKELY, read)
    else:
        facts = FactKind.REQUEST_UNSEEN.of(waiting) if waiting else of.PlainFact.REQUEST_UNSEEN
    return Finding(Kind.UNSOLICITED_RESPONSE, "response", "body", 4, size, facts)
