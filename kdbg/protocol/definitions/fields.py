"""One field of a definition: its keys read, and the rules that it must keep by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..wire.language.api import snake_case
from ..wire.nodes import NO_DEFAULT, TAGGED
from .entries import Keys, shown, suggestion
from .model import NEWEST, NO_VERSIONS, FieldDefinition, StructDefinition, Versions
from .primitives import ENTITIES, PRIMITIVES

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*", re.ASCII)
PLAIN = frozenset({
    "name", "type", "versions", "nullableVersions", "default", "ignorable", "mapKey", "entityType", "about", "tag",
    "taggedVersions", "flexibleVersions", "zeroCopy", "fields", "optionalFields",
})  # fmt: skip
OPTIONAL = frozenset({"name", "type", "tag", "nullable", "default", "about", "fields", "optionalFields"})
"""The keys of a field, and those of the draft's optional ones, which belong to every version that has any."""
LARGEST_TAG, LARGEST_OPTIONAL_TAG = NEWEST, (1 << 16) - 1


class Around(NamedTuple):
    """What a field stands in: `versions` are those of its structure, the others those of the message."""

    versions: Versions
    flexible: Versions
    with_optional: Versions
    in_array: bool


class Type(NamedTuple):
    """What "type" says; `struct` is what a name stands for, None for a primitive."""

    item: str
    array: bool
    struct: StructDefinition | None

    @property
    def nullable(self) -> bool:
        return self.array or self.struct is not None or PRIMITIVES[self.item].nullable

    def __str__(self) -> str:
        return f"{'[]' * self.array}{self.item}"


Resolve = Callable[[Keys, str, Around], StructDefinition]
"""Finds the structure that a field's type names: in the field's own `fields`, or in `commonStructs`."""


def plain_field(keys: Keys, around: Around, resolve: Resolve) -> FieldDefinition:
    """Read a field of `fields`; `DefinitionError` for a rule that it breaks."""
    tagged = keys.versions("taggedVersions", NO_VERSIONS)
    versions = keys.versions("versions", tagged or None)
    if not versions or versions.first > around.versions.last:  # earlier ones may have been dropped from the message
        raise keys.error(f"versions {versions} are none of the {around.versions} around the field", "versions")
    here = versions & around.versions
    type = _type(keys, around._replace(versions=here), resolve)
    nullable = keys.versions("nullableVersions", NO_VERSIONS)
    if nullable and not type.nullable:
        raise keys.error(f'"{type}" can never be null', "nullableVersions")
    return FieldDefinition(
        name(keys), keys.entries.line, type.item, type.array, versions, type.struct, nullable,
        _default(keys, type, here.within(nullable)), _tag(keys, around, versions, nullable), tagged,
        flexible=_override(keys, around, type), ignorable=keys.flag("ignorable"), map_key=_map_key(keys, around),
        zero_copy=_zero_copy(keys, type), entity=_entity(keys, type), about=_about(keys),
    )  # fmt: skip


def optional_field(keys: Keys, around: Around, resolve: Resolve) -> FieldDefinition:
    """Read a field of `optionalFields`, as the draft of KIP-482 has them."""
    versions = around.with_optional & around.versions
    type = _type(keys, around._replace(versions=versions), resolve)
    if type.array and type.struct:
        raise keys.error("an optional field can be of any type but an array of structures", "type")
    nullable = keys.flag("nullable")
    if nullable and not type.nullable:
        raise keys.error(f'"{type}" can never be null', "nullable")
    tag = keys.number("tag", LARGEST_OPTIONAL_TAG)
    if tag is None:
        raise keys.error('"tag" is missing')
    return FieldDefinition(
        name(keys), keys.entries.line, type.item, type.array, versions, type.struct,
        versions if nullable else NO_VERSIONS, _default(keys, type, nullable), tag, optional=True,
        about=_about(keys),
    )  # fmt: skip


def name(keys: Keys) -> str:
    found = keys.text("name")
    if not NAME.fullmatch(found):
        raise keys.error(f"a name is letters and digits, {shown(found)} is none", "name")
    if snake_case(found) == TAGGED:
        raise keys.error(f'"{found}" is where kdbg keeps the tagged fields that it does not know', "name")
    return found


def _about(keys: Keys) -> str:
    return " ".join(keys.text("about", "").split())


