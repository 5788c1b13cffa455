"""Findings and wire errors as a person reads them: a sentence, and the field and byte it is about.

Whoever reads a message passes facts on; only what shows something to a person comes here. Nothing takes a sentence
apart again. Sentences have no full stop, and are not escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .facts import Facts, InPayload, MessageMistake, Stopped
from .kinds import Kind
from .mistakes import mistake_sentence
from .sentences import sentence

if TYPE_CHECKING:
    from .faults import Fault


class Odd(Protocol):
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


SENDERS = {"request": "client", "response": "broker", "": "peer"}


def text_of(finding: Odd) -> str:
    """Return the text of a finding; name the field and byte where reading stopped, or where a payload is meant."""
    facts = finding.facts
    if isinstance(facts, Stopped):
        return stopped(finding.path, facts.at, facts.fault)
    if isinstance(facts, InPayload):
        stands = isinstance(facts.fault, Stopped) and finding.start is not None
        return beside(finding) + (at_byte(finding.start or 0) if stands else "")
    if isinstance(facts, MessageMistake):
        return beside(finding) + (at_byte_of_frame(finding.start) if finding.start is not None else "")
    return _said(finding)


def beside(finding: Odd) -> str:
    """Return the text of a finding to show beside its bytes: with the field, if there is one, and without the byte."""
    facts, path = finding.facts, finding.path
    if isinstance(facts, Stopped):
        return f"{path or 'message'}: {sentence(facts.fault)}"
    if isinstance(facts, InPayload):
        return f"{path}: {f'no {facts.name}: ' if facts.name else ''}{_in_payload(facts)}"
    if isinstance(facts, MessageMistake):
        return mistake_sentence(**facts._asdict(), path=path or "the message", direction=finding.side)
    return f"{path}: {_said(finding)}" if path else _said(finding)


def stopped(path: str, start: int, fault: Fault) -> str:
    """Return the text for what ended the reading of a message: field, fault and byte."""
    return f"{path or 'message'}: {sentence(fault)}{at_byte(start)}"


def at_byte(start: int) -> str:
    """Return a byte's place in a message as the end of a sentence, decimal and hexadecimal."""
    return f" at byte {start} (0x{start:04x})"


def at_byte_of_frame(start: int) -> str:
    """Return the same, counted as hexdumps do: from the first byte of the size."""
    return f" (byte {start + 4} or 0x{start + 4:04x}, counted from the size)"


def _in_payload(facts: InPayload) -> str:
    fault: Facts = facts.fault
    if isinstance(fault, Stopped):
        return ("message: " if facts.whole else "") + sentence(fault.fault)
    return sentence(fault)


def _said(finding: Odd) -> str:
    if finding.facts is None:
        return finding.kind.explanation
    side = finding.side
    return sentence(finding.facts, length=finding.length, side=side, sender=SENDERS[side])
