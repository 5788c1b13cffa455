"""Payloads: bytes of a message that are laid out by a grammar of their own.

A consumer's subscription in JoinGroup, the keys and values of `__consumer_offsets`, a request in an Envelope: the
message that carries them calls them BYTES, and what they are is said by something around them, such as a protocol
type, a topic's name, or their own first bytes. A declaration says so with `Holds(Bytes, holding)`; `holding` looks at
the bytes and at the values around them and names what they may be.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from ....errors import BadValue, WireError
from ...findings.faults import FaultKind
from ..nodes import INT16, WireStruct
from .types import FOREVER, NEWEST, At, Release, Struct

Around = Mapping[str, Any]
"""The values that stand around a payload by their names, those of the nearest structure first."""


class PayloadForm(NamedTuple):
    """One way to read bytes: Kafka's name for what they then are, and the grammar of all of them.

    `former` are the forms that older releases and other clients wrote under the same version, tried where this one does
    not fit; such a form says so in `note`, and in `quirk` which one it is (findings/quirks.py), if it is one.
    """

    name: str
    grammar: WireStruct
    note: str = ""
    quirk: str = ""
    former: tuple[PayloadForm, ...] = ()


class Readable(Protocol):
    """Something that bytes may be; `choose` raises `WireError` where their beginning says that they are not."""

    def choose(self, data: bytes) -> PayloadForm: ...


@dataclass(frozen=True)
class PayloadRefused:
    """Bytes that are no payload that kdbg knows, and why; beside others, it says that those are guesses."""

    error: WireError

    def choose(self, data: bytes) -> PayloadForm:
        raise self.error


Holding = Callable[[bytes, Around], Iterable[Readable]]
"""What bytes may be, likeliest first. One answer is a claim, several are guesses; none means that nothing is known."""


class RecordPayloads(NamedTuple):
    """What the keys and the values of a topic's records are; around a value stands "key", the bytes of its key.

    `secret`: there may be secrets in them, so that none is shown that cannot be read.
    """

    key: Holding
    value: Holding
    secret: bool = False


class Mistaken(NamedTuple):
    """Bytes that say that they are one of `versions`, and are laid out as version `at`; `quirk` is its code."""

    versions: range
    at: int
    quirk: str


VERSION: tuple[Any, ...] = (
    "version" / INT16 * "version of the layout; in the key of a coordinator's record the kind of record",
)
"""What stands in front of most payloads."""


@dataclass(frozen=True, eq=False)
class Payload:
    """A kind of payload, in all its versions.

    `frame` are the fields in front of `layout`; the last of them, or without a frame the layout's own first field, says
    the version, if its name ends in "version". `flexible` is the first flexible version (KIP-482).

    Kafka has changed the layout of some first versions after they were in use. `releases` are the last ones with an
    older layout of it, the newest first (see `BeforeRelease`); before `flexible_release` it was not flexible. Clients
    have been `mistaken` as well.
    """

    name: str
    layout: Struct
    versions: range = range(1)
    flexible: int = FOREVER
    frame: tuple[Any, ...] = VERSION
    releases: tuple[Release, ...] = ()
    flexible_release: Release = (0, 0)
    mistaken: tuple[Mistaken, ...] = ()
    _readings: dict[int, PayloadForm] = field(default_factory=dict, repr=False)

    def at(self, version: int, release: Release = NEWEST) -> WireStruct:
        """Return the layout of a version without the frame, as Kafka's definition has it in that release."""
        return self.layout.structure(self._at(version, release))

    def framed(self, version: int, release: Release = NEWEST) -> WireStruct:
        """Return the frame and the layout after it: the grammar of all the bytes of a version in that release."""
        return Struct(*self.frame, *self.layout.declared).structure(self._at(version, release))

    def _at(self, version: int, release: Release) -> At:
        return At(version, version >= self.flexible and release >= self.flexible_release, release)

    def choose(self, data: bytes) -> PayloadForm:
        """Return the reading for the version that the bytes name; raise `BadValue` for one outside `versions`."""
        version = self.version_of(data)
        if version not in self.versions:
            lowest, highest = self.versions[0], self.versions[-1]
            fault = FaultKind.UNKNOWN_PAYLOAD_VERSION.of(
                name=self.name, version=version, lowest=lowest, highest=highest
            )
            raise BadValue("version", 0, fault)
        return self.reading(version)

    def reading(self, version: int) -> PayloadForm:
        """Return how the bytes of a version are read, with its former layouts; `version` must be one of `versions`."""
        found = self._readings.get(version)
        if found is None:
            former = [
                PayloadForm(
                    self.name, self.framed(version, release), f"version {version} as written by Kafka {major}.{minor}"
                )
                for release in (self.releases if version == self.versions[0] else ())
                for major, minor in [release]
            ]
            former += [
                PayloadForm(self.name, self.framed(at), f"version {version} laid out as version {at}", quirk)
                for versions, at, quirk in self.mistaken
                if version in versions
            ]
            found = self._readings[version] = PayloadForm(self.name, self.framed(version), former=tuple(former))
        return found

    @cached_property
    def _head(self) -> WireStruct:
        """Return the structure of the first fields, up to the one that says the version."""
        return Struct(*(self.frame or self.layout.declared[:1])).structure(At(self.versions[0], False))

    @cached_property
    def version_field(self) -> str:
        """Return the name of the field that says the version; "" where the bytes say none, and there is only one."""
        name = self._head.fields[-1].name
        return name if name.endswith("version") else ""

    def version_of(self, data: bytes) -> int:
        """Return the version that the bytes name, or the only one there is where they name none."""
        if not self.version_field:
            return self.versions[0]
        stream, version = io.BytesIO(data), 0
        for name, node, *_ in self._head.fields:
            version = int(node._parse(stream, None, name))
        return version


class OpenedPayload(bytes):
    """The bytes of a payload, and beside them what they say: `name` of the payload, its `grammar` and its `value`.

    `secret`: something in it must be hidden, in the value itself or in a payload inside it.
    """

    name: str
    grammar: WireStruct
    value: dict[str, Any]
    secret: bool

    @classmethod
    def of(cls, data: bytes, name: str, grammar: WireStruct, value: dict[str, Any], *, secret: bool) -> OpenedPayload:
        opened = cls(data)
        opened.name, opened.grammar, opened.value, opened.secret = name, grammar, value, secret
        return opened


class Sealed(bytes):
    """The bytes of a payload that may hold secrets and could not be read: no view shows them by default."""