def _type(keys: Keys, around: Around, resolve: Resolve) -> Type:
    given = keys.text("type")
    item = given.removeprefix("[]")
    array = item != given
    if item in PRIMITIVES:
        for key in ("fields", "optionalFields"):
            if keys.has(key):
                raise keys.error(f'"{given}" has no fields, structures have', key)
        return Type(item, array, None)
    if item.startswith("[]"):
        raise keys.error("an array of arrays is not supported; put the inner array into a structure", "type")
    if not NAME.fullmatch(item) or not item[0].isupper():
        raise keys.error(f"unknown type {shown(item)}{suggestion(item, PRIMITIVES)}", "type")
    return Type(item, array, resolve(keys, item, around._replace(in_array=array)))


def _default(keys: Keys, type: Type, may_be_null: bool) -> Any:
    """Return the value that "default" says, NO_DEFAULT where it is the type's own.

    A null in JSON is no default, as Kafka's generator takes it; the string "null" is one.
    """
    given = keys.entries.get("default")
    if given is None or given == "":
        return NO_DEFAULT
    if given == "null" and type.nullable:
        if not may_be_null:
            raise keys.error("null cannot be the default: the field is not nullable in all its versions", "default")
        return None
    try:
        if type.array or type.struct:
            raise ValueError(f'the only default of "{type}" is "null"')
        value = PRIMITIVES[type.item].parse(given)
    except ValueError as error:
        raise keys.error(f'{shown(given)} cannot be the default of "{type}": {error}', "default") from None
    return value if value else NO_DEFAULT


def _tag(keys: Keys, around: Around, versions: Versions, nullable: Versions) -> int | None:
    """Return the tag of a field that is tagged in some versions, else None, and check the rules of KIP-482."""
    tag, tagged = keys.number("tag", LARGEST_TAG), keys.versions("taggedVersions", NO_VERSIONS)
    if (tag is None) != (not tagged):
        there, missing = ("tag", "taggedVersions") if tag is not None else ("taggedVersions", "tag")
        raise keys.error(f'"{there}" needs "{missing}" beside it', there)
    if not tagged:
        return None
    if tagged.last != NEWEST:
        raise keys.error(
            f'taggedVersions are open, such as "{tagged.first}+": tags are never used again', "taggedVersions"
        )
    if not tagged.within(versions):
        raise keys.error(f"taggedVersions {tagged} are not all among versions {versions}", "taggedVersions")
    if not (tagged & around.versions).within(around.flexible):
        raise keys.error(
            f"taggedVersions {tagged} are not all flexible: flexibleVersions are {around.flexible}", "taggedVersions"
        )
    if nullable & tagged and not tagged.within(nullable):
        raise keys.error("a tagged field may be null in all taggedVersions or in none", "nullableVersions")
    return tag


def _override(keys: Keys, around: Around, type: Type) -> Versions | None:
    """Return the field's own `flexibleVersions`, None where the message's hold: RequestHeader's ClientId has some."""
    if not keys.has("flexibleVersions"):
        return None
    flexible = keys.versions("flexibleVersions")
    if type.array or type.item not in ("string", "bytes"):
        raise keys.error('only "string" and "bytes" have flexibleVersions of their own', "flexibleVersions")
    if not (flexible & around.versions).within(around.flexible):
        raise keys.error(
            f"flexibleVersions {flexible} are not all among the message's, {around.flexible}", "flexibleVersions"
        )
    return flexible


def _map_key(keys: Keys, around: Around) -> bool:
    if keys.flag("mapKey") and not around.in_array:
        raise keys.error("mapKey is only allowed in a structure in an array", "mapKey")
    return keys.flag("mapKey")


def _zero_copy(keys: Keys, type: Type) -> bool:
    if keys.flag("zeroCopy") and str(type) != "bytes":
        raise keys.error('only "bytes" can be zeroCopy', "zeroCopy")
    return keys.flag("zeroCopy")


def _entity(keys: Keys, type: Type) -> str:
    entity = keys.text("entityType", "")
    if entity and entity not in ENTITIES:
        raise keys.error(f"there is no entityType {shown(entity)}{suggestion(entity, ENTITIES)}", "entityType")
    if entity and ENTITIES[entity] != type.item:
        raise keys.error(f'a {entity} is of type "{ENTITIES[entity]}", not "{type.item}"', "entityType")
    return entity
