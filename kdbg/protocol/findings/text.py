"""Findings and wire errors as a person reads them: a sentence, and the field and byte it is about.

Whoever reads a message passes facts on; only what shows something to a person comes here. Nothing takes a sentence
apart again. Sentences have no full stop, and are not escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from .facts import Facts, InPayload, MessageMistake, Stopped
from .kinds import Kind
from .mistakes import mistake_sentence
from .sentences import sentence

if TYPE_CHECKING:
    from .faults import Fault


class FindingSubject(Protocol):
    """What of a finding its words are made of."""

    @property
    def kind(self) -> Kind: ...
    @property
    def side(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def start(self) -> int | None: ...
    @property
    def length(self) -> int: ...
    @property
    def facts(self) -> Facts | None: ...


class Origin(NamedTuple):
    """What bytes are counted from: the place of a message's header (or of the first byte given), and in what."""

    first: int
    of: str


FRAME: Final = Origin(4, "frame")
"""From the first byte of the size, as hexdumps of frames count."""
DATA: Final = Origin(0, "data")
"""From the first byte given, where that begins no frame: a piece of a file, or what a program decodes."""
BUFFER: Final = Origin(0, "decompressed bytes")
SENDERS = {"request": "client", "response": "broker", "": "peer"}


def origin_of(finding: FindingSubject) -> Origin:
    """Return what the bytes of a finding are counted from: those of a request or response are bytes of its frame."""
    return FRAME if finding.side else DATA


def text_of(finding: FindingSubject, origin: Origin | None = None) -> str:
    """Return the text of a finding; name the field and byte where reading stopped, or where a payload is meant."""
    facts, origin = finding.facts, origin or origin_of(finding)
    if isinstance(facts, Stopped):
        return stopped(finding.path, facts.at, facts.fault, origin if finding.start is not None else BUFFER)
    payload = isinstance(facts, InPayload) and isinstance(facts.fault, Stopped)
    if finding.start is not None and (payload or isinstance(facts, MessageMistake)):
        return beside(finding) + at_byte(finding.start, origin)
    return beside(finding) if isinstance(facts, (InPayload, MessageMistake)) else _text(finding)


def beside(finding: FindingSubject) -> str:
    """Return the text of a finding to show beside its bytes: with the field, if there is one, and without the byte."""
    facts, path = finding.facts, finding.path
    if isinstance(facts, Stopped):
        return f"{path or 'message'}: {sentence(facts.fault)}"
    if isinstance(facts, InPayload):
        return f"{path}: {f'invalid {facts.name}: ' if facts.name else ''}{_in_payload(facts)}"
    if isinstance(facts, MessageMistake):
        return mistake_sentence(**facts._asdict(), path=path or "the message", direction=finding.side)
    return f"{path}: {_text(finding)}" if path else _text(finding)


def stopped(path: str, start: int, fault: Fault, origin: Origin = DATA) -> str:
    """Return the text for what ended the reading of a message: field, fault and byte."""
    return f"{path or 'message'}: {sentence(fault)}{at_byte(start, origin)}"


def at_byte(start: int, origin: Origin) -> str:
    """Return the place of a byte as the end of a sentence, decimal and as hexdumps have it."""
    byte = origin.first + start
    return f" (byte {byte} of the {origin.of}, 0x{byte:04x})"


def _in_payload(facts: InPayload) -> str:
    fault: Facts = facts.fault
    if isinstance(fault, Stopped):
        return ("message: " if facts.whole else "") + sentence(fault.fault)
    return sentence(fault)


def _text(finding: FindingSubject) -> str:
    if finding.facts is None:
        return finding.kind.explanation
    side = finding.side
    return sentence(finding.facts, length=finding.length, side=side, sender=SENDERS[side])
