"""The first bytes of a connection: does it speak Kafka, and which end is the client?

Both directions are held until one of them shows a request: at its very beginning where the connection was seen to
open, else at the first place that proves itself. Where one side is silent, responses show the broker. TLS is handed on.
What is neither is let go, with a word on what it looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import Foreign, PlainFact
from ...streams.tcp.stream import Receiver
from . import identify, requests
from .foreign import LONGEST_BEGINNING, Read, begins, is_tls, looks_like
from .framing import Framer
from .search import Buffer, Search, size_at
from .states import CLASSIFICATION, Classification, Sign, next_state

PATIENCE_WHOLE, PATIENCE_MIDSTREAM = 1 << 16, 16 << 20
"""Bytes looked at while no request shows: few where the capture saw the connection open: Kafka begins with one."""
HELD = 4 << 20
"""Bytes held of one direction; the oldest are given up, for they have been looked at."""
HELD_BY_ALL = 64 << 20
ENOUGH = 3
"""Responses in a row by which a broker is known whose client is not heard."""


class Channel(Protocol):
    """What two sides speak over: a TCP connection, or TLS on one; as `tcp.Connection`."""

    @property
    def handshake(self) -> bool: ...


Event: TypeAlias = tuple[bytes | int | None, int, int]
"""Bytes, a gap's length, or None for the end; time; packet."""
_OPEN = frozenset({Classification.UNKNOWN, Classification.HALF_ENDED})


def replay(events: Sequence[Event], receiver: Receiver, passed: int = 0) -> None:
    """Give a receiver what was held, but for so many bytes in front."""
    for what, time, number in events:
        if isinstance(what, bytes):
            if rest := what[passed:]:
                receiver.data(rest, time, number)
            passed = max(0, passed - len(what))
        elif what is not None:
            receiver.gap(what, time, number)
        else:
            receiver.end(time, number)


@dataclass
class Budget:
    """What all openings together may still hold."""

    left: int = HELD_BY_ALL


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

    def replay(self, framer: Framer) -> None:
        """Give the framer what was held, gaps and the end included, and hold nothing any more."""
        framer.pass_over(self.passed)
        self.hand_over(framer, self.lost)

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


class Classifier:
    """Holds what both sides sent until it is known what it is; then calls one of its callbacks, once.

    Without `tls`, TLS is like any other protocol; without `greets`, so are words with a proxy. After that it has no
    sides any more: all is freed as soon as the connection has other receivers.
    """

    __slots__ = ("_client", "_greets", "_kafka", "_other", "_tls", "budget", "connection", "sides", "state")
    connection: Channel
    budget: Budget
    state: Classification

    def __init__(
        self,
        connection: Channel,
        budget: Budget,
        kafka: Callable[[Classifier, int], None],
        other: Callable[[Finding | None], None],
        tls: Callable[[Classifier], None] | None = None,
        greets: Callable[[Classifier, Read], None] | None = None,
    ) -> None:
        self.connection, self.budget, self._kafka, self._other, self._tls = connection, budget, kafka, other, tls
        self._greets = greets
        self.sides: tuple[HeldSide, HeldSide] = HeldSide(self), HeldSide(self)
        self.state = Classification.UNKNOWN

    @property
    def certain(self) -> bool:
        """Whether the capture saw the connection open; what tells that may come after the first packets."""
        return self.connection.handshake

    def look(self, side: HeldSide, *, final: bool = False) -> None:
        """Decide what the connection speaks, if it can be decided now; `final`: the run of bytes has ended."""
        if self.state not in _OPEN:
            return
        sent, answered = self.sides
        read = None
        if self._greets is not None and sent.intact and not sent.passed:
            read = begins(sent.first, answered.first)
        if self._greets is not None and read is not None:
            self._enter(Sign.PREAMBLE)
            self._greets(self, read)
            del self.sides
        elif not (self.connection.handshake and side is answered) and side.shows_request(final):
            self._decide(side)
        elif self._other_of(side).silent and self._is_broker(side, ENOUGH):
            self._decide(self._other_of(side))
        elif self._tls is not None and is_tls(side.first):
            self._enter(Sign.TLS)
            self._tls(self)
            del self.sides
        elif self.budget.left < 0 or self._seen > self._patience or self._is_other(side):
            self._settle()

    def end(self, side: HeldSide) -> None:
        """Take note that one direction has ended; once both have, go by the likeliest guess."""
        self.look(side, final=True)
        if self.state in _OPEN:
            self._enter(Sign.END)
            if self.state is Classification.ENDED:
                self._settle()

    def replay(self, client: Framer, broker: Framer) -> None:
        """Give what was held to the framers: requests first, since responses are told by them."""
        first = self._client
        self.sides[first].replay(client)
        self.sides[1 - first].replay(broker)

    def hand_over(self, receivers: tuple[Receiver, Receiver]) -> None:
        """Give what was held of either side to its receiver."""
        for side, receiver in zip(self.sides, receivers, strict=True):
            side.hand_over(receiver, side.passed + side.lost)

    def _enter(self, sign: Sign) -> None:
        self.state = next_state(CLASSIFICATION, self.state, sign)

    def _other_of(self, side: HeldSide) -> HeldSide:
        return self.sides[side is self.sides[0]]

    def _is_broker(self, side: HeldSide, frames: int) -> bool:
        """Return whether a side begins with so many responses, where its requests are not to be seen."""
        if (self.connection.handshake and side is self.sides[0]) or side.passed:
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
        for side in self.sides[: 1 if self.connection.handshake else 2]:
            if side.guess and not self._is_other(side):
                self._decide(side)
                return
        for side in reversed(self.sides):
            if self._is_broker(side, 1) and not self._is_other(self._other_of(side)):
                self._decide(self._other_of(side))
                return
        self._give_up()

    def _decide(self, side: HeldSide) -> None:
        self._enter(Sign.REQUEST)
        self._client = self.sides.index(side)
        self._kafka(self, self._client)
        del self.sides

    def _give_up(self) -> None:
        self._enter(Sign.NO_REQUEST)
        what = looks_like(self.sides[0].first) or looks_like(self.sides[1].first)
        size, alone = self._seen, not all(side.held or side.passed or side.lost for side in self.sides)
        for side in self.sides:
            side.release()
        finding = None
        if what:
            finding = Finding(Kind.NOT_KAFKA, length=size, facts=Foreign(what))
        elif alone and not self.certain and 0 < size <= self._patience:
            finding = Finding(Kind.MIDSTREAM, length=size, facts=PlainFact.NOTHING_WHOLE)
        elif size:
            finding = Finding(Kind.NOT_KAFKA, length=size, facts=PlainFact.NO_REQUEST)
        self._other(finding)
        del self.sides


def _is_request(data: Buffer) -> bool:
    """Return whether a known request with a client id that is text seems to begin here."""
    header = requests.begins(data)
    return header is not None and header.known and bool(header.client_id) and str(header.client_id).isprintable()
