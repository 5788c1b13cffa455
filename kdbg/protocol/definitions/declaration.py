"""What a field's value stands for, as far as its definition tells: an error code, a duration, a secret.

Where kdbg has a grammar of the API itself, a field that stands there as well, at the same place and of the same type,
means what it means there. For the others it goes by `entityType` and by the names that Kafka gives its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...errors import UnknownVersion
from ..wire import (
    FOREVER,
    ApiKey,
    Array,
    Classic,
    Duration,
    Duration64,
    ErrorCode,
    GroupId,
    Partition,
    Secret,
    Struct,
    Timestamp,
    TopicId,
    TopicName,
)
from ..wire.language import snake_case
from ..wire.language.types import At, Text, Word, rules_of
from ..wire.nodes import WireStruct, join
from ..wire.nodes.base import Renamed
from .model import FieldDefinition, MessageDefinition, StructDefinition, Versions
from .parse import read
from .primitives import PRIMITIVES

ENTITIES = {"topicName": TopicName, "groupId": GroupId}
NAMES = {
    "int16": ((r"(.*_)?error_code", ErrorCode), (r"api_key", ApiKey)),
    "int32": ((r"partition(_id|_index)?|partitions|partition_(ids|indexes)", Partition), (r".*_ms", Duration)),
    "int64": ((r".*timestamp(_ms)?|.*(append|start)_time_ms", Timestamp), (r".*_ms", Duration64)),
    "uuid": ((r"topic_ids?", TopicId),),
}
"""Type by type: which names mean what; the first that fits."""
SECRET = re.compile(
    r"(.*_)?(password|passphrase|secret|hmac|salt|token|credentials?|private_key|jaas_config|auth_bytes)"
)
"""Names of strings and bytes that are hidden whatever the API."""
Known = Mapping[str, Any]
"""Path -> type of every field that a grammar of kdbg's own has."""
NOTHING: Known = {}


def known(struct: Struct, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, type) of the fields that hold values themselves, in all versions of a declaration."""
    for field in struct.declared:
        here, (_, of) = join(path, field.name or ""), rules_of(field)
        while isinstance(of, (Array, Classic)):
            of = of.of
        if isinstance(of, Struct):
            yield from known(of, here)
        else:
            yield here, of


def meant(wire: Any, item: str, path: str, entity: str, own: Known) -> Any:
    """Return a primitive type with its meaning: that of kdbg's own field, a secret's, its entity's or its name's.

    `item` is the type's name in the definition, `path` the field's in snake_case.
    """
    same = own.get(path)
    if same is not None and _alike(same, wire):
        return same
    name = path.rpartition(".")[2]
    if isinstance(wire, Text) and (SECRET.fullmatch(name) or name in _secret_names(own)):
        return Secret(wire)
    if entity in ENTITIES:
        return ENTITIES[entity]
    return next((of for pattern, of in NAMES.get(item, ()) if re.fullmatch(pattern, name)), wire)


def _alike(one: Any, other: Any) -> bool:
    """Return whether two types are the same on the wire."""
    return type(one) is type(other) and getattr(one, "bnf", "") == getattr(other, "bnf", "")


def _secret_names(own: Known) -> set[str]:
    """Return the names of fields that kdbg's own grammar has as secrets: they are secret anywhere in the API."""
    return {path.rpartition(".")[2] for path, of in own.items() if isinstance(of, Text) and of.kind == "secret"}


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
