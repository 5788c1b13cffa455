"""One direction of an API that is declared in two places: by kdbg for some versions, by a definition for others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import construct

from ..wire import Struct
from ..wire.language.types import At, Unread, Word, rules_of
from ..wire.nodes import WireStruct
from .model import NEWEST, Versions
from .ranges import joined

Part = tuple[Struct, set[int]]
"""A declaration, and the versions that it is followed in."""


class Joined(Struct):
    """The fields of several declarations, each in its versions alone; bodies of all other versions stay bytes."""

    def __init__(self, *parts: Part, secret: bool) -> None:
        super().__init__(
            *(form for of, versions in parts for field in of.declared for form in _within(field, versions))
        )
        self.told = {version for _, versions in parts for version in versions}
        self.unread = Unread(secret=secret)

    def structure(self, at: At) -> WireStruct:
        return super().structure(at) if at.version in self.told else self.unread.structure(at)


def _within(field: construct.Renamed[Any, Any], versions: Iterable[int]) -> Iterator[construct.Renamed[Any, Any]]:
    """A declared field, as far as these versions have it."""
    rules, of = rules_of(field)
    here = Versions(rules.first, min(rules.last, NEWEST))
    for run in joined(Versions(version, version) for version in versions):
        if both := run & here:
            word = Word(of, **vars(rules) | {"first": both.first, "last": both.last})
            yield construct.Renamed(word, newname=field.name, newdocs=field.docs)
