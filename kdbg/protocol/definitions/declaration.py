"""A definition in, a declaration out, in the words that the grammars of kdbg are written in: `declare`.

What a definition says in several keys becomes one field for each way in which it stands on the wire: one that is
tagged only since version 3 is a plain field up to version 2 and a tagged one from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...errors import UnknownVersion
from ..wire import FOREVER, Array, Classic, Struct
from ..wire.language.api import snake_case
from ..wire.language.types import At, Word
from ..wire.nodes import WireStruct, join
from ..wire.nodes.base import Renamed
from .meanings import NOTHING, Known, meant
from .model import FieldDefinition, MessageDefinition, StructDefinition, Versions
from .parse import read
from .primitives import PRIMITIVES


class Declared(NamedTuple):
    """A message as a declaration, with the versions that it holds for."""

    name: str
    struct: Struct
    versions: range
    flexible: int
    """The first flexible version; FOREVER where none is."""
    optional: range
    """The versions with the draft's optional fields."""

    def at(self, version: int) -> WireStruct:
        """Return the grammar at one version; `UnknownVersion` for one that there is not."""
        if version not in self.versions:
            raise UnknownVersion(self.name, version, self.versions.start, self.versions.stop - 1)
        return self.struct.structure(At(version, version >= self.flexible, optional=version in self.optional))


def declare(message: MessageDefinition, own: Known = NOTHING) -> Declared:
    """Return the declaration of a message; `own` are the fields of kdbg's own grammar for it (meanings.known)."""
    flexible = message.flexible.first if message.flexible else FOREVER
    struct = _Declaring(message, own).struct(message.body, "")
    return Declared(
        message.name, struct, message.valid.closed(), flexible, (message.with_optional & message.valid).closed()
    )


def declared(text: str, file: str) -> Declared:
    """Return the declaration of the message that a definition file's text defines; `file` is its name in errors."""
    return declare(read(text, file))


class _Declaring:
    """One message being declared."""

    def __init__(self, message: MessageDefinition, own: Known) -> None:
        self.message, self.own = message, own

    def struct(self, struct: StructDefinition, path: str) -> Struct:
        fields = (*struct.optional_fields, *struct.fields)
        return Struct(*(form for field in fields for form in self.forms(field, join(path, snake_case(field.name)))))

    def forms(self, field: FieldDefinition, path: str) -> Iterator[Renamed]:
        """Yield the field in each form that it has on the wire, with the versions that have it in that form."""
        of = self.type(field, path)
        for versions in field.versions.without(field.tagged):
            tag = {"tag": field.tag, "optional": True} if field.optional else {}
            yield from self.compact_or_not(field, of, versions, tag)
        yield from self.compact_or_not(field, of, field.tagged, {"tag": field.tag})

    def compact_or_not(
        self, field: FieldDefinition, of: Any, versions: Versions, tag: dict[str, Any]
    ) -> Iterator[Renamed]:
        """Yield the field in these versions: classic in those that its own `flexibleVersions` leave out."""
        flexible = versions if field.flexible is None else field.flexible
        if versions & flexible:
            yield self.field(field, of, versions & flexible, tag)
        for classic in versions.without(flexible):
            yield self.field(field, Classic(of), classic, tag)

    def field(self, field: FieldDefinition, of: Any, versions: Versions, tag: dict[str, Any]) -> Renamed:
        """Return the field with everything that stands in front of its type."""
        rules = {"first": versions.first, "last": versions.last, "initial": field.default, "ignorable": field.ignorable}
        if field.nullable:
            rules |= {"nullable_from": field.nullable.first, "nullable_until": field.nullable.last}
        return Renamed(Word(of, **rules, **tag), newname=snake_case(field.name), newdocs=field.about)

    def type(self, field: FieldDefinition, path: str) -> Any:
        if field.struct is not None:
            struct = self.struct(field.struct, path)
            return Array(struct) if field.array else struct
        of = meant(PRIMITIVES[field.item].wire, field.item, path, field.entity, self.own)
        return Array(of) if field.array else of
