"""What the finder takes and returns: a message, and the field, the values and the corrected bytes of its mistake."""

from __future__ import annotations

from typing import NamedTuple

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import MessageMistake
from ...protocol.findings.quirks import Sure, mistake_sentence
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import WireStruct
from ..messages.message import grammar_of, header_grammar


class Mistake(NamedTuple):
    """A mistake of the program that wrote a message.

    `kind` is a key of `findings.mistakes.MISTAKES`. `start` and `length` are bytes, counted as those of findings: from
    the first byte of the header, so that the size is at -4. `actual` and `expected` are the values as they are shown,
    "" where the kind says all. `others` counts the other fields with the same mistake. `corrected` is the whole message
    with its size, b"" where it is unknown.
    """

    kind: str
    api: str
    version: int
    direction: Direction
    path: str = ""
    start: int = 0
    length: int = 0
    actual: str = ""
    expected: str = ""
    sure: Sure = Sure.LIKELY
    corrected: bytes = b""
    others: int = 0

    @property
    def text(self) -> str:
        """The sentence of the mistake, without a full stop; not escaped."""
        return mistake_sentence(
            self.kind, self.sure, self.others, api=self.api, version=self.version, direction=self.direction,
            path=self.path or "the message", actual=self.actual, expected=self.expected,
        )  # fmt: skip

    @property
    def finding(self) -> Finding:
        """The mistake as a finding."""
        facts = MessageMistake(self.kind, self.api, self.version, self.actual, self.expected, self.sure.value)
        return Finding(Kind.ENCODING_MISTAKE, self.direction, self.path, self.start, self.length, facts)


class Subject(NamedTuple):
    """The message that is examined, from its header on."""

    frame: bytes
    api: Api
    version: int
    direction: Direction

    @property
    def nodes(self) -> tuple[WireStruct, ...]:
        """The grammars of its header, if it has one, and of its body."""
        body = grammar_of(self.api, self.version, self.direction)
        return (body,) if self.api.headerless else (header_grammar(self.api, self.version, self.direction), body)

    def mistake(self, kind: str) -> Mistake:
        """Return a mistake of this message, of which the kind is known."""
        return Mistake(kind, self.api.name, self.version, self.direction)


def sized(frame: bytes) -> bytes:
    """Return a message with its size."""
    return len(frame).to_bytes(4, "big") + frame
