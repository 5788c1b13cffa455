"""One message's bytes, read by the compiled grammar where they are clean, with places and findings otherwise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from uuid import UUID

from ...errors import BadLength, Leftover, Truncated, WireError
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind, InPayload, KnownQuirk, Stopped
from ...protocol.findings.faults import Fault, FaultKind, TooFewBytes
from ...protocol.findings.quirks import FALLBACK, QUIRKS, Sure, is_known, quirk_of, spare
from ...protocol.grammars import find, headers, kept
from ...protocol.grammars.errors import error_name
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.language.payload import Around, OpenedPayload
from ...protocol.wire.language.types import FOREVER, Unread
from ...protocol.wire.nodes import WireStruct
from ...protocol.wire.readings.compiled import UNREADABLE, FrontReader, Reader, front_reader, message_reader
from ...protocol.wire.readings.measure import end_of
from ...protocol.wire.readings.outline import ALWAYS, Outline
from ...protocol.wire.readings.outline_codegen import FactsReader, facts_reader
from ...protocol.wire.readings.secrets import has_secrets, hide, hide_all, without_tags

if TYPE_CHECKING:
    from ...protocol.wire.readings.annotate import Inspection


UNTIMED: Final = -1
"""The time of a message without a known time, in place of nanoseconds since 1970."""


@dataclass(slots=True)
class Context:
    """What is known of a message from elsewhere: `topics` by their ids, to which opened payloads may add, and `around`.

    `software` is what the client says that it is; `refused`: the broker does not know the request's version. `mistakes`
    returns the mistake that explains findings of the message; of one that stands alone it is searched for by who shows
    it. `around` is asked for once bytes may be a payload, and gives the values that stand further out than the message:
    for a response the body of its request, then what its connection has told, such as SASL's `mechanism`.
    """

    topics: MutableMapping[UUID, str] = field(default_factory=ALWAYS.copy)
    around: Callable[[], Around] = dict
    software: str = ""
    refused: bool = False
    mistakes: Callable[[Sequence[Finding]], tuple[Finding, ...]] = lambda findings: ()

    def judge(self, findings: Sequence[Finding], header: Mapping[str, Any] | None) -> tuple[Finding, ...]:
        """Return findings of the message with the senders of quirks as sure as the connection makes them."""
        client_id = (header or {}).get("client_id") or ""
        found: list[Finding] = []
        for one in findings:
            known = quirk_of(one) if one.side == "request" else None  # what a response holds may be of other clients
            if known is not None:
                now, facts = quirk_facts(known.code, self.software, client_id), one.facts
                one = one._replace(facts=facts._replace(fault=now) if isinstance(facts, InPayload) else now)
            elif self.refused and one.kind is Kind.UNKNOWN_VERSION:
                one = one._replace(kind=Kind.KNOWN_QUIRK, facts=quirk_facts(FALLBACK))
            found.append(one)
        return tuple(found)


NO_HEADER = WireStruct((), None)


@dataclass(slots=True)
class Message:
    """A request or a response, read.

    `body` is plain dicts, lists, str, int, float, bool, bytes, None and uuid.UUID; what could not be read is missing
    from it and named in `findings`. `header` is None for a body that stood alone. `grammar` is the layout that fitted.
    `data` are the bytes from the header or the body on; None where only a text of the message was read.
    """

    api: Api
    version: int
    direction: Direction
    header: dict[str, Any] | None
    body: dict[str, Any]
    grammar: WireStruct
    size: int
    findings: tuple[Finding, ...] = ()
    unexplained: int = 0
    """Bytes of the message that no field claims; each has a finding."""
    payloads: tuple[OpenedPayload, ...] = ()
    """Those that were opened (payloads.py), innermost first."""
    shallow: bool = field(default=False, compare=False)
    """Whether the records of its batches were left unread."""
    suspicious: bool = field(default=False, compare=False)
    """Whether it is odd, and secrets seem to stand in its bytes though its grammar has none."""
    data: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def misaligned(self) -> bool:
        """Whether bytes of a secret may stand in a field that is none: the message is broken, and may hold some."""
        return (self.suspicious or has_secrets(self.grammar)) and any(finding.kind.shifts for finding in self.findings)

    @property
    def open_body(self) -> Any:
        """The body with its secrets hidden, and all strings and bytes where it is misaligned."""
        if self.misaligned:
            return hide_all(self.body)
        return hide(self.grammar, without_tags(self.body) if self.suspicious else self.body)


def read(
    api: Api, version: int, direction: Direction, data: bytes, *, header: bool = True, shallow: bool = False
) -> Message:
    """Read a message that begins at its header, or at its body with `header=False`.

    `shallow` leaves the records of batches unread: enough to count and to prove them.
    """
    more = False
    for form, head, body, end in readings(forms(api, version, direction, header, shallow), data):
        if end == len(data) and form.admits(body) and (form.name or api.reads(direction, version)):
            notes = (form.finding(direction, body),) if form.name else ()
            return Message(
                api, version, direction, head or None, body, form.grammar, len(data), notes, shallow=shallow, data=data
            )
        more = more or end < len(data)
    found = forms(api, version, direction, header, False)
    if more and len(found) == 1 and api.reads(direction, version):
        for form, head, body, end in readings(found, data):  # what is wrong is known without looking at every byte
            left = len(data) - end
            if left > 0:
                finding = Finding(Kind.TRAILING_BYTES, direction, "", end, left, FaultKind.LEFTOVER.of(left))
                notes = (left_over(api, version, finding, body, data),)
                size = len(data)
                return Message(api, version, direction, head or None, body, form.grammar, size, notes, left, data=data)
    return read_slowly(api, version, direction, data, header=header)


def read_slowly(api: Api, version: int, direction: Direction, data: bytes, *, header: bool = True) -> Message:
    """Read a message that is not clean, like `read` but with the place of every byte, and say what is wrong where."""
    places = not api.reads(direction, version)  # they tell where an unknown body begins
    grammar, inspection = explain(api, version, direction, data, header=header, spans=places)
    head, body, findings = inspection.header, inspection.value or {}, tuple(inspection.findings)
    odd, left = is_suspicious(grammar, data, findings), inspection.unexplained
    return Message(api, version, direction, head, body, grammar, len(data), findings, left, suspicious=odd, data=data)


def is_suspicious(grammar: WireStruct, data: bytes, findings: Sequence[Finding]) -> bool:
    """Return whether fields hold what others should (bytes left over move none), and secrets seem to be there."""
    if not _move(findings):
        return False
    from .secrets import may_hold_secrets  # which what is clean does without

    return may_hold_secrets(data, grammar)


def _move(findings: Iterable[Finding]) -> bool:
    """Return whether one of the findings moves fields."""
    kinds = [one.kind for one in findings if one.kind is not Kind.TRAILING_BYTES]
    return any(kind.shifts or kind is Kind.UNKNOWN_TAG for kind in kinds)


def explain(
    api: Api, version: int, direction: Direction, data: bytes, *, header: bool = True, spans: bool = True
) -> tuple[WireStruct, Inspection]:
    """Return the layout that fits best, and the inspection of every byte by it; without `spans` it has none.

    The layout is the real one, unless that leaves findings and a dialect reads the message to its last byte.
    """
    from ...protocol.wire.readings.annotate import inspect
    from .secrets import may_hold_secrets

    head = header_grammar(api, version, direction) if header and not api.headerless else None
    real: tuple[WireStruct, Inspection] | None = None
    for form in forms(api, version, direction, header, False):
        secret = carries_secrets(form.grammar)
        inspection = inspect(form.grammar, data, header=head, opaque=secret, side=direction, spans=spans)
        odd = inspection.unexplained or _move(inspection.findings)
        if spans and not secret and odd and may_hold_secrets(data, form.grammar):
            inspection = inspect(form.grammar, data, header=head, opaque=True, side=direction)
        if form.name:
            inspection.findings.append(form.finding(direction, inspection.value))
            if not inspection.broken and inspection.end == len(data) and form.admits(inspection.value):
                return form.grammar, inspection
            continue
        if inspection.findings and inspection.findings[-1].kind is Kind.TRAILING_BYTES:
            inspection.findings[-1] = left_over(api, version, inspection.findings[-1], inspection.value, data)
        real = form.grammar, inspection
        if not api.reads(direction, version):
            inspection.findings.insert(0, unknown(api, version, direction, data, inspection))
        elif not inspection.findings:
            break
    assert real is not None
    return real


def unknown(api: Api, version: int, direction: Direction, data: bytes, inspection: Inspection) -> Finding:
    """Return the finding for a message whose API or version no grammar is known for; it starts where the body does."""
    start = inspection.spans[-1].start if inspection.spans else 0
    left = len(data) - start
    if find(api.key) is None:
        return Finding(Kind.UNKNOWN_API, direction, "body", start, left, FaultKind.NO_API.of(key=api.key, left=left))
    missing = FaultKind.NO_VERSION.of(api=api.name, version=version, left=left)
    if version in api.versions:
        missing = FaultKind.NO_SIDE.of(api=api.name, version=version, side=direction, left=left)
    return Finding(Kind.UNKNOWN_VERSION, direction, "body", start, left, missing)


@dataclass(eq=False)
class MessageForm:
    """One form that a message may have: `name` is "" for the real one, else what it is a dialect of.

    `admits` says whether a body that was read can have been written in this form.
    """

    header: WireStruct
    grammar: WireStruct
    shallow: bool
    name: str = ""
    admits: Callable[[Mapping[str, Any]], bool] = lambda body: True
    quirk: str = ""

    @cached_property
    def read(self) -> Reader:
        """The compiled reader of header and body; to compile it costs more than to read a few messages without."""
        return message_reader(self.header, self.grammar, shallow=self.shallow)

    def finding(self, direction: Direction, body: Any) -> Finding:
        """Return the finding for a message in this form, which is not the real one."""
        if self.quirk and is_known(self.quirk, body):
            return Finding(Kind.KNOWN_QUIRK, direction, facts=quirk_facts(self.quirk))
        return Finding(Kind.KNOWN_VARIANT, direction, facts=FactKind.KNOWN_FORM.of(self.name))

    def end(self, data: bytes) -> int:
        """Return where the message ends in the data, -1 where it cannot be read that far."""
        try:
            return end_of(self.grammar, data, end_of(self.header, data, 0))
        except UNREADABLE:
            return -1


@cache
def forms(api: Api, version: int, direction: Direction, header: bool, shallow: bool) -> tuple[MessageForm, ...]:
    """Return every form a message may have: the real one, then dialects; these first if the version is unknown."""
    head = header_grammar(api, version, direction) if header and not api.headerless else NO_HEADER
    found = [MessageForm(head, grammar_of(api, version, direction), shallow=shallow)]
    found += [
        MessageForm(head, grammar, shallow=shallow, name=dialect.name, admits=dialect.admits, quirk=dialect.quirk)
        for dialect, grammar in api.dialects_of(direction, version)
    ]
    return tuple(found[1:] + found[:1] if version not in api.versions and len(found) > 1 else found)


def readings(tried: Iterable[MessageForm], data: bytes) -> Iterator[tuple[MessageForm, Any, Any, int]]:
    """Yield (form, header, body, end) of the forms that read the bytes, to the last one or not so far."""
    for form in tried:
        try:
            (head, body), end = form.read(data, 0)
        except UNREADABLE:
            continue
        yield form, head, body, end


@cache
def facts_of(api: Api, version: int, direction: Direction) -> FactsReader | None:
    """Return the reader of what clean messages are about, straight from their bytes; None where there is none."""
    if version not in api.versions or not api.reads(direction, version):
        return None
    head = header_grammar(api, version, direction) if not api.headerless else NO_HEADER
    return facts_reader(head, grammar_of(api, version, direction))


@cache
def facts_of_both(api: Api, version: int) -> tuple[FactsReader, FactsReader] | None:
    """Return `facts_of` of request and response; None where one of them has none."""
    asks, answers = facts_of(api, version, "request"), facts_of(api, version, "response")
    return (asks, answers) if asks is not None and answers is not None else None


@cache
def front_of(
    api: Api, version: int, direction: Direction, names: tuple[str, ...], *, alone: bool = False
) -> FrontReader | None:
    """Return the reader of those fields that valid messages have, as `front_reader`.

    With `alone`, return None where messages of this version have several forms.
    """
    if alone and len(forms(api, version, direction, True, False)) > 1:
        return None
    head = header_grammar(api, version, direction) if not api.headerless else NO_HEADER
    return front_reader(head, grammar_of(api, version, direction), names) or (lambda data: {})


def grammar_of(api: Api, version: int, direction: Direction) -> WireStruct:
    """Return the grammar of a body; for a version that kdbg does not know, one that keeps the body as bytes."""
    if version in api.versions:
        return api.at(direction, version)
    return opaque_api(api.key, api.name).at(direction, 0)


def header_grammar(api: Api, version: int, direction: Direction) -> WireStruct:
    grammars = {"request": headers.REQUEST, "response": headers.RESPONSE}[direction]
    return grammars[api.header_version(direction, version)]


carries_secrets = cache(has_secrets)


@kept
def opaque_api(key: int, name: str = "") -> Api:
    """Return an API of which only the header is understood; its body is secret.

    Damage may have made the key or the version: a message with a password is one bit away from one without.
    """
    real = find(key)
    body = Unread(secret=True)
    return Api(key, name or f"Unknown({key})", body, body, range(1), real.flexible if real else FOREVER)


def strict(message: Message) -> Message:
    """Return the message if its grammar fits every byte of it. Raise the error that its first finding stands for, else.

    Findings that are harmless do not count.
    """
    for finding in message.findings:
        if not finding.kind.harmless:
            path, start, facts = finding.path, finding.start or 0, finding.facts  # 0 where its place is in no message
            fault = facts.fault if isinstance(facts, Stopped) else cast(Fault, facts)  # of what is not harmless
            if finding.kind is Kind.TRAILING_BYTES:
                raise Leftover(start, finding.length)
            if isinstance(fault, TooFewBytes) and finding.kind is Kind.TRUNCATED:
                raise Truncated(path, start, *fault)
            kind = BadLength if finding.kind in (Kind.INVALID_LENGTH, Kind.UNEXPECTED_NULL) else WireError
            raise kind(path, start, fault, kind=finding.kind)
    return message


class ErrorFound(NamedTuple):
    """An error code in a message; `topic` and `partition` where it is theirs, a topic by its id if that is all."""

    code: int
    name: str
    topic: str | UUID | None = None
    partition: int | None = None


def errors_in(found: Outline) -> list[ErrorFound]:
    """Return the error codes of a message that are not 0: those of topics and partitions, then all others."""
    rows, _, codes = found
    named = [ErrorFound(code, error_name(code), topic, partition) for topic, partition, code, _ in rows if code]
    others = Counter(codes) - Counter(error.code for error in named)
    return [*named, *(ErrorFound(code, error_name(code)) for code in others.elements())]


def left_over(api: Api, version: int, found: Finding, body: Any, data: bytes) -> Finding:
    """Return the finding for bytes left over after the last field; as a quirk's, where they are known as one."""
    if found.start is None or len(data) - found.start != found.length:
        return found
    code = spare(found.side, api.key, version, body, data[found.start :])
    return found._replace(kind=Kind.KNOWN_QUIRK, facts=quirk_facts(code)) if code else found


def quirk_facts(code: str, software: str = "", client_id: str = "") -> KnownQuirk:
    """Return the facts of a quirk on a connection whose client says that it is this software, and has this id."""
    senders = QUIRKS[code].senders
    if not senders:
        return KnownQuirk(code, (), Sure.CERTAIN)
    if software:
        return KnownQuirk(code, (software,), Sure.CERTAIN)
    named = [one.name for one in senders if one.client_id and re.search(one.client_id, client_id, re.IGNORECASE)]
    if len(named) == 1 or len(senders) == 1:
        return KnownQuirk(code, tuple(named) or (senders[0].name,), Sure.LIKELY)
    return KnownQuirk(code, tuple(one.name for one in senders), Sure.GUESS)
