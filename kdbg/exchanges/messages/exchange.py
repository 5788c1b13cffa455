"""A request and its response, as they stood on the wire: plain data, read when first used."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

from ...budget import MEMORY
from ...protocol.findings import Finding, Kind
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.language.payload import Around
from ...protocol.wire.readings.compiled import UNREADABLE
from ...protocol.wire.readings.outline import ALWAYS, Outline, names_by_then, outline
from ...protocol.wire.readings.runtime import Odd
from .known import Known
from .message import UNTIMED, Context, ErrorFound, Message, errors_in, facts_of, facts_of_both, front_of, read
from .mistakes import OF_SEARCHES, anomalies_of
from .peers import Peers
from .validation import validator

if TYPE_CHECKING:
    from .capture_points import CapturePoints, LogLine, Timing

MANY = 1 << 62
"""More names than there can be."""
LARGE: Final = 1 << 20
"""Bytes of memory from which on it is seen to that a message is not remembered for long."""


REMEMBERED: Final = dict["CapturedMessage", int]()
"""The halves whose messages were read and are large, with the bytes of memory that these take."""


class CapturedMessage:
    """One message of an exchange: its bytes from the header on, when they came and in which packets.

    Times are nanoseconds since the epoch: `first_time` of the first byte, `last_time` of the last. `missing` counts
    bytes at its end that cannot be had: the connection ended before them, or the capture lacks some, or they were not
    `held`, to save memory. `known` is what was known when it came, `asked` the request that a response answers. `names`
    is how many names of topic ids had been learnt when it was handed out: later ones do not change what it says.
    """

    __slots__ = (
        "_facts", "_message", "_mistakes", "_opened", "api", "asked", "data", "direction", "excess", "first_packet",
        "first_time", "known", "known_findings", "last_packet", "last_time", "missing", "names", "noted", "refused",
        "rejected", "sound", "version",
    )  # fmt: skip
    held = True
    data: bytes
    first_packet: int
    first_time: int
    last_packet: int
    last_time: int
    missing: int
    _opened: bool

    def __init__(
        self, data: bytes, times: tuple[int, int], packets: tuple[int, int], direction: Direction, missing: int = 0
    ) -> None:
        self.data, self.direction, self.missing = data, direction, missing
        self.first_time, self.last_time = times
        self.first_packet, self.last_packet = packets
        self.api: Api | None = None
        self.version: int = 0
        self.known: Known | None = None
        self.names: int = MANY
        self.sound: bool = False
        """Whether a generated reading proved every byte: then it has no findings, and need not be read for them."""
        self.known_findings: tuple[Finding, ...] | None = None
        """Its findings, where they are known without reading it; None where it must be read for them."""
        self.noted: tuple[Finding, ...] = ()
        """What is odd in a message that has facts, as far as that is read `shallow`."""
        self.asked: CapturedMessage | None = None
        self.refused: bool = False
        """Whether it is a request of ApiVersions whose version the broker does not know."""
        self.rejected: str = ""
        """Why the peer rejects it, as `rejection.rejection` returns it; "" where it does not."""
        self.excess: int = 0
        """Bytes by which the size before it is too large: they are other messages."""
        self._message: Message | None = None
        self._mistakes: tuple[Finding, ...] | None = None
        self._facts: Outline | Literal[False] | None = None

    @property
    def size(self) -> int:
        """Bytes on the wire, the 4-byte size included."""
        return len(self.data) + self.missing + 4

    @property
    def claimed(self) -> int:
        """The size before it: how many bytes of message it claims to follow."""
        return len(self.data) + self.missing + self.excess

    def message(self, *, shallow: bool = False) -> Message | None:
        """Return the message, read when first asked for; None for a response whose request nobody saw.

        With `shallow`, a message will do whose batches were not read down to their records, and whose payloads were not
        opened.
        """
        if self.api is None:
            return None
        message = self._message
        if message is None or (message.shallow and not shallow):
            message = self._message = read(self.api, self.version, self.direction, self.data, shallow=shallow)
            self._opened = False
            taken = len(self.data) + MEMORY.message - MEMORY.left
            if taken > LARGE:
                REMEMBERED.pop(self, None)
                REMEMBERED[self] = taken
                while len(REMEMBERED) > 1 and sum(REMEMBERED.values()) > MEMORY.message // 4:
                    oldest = next(iter(REMEMBERED))  # those read first forget theirs where all take too much
                    del REMEMBERED[oldest]
                    oldest.forget()
        if not (shallow or self._opened):
            self._opened = True
            payloads = _payloads()
            if payloads.plan(message.grammar) is not None:
                payloads.open_payloads(message, self.data, self.context)
        if message.findings:
            message.findings = self.context.judge(message.findings, message.header)
        message.findings = self._explained(message.findings)
        return message

    def _explained(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Return findings of the message with the mistake that explains them, or why it is rejected."""
        if not (findings or self.rejected or self.missing or self.excess):
            return findings
        return findings + self.mistakes(findings)

    def mistakes(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """Return the mistake that explains these findings of the message, or why it is rejected, as findings."""
        if self._mistakes is None or (findings and not self._mistakes):
            known = self.known or Known.nothing()
            self._mistakes = known.searches.mistakes(self, findings)
        return () if any(one.kind in OF_SEARCHES for one in findings) else self._mistakes

    def facts(self) -> Outline | None:
        """Return what the message is about, straight from its bytes; None where only its value tells.

        A message with facts has no findings but those in `noted`, as far as it is read `shallow`.
        """
        found = self._facts
        if found is None:
            odd: list[Odd] = []
            read = facts_of(self.api, self.version, self.direction) if self.api is not None else None
            try:
                found = read(self.data, odd) if read is not None else False
                self.noted = self._explained(anomalies_of(self, odd) if odd else ())
            except UNREADABLE:
                found = False
            self._facts = found
        return found or None

    def prove(self, odd: Sequence[Odd]) -> tuple[Finding, ...]:
        """Take note that a generated reading read all of it; return what is odd; raise `Unreadable` if it may not."""
        self.known_findings = found = self._explained(anomalies_of(self, odd) if odd else ())
        self.sound = not found
        return found

    def outline(self) -> Outline | None:
        """Return what the message is about, as far as it could be read; None where nobody knows how to read it."""
        found = self.facts()
        if found is None and (message := self.message(shallow=True)) is not None:
            found = outline(message.grammar)(message.body)
        return found

    def open_outline(self) -> Outline | None:
        """Return its outline as far as anybody may see it: of a message that may show secrets, error codes alone."""
        found = self.outline()
        if found is None or self._message is None or not self._message.misaligned:
            return found
        return (), (), found[2]

    def fields(self, names: tuple[str, ...]) -> Mapping[str, Any]:
        """Return these fields of the body, and maybe others, reading no more than it must; none if secrets may show."""
        if self._message is None and self.api is not None and (self.sound or self.facts() is not None):
            read = front_of(self.api, self.version, self.direction, names)
            try:
                return read(self.data) if read is not None else {}
            except UNREADABLE:
                pass  # one of them holds what is odd
        message = self.message(shallow=True)
        return message.body if message is not None and not message.misaligned else {}

    def numbers(self, *names: str) -> Mapping[str, Any]:
        """Return these numeric fields of the body, and maybe others; the bytes after them are not validated."""
        read = front_of(self.api, self.version, self.direction, names, alone=True) if self.api is not None else None
        try:
            return read(self.data) if read is not None and self._message is None else self.fields(names)
        except UNREADABLE:
            return self.fields(names)

    def read_with(self, read: Callable[..., None] | None, *found: Any) -> bool:
        """Read it with a generated reading that validates it (validation.py); return whether it is valid.

        `found` is where the reading puts what it finds.
        """
        if read is None or self.missing or self.excess or self.rejected or len(self.data) > MEMORY.heavy:
            return False
        MEMORY.begin()
        try:
            read(self.data, self.known.topics if self.known is not None else ALWAYS, *found)
        except UNREADABLE:
            return False
        self.sound = True
        return True

    @property
    def context(self) -> Context:
        """What its payloads may be told by, beside the message itself."""
        known = self.known or Known.nothing()
        names = names_by_then(known.topics, self.names)
        software = known.facts.get("software", "").partition(" ")[0]

        def around() -> Around:
            asked = self.asked.message() if self.asked is not None else None
            return known.facts if asked is None else ChainMap(asked.body, known.facts)

        topics = ChainMap({}, names)  # what it tells itself stays its own
        return Context(topics, around, software, self.refused, self.mistakes)

    def take(self) -> Message | None:
        """Return the message for the caller to change: the half forgets it, and reads it again when next asked."""
        message = self.message()
        if message is not None:
            self.known_findings, self._message = message.findings, None
        return message

    def forget(self) -> None:
        """Forget the message, and what was found in it: it is read again when asked for."""
        self._message = self.known_findings = self._mistakes = None

    def findings(self, *, shallow: bool = False) -> Sequence[Finding]:
        """Return what is odd about the message, as far as it is read.

        Of one that the capture holds only in part that is told elsewhere: what its missing bytes cause is left out.
        """
        if self.sound:
            return ()
        if shallow and self.facts() is not None:
            return self.noted
        told, message = self.known_findings, self._message
        unread = told is None and not shallow and (message is None or (message.shallow and not message.findings))
        if unread and self.api is not None and self.read_with(validator(self.api, self.version, self.direction)):
            return ()
        if told is None or shallow:
            message = self.message(shallow=shallow)
            told = message.findings if message is not None else ()
        return [one for one in told if not (one.kind.cut or one.kind is Kind.TRAILING_BYTES)] if self.missing else told


class GivenUp(CapturedMessage):
    """One whose last bytes were not kept, to save memory."""

    __slots__ = ()
    held = False


@dataclass(slots=True, eq=False, repr=False)
class Exchange:
    """A request and its response; either may be missing from the capture.

    `number` counts exchanges in the order in which they were completed, from 1. `findings` are those of the exchange
    and of its connection just before it; each half's message has its own. `lines` are those of logs that speak of it.
    """

    peers: Peers
    api: Api | None
    version: int
    correlation_id: int
    client_id: str | None
    number: int = 0
    request: CapturedMessage | None = None
    response: CapturedMessage | None = None
    findings: list[Finding] = field(default_factory=list)
    answered: bool = True
    """False for a request that wants no response (acks=0)."""
    lines: tuple[LogLine, ...] = ()
    logged_latency: int | None = None
    """The nanoseconds to the response that a log tells."""
    capture_points: CapturePoints | None = None
    """Where it was seen, where captures of several places were merged."""
    timing: Timing | None = None
    """Where its time went, where that was asked for."""
    repeats: int = 0
    """How many messages of its connection before it began at the same time, with the same correlation id."""

    @property
    def latency(self) -> int | None:
        """Nanoseconds from the last byte of the request to the first byte of the response."""
        if self.logged_latency is not None:
            return self.logged_latency
        if self.request is None or self.response is None:
            return None
        if UNTIMED in (self.request.last_time, self.response.first_time):
            return None
        return self.response.first_time - self.request.last_time

    @property
    def latency_ms(self) -> float | None:
        """Milliseconds from the last byte of the request to the first byte of the response."""
        latency = self.latency
        return None if latency is None else latency / 1e6

    @property
    def errors(self) -> list[ErrorFound]:
        """The error codes in its messages that are not 0, in their order, each with what it is about."""
        return [error for outline in self.outlines() for error in errors_in(outline)]

    def __repr__(self) -> str:
        api = f"{self.api.name} v{self.version}" if self.api is not None else "response of unknown API"
        latency = "" if self.latency_ms is None else f", {self.latency_ms:.3g} ms"
        errors = "".join(f", {name}" for name in dict.fromkeys(error.name for error in self.errors))
        return f"<Exchange {self.number}: {api}, correlation id {self.correlation_id}{latency}{errors}>"

    @property
    def size(self) -> int:
        """Bytes of both halves on the wire."""
        request, response = self.request, self.response
        return (request.size if request is not None else 0) + (response.size if response is not None else 0)

    @property
    def time(self) -> int:
        """When the exchange began, in nanoseconds since the epoch; `UNTIMED` where nobody says."""
        half = self.request or self.response
        return half.first_time if half else 0

    @property
    def names(self) -> int:
        """How many names of topic ids were known when it was handed out."""
        half = self.request or self.response
        return half.names if half is not None else MANY

    def messages(self, *, shallow: bool = False) -> list[Message]:
        """Return the messages of the halves that could be read, request first."""
        halves = (half.message(shallow=shallow) for half in (self.request, self.response) if half is not None)
        return [message for message in halves if message is not None]

    def facts(self) -> tuple[Outline, Outline] | None:
        """Return the facts of both halves, as `CapturedMessage.facts`; None where not both have some, or one is odd."""
        request, response = self.request, self.response
        if request is None or response is None or self.api is None:
            return None
        if request._facts and response._facts:
            return None if request.noted or response.noted else (request._facts, response._facts)
        if request._facts is None and response._facts is None and not (request.rejected or request.excess):
            both = facts_of_both(self.api, self.version)
            if both is not None:
                try:
                    request._facts, response._facts = both[0](request.data), both[1](response.data)
                    return request._facts, response._facts
                except UNREADABLE:
                    both = None  # which of them, they find out
        asked, answered = request.facts(), response.facts()
        if asked is None or answered is None or request.noted or response.noted:
            return None
        return asked, answered

    def is_sound(self, *, shallow: bool = False) -> bool:
        """Return whether nothing is odd about it, as far as that is known without reading anything."""
        request, response = self.request, self.response
        return (
            not self.findings
            and (request is None or request.sound or bool(shallow and request._facts and not request.noted))
            and (response is None or response.sound or bool(shallow and response._facts and not response.noted))
        )

    def outlines(self) -> list[Outline]:
        """Return what the halves are about, as far as they could be read, request first."""
        found = (half.outline() for half in (self.request, self.response) if half is not None)
        return [outline for outline in found if outline is not None]

    def all_findings(self, *, shallow: bool = False) -> list[Finding]:
        """Return the exchange's own findings, then those of its messages.

        A message that the capture holds only in part has one finding for that, none of what its missing bytes cause.
        """
        found = self.findings[:]
        for half in (self.request, self.response):
            if half is not None:
                found += half.findings(shallow=shallow)
        return found


@cache
def _payloads() -> ModuleType:
    """Return what opens payloads, which is imported when a first body is wanted."""
    from . import payloads

    return payloads
