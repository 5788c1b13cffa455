"""The first bytes of a connection: does it speak Kafka, and which end is the client?

Both directions are held until one of them shows a request: at its very beginning where the connection was seen to
open, else at the first place that proves itself. Where one side is silent, responses show the broker. TLS is handed on.
What is neither is let go, with a word on what it looks like. A preamble (foreign.py) is passed over before all that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...budget import Budget
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind, PlainFact
from ...streams.tcp.stream import Event, Receiver, replay
from ..messages.peers import Via
from . import identify, requests
from .foreign import LONGEST, LONGEST_BEGINNING, PreambleEnd, ProxyRefused, Read, begins, is_tls, looks_like
from .search import Buffer, Search, size_at

PATIENCE_WHOLE, PATIENCE_MIDSTREAM = 1 << 16, 16 << 20
"""Bytes looked at while no request shows: few where the capture saw the connection open: Kafka begins with one."""
HELD = 4 << 20
"""Bytes held of one direction; the oldest are given up, for they have been looked at."""
ENOUGH = 3
"""Responses in a row by which a broker is known whose client is not heard."""


@dataclass(slots=True, eq=False, repr=False)
class HeldSide:
    """tcp.Receiver of one direction while the connection is unknown. `run` is what came since the last gap.

    `gapless`: nothing is missing since the first byte. `guess`: it seems to hold requests.
    """

    classifier: Classifier
    first: bytes = b""
    run: bytearray = field(default_factory=bytearray)
    held: int = 0
    passed: int = 0
    lost: int = 0
    guess: bool = False
    gapless: bool = True
    _search: Search | None = None
    _events: list[Event] = field(default_factory=list)

    def data(self, payload: bytes, time: int, number: int) -> None:
        self._events.append((payload, time, number))
        self.held += len(payload)
        self.classifier.budget.left -= len(payload)
        self.run += payload
        if len(self.first) < LONGEST_BEGINNING:
            self.first += payload[: LONGEST_BEGINNING - len(self.first)]
        self.classifier.look(self)
        if self.held > HELD:
            self._forget()

    def gap(self, length: int, time: int, number: int) -> None:
        self.gapless = False
        self._events.append((length, time, number))
        self.guess = self.guess or _is_request(self.run)
        if not self.guess and self.classifier.certain and not self.passed and len(self._events) <= 2:
            size = size_at(self.run)[0] if len(self.run) >= 4 else -1  # a snap length may have taken a request's end
            cut = 4 + size - len(self.run) == length and size >= 0
            self.guess = cut and requests.read_cut_header(self.run, 4, size) is not None
        self.classifier.look(self, final=True)
        self.run.clear()
        self._search = None

    def end(self, time: int, number: int) -> None:
        self._events.append((None, time, number))
        self.guess = self.guess or _is_request(self.run)
        self.classifier.end(self)

    @property
    def intact(self) -> bool:
        """Whether the capture holds everything since the connection opened."""
        return self.gapless and self.classifier.certain

    @property
    def silent(self) -> bool:
        """Whether the capture holds nothing of this side."""
        return not (self.held or self.passed or self.lost or self._events)

    @property
    def over(self) -> bool:
        """Whether its end has come."""
        return bool(self._events) and self._events[-1][0] is None

    def beginning(self, most: int = PATIENCE_WHOLE) -> bytes:
        """Return the first bytes held, up to a gap or a limit."""
        head = bytearray()
        for what, _, _ in self._events:
            if not isinstance(what, bytes) or len(head) > most:
                break
            head += what
        return bytes(head)

    def shows_request(self, final: bool) -> bool:
        """Return whether it begins with a request, or one that proves itself stands in what came since the last gap."""
        run = self.run
        token = len(run) > 4 and run[4] == 0x60 and int.from_bytes(run[:4], "big") == len(run) - 4
        if self.intact and (requests.begins(run) is not None or token):  # one of GSSAPI without a handshake, of 0.9
            return True
        if self._search is None:
            self._search = Search(requests.AnyRequest())
        return self._search.find(run, final=final) is not None

    def starts_with_frame(self) -> bool:
        """Return whether the first byte held begins a frame: the connection's first byte, or what seems a request."""
        if self.passed or self.classifier.certain:
            return not self.passed
        return _is_request(self.beginning(requests.LONGEST_HEADER))

    def pass_over(self, length: int) -> None:
        """Forget the first bytes of all, which are a preamble."""
        self.held -= length
        self.classifier.budget.left += length
        del self.run[:length]
        self.first = bytes(self.run[:LONGEST_BEGINNING])
        events, self._events = self._events, []
        for what, time, number in events:
            if isinstance(what, bytes):
                what, length = what[length:], max(0, length - len(what))
            if what != b"":
                self._events.append((what, time, number))

    def hand_over(self, receiver: Receiver, lost: int) -> None:
        """Give a receiver what was held; the bytes that were given up are a gap."""
        if lost:
            receiver.gap(lost, *self._events[0][1:])
        replay(self.release(), receiver)

    def release(self) -> list[Event]:
        """Hold nothing any more; return what was held."""
        self.classifier.budget.left += self.held
        self.held = 0
        self.run.clear()
        events, self._events = self._events, []
        return events

    def _forget(self) -> None:
        """Give up the oldest bytes held until half of HELD is left."""
        self.guess = self.guess or _is_request(self.run)
        given_up = 0
        while self.held > HELD // 2:
            what = self._events[given_up][0]
            given_up += 1
            if isinstance(what, bytes):
                self.held -= len(what)
                self.passed += len(what)
                self.classifier.budget.left += len(what)
            else:
                self.lost += what or 0
        del self._events[:given_up]
        idle = max(len(self.run) - self.held, 0)
        del self.run[:idle]
        if self._search is not None:
            self._search.dropped(idle)


