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
from typing import Any, NamedTuple, Protocol

from ..errors import BadValue
from .nodes import INT16, WireStruct
from .types import FOREVER, At, Struct

Around = Mapping[str, Any]
"""The values that stand around a payload by their names, those of the nearest structure first."""


class Reading(NamedTuple):
    """One way to read bytes: Kafka's name for what they then are, and the grammar of all of them."""

    name: str
    grammar: WireStruct


class Readable(Protocol):
    """Something that bytes may be; `choose` raises `WireError` where their beginning says that they are not."""

    def choose(self, data: bytes) -> Reading: ...


Holding = Callable[[bytes, Around], Iterable[Readable]]
"""What bytes may be, likeliest first. One answer is a claim, several are guesses; none means that nothing is known."""

VERSION: tuple[Any, ...] = ("version" / INT16,)
"""What stands in front of most payloads."""


@dataclass(frozen=True, eq=False)
class Payload:
    """A kind of payload, in all its versions.

    `frame` are the fields in front of `layout`; one of them, or the layout's own first field, is called `version`
    unless there is but one version. `flexible` is the first flexible version (KIP-482).
    """

    name: str
    layout: Struct
    versions: range = range(1)
    flexible: int = FOREVER
    frame: tuple[Any, ...] = VERSION
    _framed: dict[int, WireStruct] = field(default_factory=dict, repr=False)

    def at(self, version: int) -> WireStruct:
        """The layout alone, as Kafka's definition of it has it."""
        return self.layout.structure(At(version, version >= self.flexible))

    def framed(self, version: int) -> WireStruct:
        """The layout behind its frame: the grammar of all the bytes."""
        found = self._framed.get(version)
        if found is None:
            whole = Struct(*self.frame, *self.layout.declared)
            found = self._framed[version] = whole.structure(At(version, version >= self.flexible))
        return found

    def choose(self, data: bytes) -> Reading:
        """The grammar of the version that the bytes say they are."""
        version = self.version_of(data)
        if version not in self.versions:
            known = f"{self.versions[0]} to {self.versions[-1]}"
            raise BadValue("version", 0, f"version {version} of {self.name}, kdbg knows {known}")
        return Reading(self.name, self.framed(version))

    def version_of(self, data: bytes) -> int:
        """The version that the bytes say, by their frame or by the first field behind it."""
        head = Struct(*(self.frame or self.layout.declared[:1]))
        said = head.structure(At(self.versions[0], False))._parse(io.BytesIO(data), None, "")
        return int(said.get("version", self.versions[0]))


class Opened(bytes):
    """The bytes of a payload, and beside them what they say: `name` of the payload, its `grammar` and its `value`."""

    name: str
    grammar: WireStruct
    value: dict[str, Any]

    @classmethod
    def of(cls, data: bytes, reading: Reading, value: dict[str, Any]) -> Opened:
        opened = cls(data)
        opened.name, opened.grammar, opened.value = reading.name, reading.grammar, value
        return opened
