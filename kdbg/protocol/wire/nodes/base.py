"""construct's base classes, with types: construct itself has none, and its classes cannot be subscripted.

A type checker sees as much of them as kdbg uses; a running program gets construct's own.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:

    class AnyConstruct:
        """`construct.Construct`: what reads bytes into values and writes values as bytes."""

        name: str | None
        docs: str

        def parse(self, data: bytes, **context: Any) -> Any:
            """Read a value from bytes; `context` is what construct's context holds, such as `version`."""

        def build(self, obj: Any, **context: Any) -> bytes:
            """Return the bytes of a value."""

        def __rtruediv__(self, name: str) -> Renamed:
            """Return the field of that name: `"name" / construct`."""

        def __mul__(self, text: str) -> Self:
            """Return the same with a text that says what it means: `construct * "text"`."""

    class AnySubconstruct(AnyConstruct):
        """`construct.Subconstruct`: a construct around another."""

        subcon: AnyConstruct

        def __init__(self, subcon: AnyConstruct) -> None:
            """Make a construct around `subcon`."""

    class Renamed(AnySubconstruct):
        """`construct.Renamed`: a field, with its name and what it means."""

        def __init__(self, subcon: AnyConstruct, newname: str | None = None, newdocs: str | None = None) -> None:
            """Make a field of `subcon` with a name and a text."""
else:
    from construct import Construct as AnyConstruct
    from construct import Renamed
    from construct import Subconstruct as AnySubconstruct

__all__ = ["AnyConstruct", "AnySubconstruct", "DocumentedConstruct", "Renamed", "documented"]
Type = TypeVar("Type", bound=AnyConstruct)


def documented(of: Type, text: str) -> Type:
    """Return a copy of the type with a text: what fields of this type mean where they do not say it themselves."""
    same = copy.copy(of)
    same.docs = text
    return same


class DocumentedConstruct(AnyConstruct):
    """A construct with the attributes that construct sets in `__init__` as the class's: subclasses are dataclasses."""

    name: str | None = None
    docs: str = ""
    flagbuildnone: bool = False
    parsed: None = None

    def __mul__(self, text: str) -> Self:
        """Return the type with a text that says what it means; construct's own `*` would make it a nameless field."""
        return documented(self, text)