class HasHandshake(Protocol):
    """What a classifier looks at: a connection, or what was decrypted of one."""

    @property
    def handshake(self) -> bool:
        """Whether the capture saw it open, as later packets may tell."""


class Classifier:
    """Holds what both sides of a channel sent until it is known what it is; then calls one of its callbacks, once,
    with the channel first.

    Without `tls`, TLS and a preamble are like any other protocol. `via` is what the preamble told, and
    `whole` that the capture holds all of it. After the callback
    it has no sides any more: all is freed as soon as the connection has other receivers.
    """

    __slots__ = (
        "_channel", "_ends", "_kafka", "_other", "_preamble", "_seeks_preamble", "_tls", "budget", "open", "sides",
        "via", "whole",
    )  # fmt: skip
    budget: Budget
    open: bool
    whole: bool

    def __init__(
        self,
        channel: HasHandshake,
        budget: Budget,
        kafka: Callable[[Any, Classifier, int], None],
        other: Callable[[Any, Finding | None], None],
        tls: Callable[[Any, Classifier], None] | None = None,
    ) -> None:
        self._channel, self.budget, self._kafka, self._other, self._tls = channel, budget, kafka, other, tls
        self.sides: tuple[HeldSide, HeldSide] = HeldSide(self), HeldSide(self)
        self.open, self._ends = True, 0
        self.via: Via | None = None
        self._preamble: Read | None = None
        self._seeks_preamble, self.whole = tls is not None, True

    @property
    def certain(self) -> bool:
        """Whether the capture saw the connection open, as later packets may tell, and all of a preamble."""
        return self._channel.handshake and self.whole

    def look(self, side: HeldSide, *, final: bool = False) -> None:
        """Decide what the connection speaks, if it can be decided now; `final`: the run of bytes has ended."""
        if self.open and self._seeks_preamble:
            sent, answered = self.sides
            if self._preamble is None and sent.intact and not sent.passed:
                self._preamble = begins(sent.first, answered.first)
            if self._preamble is not None:
                self._pass_preamble(self._preamble)
                for one in (sent, answered):
                    if not self._seeks_preamble:
                        self._recognise(one, one.over or (final and one is side))
                return
        self._recognise(side, final)

    def _pass_preamble(self, read: Read) -> None:
        """Pass over a preamble, once it has come; seek none any more where these bytes are something else."""
        sent, answered = self.sides
        found = read(bytes(sent.run), bytes(answered.run))
        self.whole = sent.gapless and answered.gapless
        longest = max(sent.held, answered.held)
        if not self.whole or self._ends == 2 or longest > LONGEST or self.budget.left < 0:
            self._seeks_preamble = False
        if self.whole and isinstance(found, PreambleEnd):
            self._seeks_preamble, self.via = False, found.via
            sent.pass_over(found.sent)
            answered.pass_over(found.answered)
        elif self.whole and isinstance(found, ProxyRefused):
            size, facts = sent.held + answered.held, FactKind.FOREIGN.of(found.what)
            self._let_go(Finding(Kind.NOT_KAFKA, length=size, facts=facts))

    def _recognise(self, side: HeldSide, final: bool) -> None:
        if not self.open:
            return
        sent, answered = self.sides
        other = sent if side is answered else answered
        if not (self.certain and side is answered) and side.shows_request(final):
            self._decide(side)
        elif other.silent and self._is_broker(side, ENOUGH):
            self._decide(other)
        elif self._tls is not None and is_tls(side.first):
            self.open = False
            self._tls(self._channel, self)
            del self.sides
        elif self.budget.left < 0 or self._seen > self._patience or self._is_other(side):
            self._settle()

    def end(self, side: HeldSide) -> None:
        """Take note that one direction has ended; once both have, go by the likeliest guess."""
        self._ends += 1
        self.look(side, final=True)
        if self.open and self._ends == 2:
            self._settle()

    def _is_broker(self, side: HeldSide, frames: int) -> bool:
        """Return whether a side begins with so many responses, where its requests are not to be seen."""
        if (self.certain and side is self.sides[0]) or side.passed:
            return False
        return identify.begin(side.beginning(), frames)

    def _is_other(self, side: HeldSide) -> bool:
        """Return whether a side's first bytes are another protocol's; without the opening, only TLS counts."""
        return is_tls(side.first) or (self.certain and bool(looks_like(side.first)))

    @property
    def _seen(self) -> int:
        return sum(side.held + side.passed for side in self.sides)

    @property
    def _patience(self) -> int:
        return PATIENCE_WHOLE if self.sides[0].intact else PATIENCE_MIDSTREAM

    def _settle(self) -> None:
        """Take the side that seemed to begin with a request for the client's; without one, give the connection up.

        One whose first request is written wrong begins with one, too.
        """
        if self.sides[0].intact and requests.misframed_request(self.sides[0].beginning()) is not None:
            self._decide(self.sides[0])
            return
        for side in self.sides[: 1 if self.certain else 2]:
            if side.guess and not self._is_other(side):
                self._decide(side)
                return
        for client, broker in (self.sides, self.sides[::-1]):
            if self._is_broker(broker, 1) and not self._is_other(client):
                self._decide(client)
                return
        what = looks_like(self.sides[0].first) or looks_like(self.sides[1].first)
        size, alone = self._seen, not all(side.held or side.passed or side.lost for side in self.sides)
        finding = None
        if what:
            finding = Finding(Kind.NOT_KAFKA, length=size, facts=FactKind.FOREIGN.of(what))
        elif alone and not self.certain and 0 < size <= self._patience:
            finding = Finding(Kind.MIDSTREAM, length=size, facts=PlainFact.NOTHING_WHOLE)
        elif size:
            finding = Finding(Kind.NOT_KAFKA, length=size, facts=PlainFact.NO_REQUEST)
        self._let_go(finding)

    def _decide(self, side: HeldSide) -> None:
        self.open = False
        self._kafka(self._channel, self, self.sides.index(side))
        del self.sides

    def _let_go(self, finding: Finding | None) -> None:
        self.open = False
        for side in self.sides:
            side.release()
        self._other(self._channel, finding)
        del self.sides


def _is_request(data: Buffer) -> bool:
    """Return whether a known request with a client id that is text seems to begin here."""
    header = requests.begins(data)
    return header is not None and header.known and bool(header.client_id) and str(header.client_id).isprintable()
