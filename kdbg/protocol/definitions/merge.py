"""One direction of an API that is declared in two places: by kdbg for some versions, by a definition for others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..wire import Struct
from ..wire.language.types import At, Unread, Word, rules_of
from ..wire.nodes import WireStruct
from ..wire.nodes.base import Renamed
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
        self.told: set[int] = {version for _, versions in parts for version in versions}
        self.unread: Unread = Unread(secret=secret)

    def structure(self, at: At) -> WireStruct:
        return super().structure(at) if at.version in self.told else self.unread.structure(at)


def _within(field: Renamed, versions: Iterable[int]) -> Iterator[Renamed]:
    """Yield a declared field in those of its versions that are among these, one form for each run of them."""
    rules, of = rules_of(field)
    here = Versions(rules.first, min(rules.last, NEWEST))
    for run in joined(Versions(version, version) for version in versions):
        if both := run & here:
            word = Word(of, **rules._asdict() | {"first": both.first, "last": both.last})
            yield Renamed(word, newname=field.name, newdocs=field.docs)
