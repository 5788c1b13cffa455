"""What a field's value stands for, as far as its definition tells: an error code, a duration, a secret.

Where kdbg has a grammar of the API itself, a field that stands there as well, at the same place and of the same type,
means what it means there. For the others it goes by `entityType` and by the names that Kafka gives its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...errors import UnknownVersion
from ..wire import ApiKey, Duration, Duration64, ErrorCode, GroupId, Partition, Timestamp, TopicId, TopicName
from ..wire.language import snake_case
from ..wire.language.types import FOREVER, Array, At, Classic, Secret, Struct, Text, Word, rules_of
from ..wire.nodes import WireStruct, join
from ..wire.nodes.base import Renamed
from .model import PRIMITIVES, FieldDefinition, MessageDefinition, StructDefinition
from .parse import read

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
    same, name = own.get(path), path.rpartition(".")[2]
    if type(same) is type(wire) and getattr(same, "bnf", "") == getattr(wire, "bnf", ""):  # the same on the wire
        return same
    # What kdbg's own grammar has as secrets is secret anywhere in the API.
    secrets = {one.rpartition(".")[2] for one, of in own.items() if isinstance(of, Text) and of.kind == "secret"}
    if isinstance(wire, Text) and (SECRET.fullmatch(name) or name in secrets):
        return Secret(wire)
    if entity in ENTITIES:
        return ENTITIES[entity]
    return next((of for pattern, of in NAMES.get(item, ()) if re.fullmatch(pattern, name)), wire)


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
    optional = (message.with_optional & message.valid).closed()
    return Declared(message.name, _struct(message.body, "", own), message.valid.closed(), flexible, optional)


def declared(text: str, file: str) -> Declared:
    """Return the declaration of the message that a definition file's text defines; `file` is its name in errors."""
    return declare(read(text, file))


def _struct(struct: StructDefinition, path: str, own: Known) -> Struct:
    fields = (*struct.optional_fields, *struct.fields)
    return Struct(*(form for field in fields for form in _forms(field, join(path, snake_case(field.name)), own)))


def _forms(field: FieldDefinition, path: str, own: Known) -> Iterator[Renamed]:
    """Yield the field in each form that it has on the wire, with the versions that have it in that form.

    It is classic in the versions that its own `flexibleVersions` leave out.
    """
    of: Any = (
        meant(PRIMITIVES[field.item].wire, field.item, path, field.entity, own)
        if field.struct is None
        else _struct(field.struct, path, own)
    )
    of = Array(of) if field.array else of
    tag = {"tag": field.tag, "optional": True} if field.optional else {}
    parts = [(versions, tag) for versions in field.versions.without(field.tagged)]
    for versions, tagged in (*parts, (field.tagged, {"tag": field.tag})):
        flexible = versions if field.flexible is None else field.flexible
        forms = [(versions & flexible, of), *((classic, Classic(of)) for classic in versions.without(flexible))]
        for part, type in forms:
            if part:
                rules = {"first": part.first, "last": part.last, "initial": field.default} | tagged
                if field.nullable:
                    rules |= {"nullable_from": field.nullable.first, "nullable_until": field.nullable.last}
                word = Word(type, ignorable=field.ignorable, **rules)
                yield Renamed(word, newname=snake_case(field.name), newdocs=field.about)
