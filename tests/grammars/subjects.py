"""What test_every_version.py tries: every message of every API, and every payload, each in every version.

A subject knows how its values become bytes and back again as kdbg is asked to do it, so that one suite does for both:
a message has a header and is read by `kdbg.decode`, a payload begins with its version and is chosen by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import kdbg
from kdbg.errors import WireError
from kdbg.exchanges.messages.message import header_grammar, read
from kdbg.protocol import grammars
from kdbg.protocol.findings import Finding
from kdbg.protocol.grammars.payloads import payloads
from kdbg.protocol.wire.language import DIRECTIONS, Api, Direction
from kdbg.protocol.wire.language.payload import Payload
from kdbg.protocol.wire.nodes import WireStruct, build
from kdbg.protocol.wire.readings.annotate import inspect

from . import values
from .values import Maker, Value


class Decoded(NamedTuple):
    """What bytes said: the value, what is odd in them, and the bytes that the value is encoded to again."""

    body: Value
    findings: tuple[Finding, ...]
    encoded: bytes


class Subject(Protocol):
    """One kind of message or payload in one version."""

    @property
    def grammar(self) -> WireStruct: ...

    @property
    def header(self) -> WireStruct | None:
        """What stands in front of the grammar."""

    def value(self, maker: Maker) -> Value:
        """A value that is one of this version's."""

    def whole(self, value: Value) -> bytes: ...

    def decode(self, data: bytes) -> Decoded: ...

    def problem(self, data: bytes) -> tuple[str, int | None] | None:
        """Why the bytes are refused, and at which byte; None where they are not."""


@dataclass(frozen=True)
class Spoken:
    """A message of an API."""

    api: Api
    direction: Direction
    version: int

    def __str__(self) -> str:
        return f"{self.api.name}-{self.direction}-v{self.version}"

    @cached_property
    def grammar(self) -> WireStruct:
        return self.api.at(self.direction, self.version)

    @property
    def header(self) -> WireStruct:
        return header_grammar(self.api, self.version, self.direction)

    @property
    def question(self) -> dict[str, Any]:
        return {"api": self.api.key, "version": self.version, "direction": self.direction}

    def value(self, maker: Maker) -> Value:
        return maker.value(self.grammar)

    def whole(self, value: Value) -> bytes:
        """The message with its header, as it stands behind the four bytes of its size."""
        header = {"correlation_id": 7} | ({"client_id": "me"} if "client_id" in self.header.keys else {})
        return kdbg.encode(value, header=header, **self.question)

    def decode(self, data: bytes) -> Decoded:
        message = kdbg.decode(data, **self.question)
        again = kdbg.encode(message.body, header=message.header, **self.question)
        return Decoded(message.body, self.findings(data), again)

    def problem(self, data: bytes) -> tuple[str, int | None] | None:
        try:
            kdbg.decode(data, **self.question)
        except WireError as error:
            return error.kind, error.start
        return next(((finding.kind, finding.start) for finding in self.findings(data)), None)

    def findings(self, data: bytes) -> tuple[Finding, ...]:
        """What is odd in the message itself; its payloads are subjects of their own, and any bytes here."""
        return read(self.api, self.version, self.direction, data).findings


@dataclass(frozen=True)
class Carried:
    """A payload, with its frame."""

    payload: Payload
    version: int
    header = None

    def __str__(self) -> str:
        return f"{self.payload.name}-v{self.version}"

    @cached_property
    def grammar(self) -> WireStruct:
        return self.payload.reading(self.version).grammar

    def value(self, maker: Maker) -> Value:
        value = maker.value(self.grammar)
        return value | ({field: self.version} if (field := self.payload.version_field) else {})

    def whole(self, value: Value) -> bytes:
        return build(self.grammar, value)

    def decode(self, data: bytes) -> Decoded:
        chosen = self.payload.choose(data)
        assert (chosen.name, chosen.grammar) == (self.payload.name, self.grammar)
        inspection = inspect(chosen.grammar, data)
        return Decoded(inspection.value, tuple(inspection.findings), build(chosen.grammar, inspection.value))

    def problem(self, data: bytes) -> tuple[str, int | None] | None:
        try:
            found = inspect(self.payload.choose(data).grammar, data).findings
        except WireError as error:
            return error.kind, error.start
        return next(((finding.kind, finding.start) for finding in found), None)


MESSAGES = [Spoken(api, side, version) for api in grammars.apis() for side in DIRECTIONS for version in api.versions]
PAYLOADS = [Carried(payload, version) for payload in payloads() for version in payload.versions]
SUBJECTS: list[Subject] = [*MESSAGES, *PAYLOADS]


def name_of(subject: Subject) -> str:
    """The name of the API or payload, which is the same in all versions."""
    return subject.api.name if isinstance(subject, Spoken) else str(subject).rpartition("-")[0]


def variants(subject: Subject) -> Iterator[Value]:
    """The values to try."""
    return map(subject.value, values.makers(subject.grammar))


def full(subject: Subject) -> Value:
    """The one with everything in it."""
    return subject.value(Maker(0))
