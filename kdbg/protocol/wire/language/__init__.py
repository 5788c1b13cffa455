"""The words grammars are written in: types, version words, payloads, and the Api that ties them together.

An API is its key, its name, its two declarations and the versions they hold for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ....errors import UnknownVersion
from ..nodes import UnreadStruct, WireStruct
from .types import FOREVER, NEWEST, At, Release, Struct

Direction = Literal["request", "response"]
DIRECTIONS: tuple[Direction, Direction] = ("request", "response")


@dataclass(frozen=True)
class Dialect:
    """Another layout that some peers write for a version: tried where the real one does not fit the bytes."""

    direction: Direction
    versions: range
    name: str
    layout: Struct
    at: int = 0
    """The version that `layout` is read at."""
    release: Release = NEWEST
    """The release that `layout` is read at."""
    guide: str = ""
    """The guide of Kafka's that shows it, as 0.8: bodies may be written in it."""
    unless: tuple[str, object] | None = None
    """A field and a value that it never has in this form, where that tells it from bytes that only look like it."""
    quirk: str = ""
    """The code of the quirk (findings/quirks.py) that it is, where the quirk's condition holds."""

    def admits(self, body: Mapping[str, object]) -> bool:
        """Return whether a body read with this layout can have been written in this form."""
        return self.unless is None or body.get(self.unless[0]) != self.unless[1]


@dataclass(frozen=True, eq=False)
class Api:
    """An API. `flexible` is the first flexible version (KIP-482); the header versions follow from it but for two.

    `optional`: the versions with optional fields (the draft of KIP-482), none of them flexible.
    `classic_response_header`: ApiVersions, whose response must be readable before any version is agreed on (KIP-511).
    `headerless_until`: the last version whose request header has no client id (ControlledShutdown v0).
    `headerless`: no header at all (raw SASL tokens).
    `given`: the files that define it, or some of its versions, where they do not stand in kdbg.grammars.
    """

    key: int
    name: str
    request: Struct
    response: Struct
    versions: range
    flexible: int = FOREVER
    classic_response_header: bool = False
    headerless_until: int = -1
    headerless: bool = False
    dialects: tuple[Dialect, ...] = ()
    optional: range = range(0)
    given: tuple[str, ...] = ()
    _layouts: dict[tuple[Direction, int], WireStruct] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for declared in (self.request, self.response):
            declared.bind(self.flexible, self.optional)

    def at(self, direction: Direction, version: int) -> WireStruct:
        """Return the grammar of the body in one direction at one version; raise `UnknownVersion` outside `versions`."""
        layout = self._layouts.get((direction, version))
        if layout is None:
            if version not in self.versions:
                raise UnknownVersion(self.name, version, self.versions[0], self.versions[-1])
            declared = {"request": self.request, "response": self.response}[direction]
            layout = declared.structure(At(version, version >= self.flexible, optional=version in self.optional))
            self._layouts[direction, version] = layout
        return layout

    def reads(self, direction: Direction, version: int) -> bool:
        """Return whether the body of such a message has a grammar: a definition may give one direction alone."""
        return version in self.versions and not isinstance(self.at(direction, version), UnreadStruct)

    def header_version(self, direction: Direction, version: int) -> int:
        """Return the version of the request or response header that a message of this version carries."""
        flexible = version >= self.flexible
        if direction == "response":
            return 1 if flexible and not self.classic_response_header else 0
        return 0 if version <= self.headerless_until else 2 if flexible else 1

    def dialects_of(self, direction: Direction, version: int) -> list[tuple[Dialect, WireStruct]]:
        """Return the other forms in which this message has been seen, each with its layout."""
        return [
            (dialect, dialect.layout.structure(At(dialect.at, dialect.at >= self.flexible, dialect.release)))
            for dialect in self.dialects
            if dialect.direction == direction and version in dialect.versions
        ]

    def guide_layouts(self, direction: Direction, version: int) -> list[tuple[str, WireStruct]]:
        """Return (guide, layout) of each form that one of Kafka's guides shows and Kafka itself does not write."""
        return [(dialect.guide, layout) for dialect, layout in self.dialects_of(direction, version) if dialect.guide]


def snake_case(name: str) -> str:
    """Return a CamelCase name of Kafka's in snake_case, as its own generator writes it: `isKRaft` -> `is_kraft`."""
    return re.sub(r"(?<=[^A-Z])(?=[A-Z])", "_", name).lower()
