"""One field of a definition: its keys read, and the rules that it must keep by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

from ...errors import DefinitionError
from ..wire.language import snake_case
from ..wire.nodes import NO_DEFAULT, TAGGED, join
from .model import (
    ALL_VERSIONS,
    ENTITIES,
    NEWEST,
    NO_VERSIONS,
    PRIMITIVES,
    FieldDefinition,
    Kind,
    MessageDefinition,
    StructDefinition,
    Versions,
)
from .text import Keys, parse, shown, suggestion

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
        raise keys.error(f"versions {versions} are outside versions {around.versions} of the structure", "versions")
    here = versions & around.versions
    type = _type(keys, around._replace(versions=here), resolve)
    nullable = keys.versions("nullableVersions", NO_VERSIONS)
    if nullable and not type.nullable:
        raise keys.error(f'"{type}" can never be null', "nullableVersions")
    return FieldDefinition(
        name(keys), keys.entries.line, type.item, type.array, versions, type.struct, nullable,
        _default(keys, type, here.within(nullable)), _tag(keys, around, versions, nullable), tagged,
        flexible=_override(keys, around, type), ignorable=keys.flag("ignorable"),
        map_key=_flag(keys, "mapKey", around.in_array, "mapKey is only allowed in a structure in an array"),
        zero_copy=_flag(keys, "zeroCopy", str(type) == "bytes", 'only "bytes" can be zeroCopy'),
        entity=_entity(keys, type), about=" ".join(keys.text("about", "").split()),
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
        about=" ".join(keys.text("about", "").split()),
    )  # fmt: skip


def name(keys: Keys) -> str:
    found = keys.text("name")
    if not NAME.fullmatch(found):
        raise keys.error(f"invalid name {shown(found)}; use letters and digits", "name")
    if snake_case(found) == TAGGED:
        raise keys.error(f'"{found}" is reserved: kdbg stores unknown tagged fields under this name', "name")
    return found


def _type(keys: Keys, around: Around, resolve: Resolve) -> Type:
    given = keys.text("type")
    item = given.removeprefix("[]")
    array = item != given
    if item in PRIMITIVES:
        for key in ("fields", "optionalFields"):
            if key in keys.entries:
                raise keys.error(f'"{key}" requires a structure; the type is "{given}"', key)
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
        raise keys.error(f'"{there}" requires "{missing}"', there)
    if not tagged:
        return None
    if tagged.last != NEWEST:
        raise keys.error(
            f'taggedVersions must not end, as in "{tagged.first}+": tags are never reused', "taggedVersions"
        )
    if not tagged.within(versions):
        raise keys.error(f"taggedVersions {tagged} are outside versions {versions}", "taggedVersions")
    if not (tagged & around.versions).within(around.flexible):
        raise keys.error(
            f"taggedVersions {tagged} are not all flexible: flexibleVersions are {around.flexible}", "taggedVersions"
        )
    if nullable & tagged and not tagged.within(nullable):
        raise keys.error("a tagged field may be null in all taggedVersions or in none", "nullableVersions")
    return tag


def _override(keys: Keys, around: Around, type: Type) -> Versions | None:
    """Return the field's own `flexibleVersions`, None where the message's hold: RequestHeader's ClientId has some."""
    if "flexibleVersions" not in keys.entries:
        return None
    flexible = keys.versions("flexibleVersions")
    if type.array or type.item not in ("string", "bytes"):
        raise keys.error('only "string" and "bytes" have flexibleVersions of their own', "flexibleVersions")
    if not (flexible & around.versions).within(around.flexible):
        raise keys.error(
            f"flexibleVersions {flexible} exceed those of the message, {around.flexible}", "flexibleVersions"
        )
    return flexible


def _flag(keys: Keys, key: str, allowed: bool, problem: str) -> bool:
    if keys.flag(key) and not allowed:
        raise keys.error(problem, key)
    return keys.flag(key)


def _entity(keys: Keys, type: Type) -> str:
    entity = keys.text("entityType", "")
    if entity and entity not in ENTITIES:
        raise keys.error(f"unknown entityType {shown(entity)}{suggestion(entity, ENTITIES)}", "entityType")
    if entity and ENTITIES[entity] != type.item:
        raise keys.error(f'a {entity} is of type "{ENTITIES[entity]}", not "{type.item}"', "entityType")
    return entity


MESSAGE = frozenset({
    "apiKey", "type", "name", "validVersions", "flexibleVersions", "deprecatedVersions", "latestVersionUnstable",
    "listeners", "commonStructs", "fields", "versionsWithOptional", "optionalFields",
})  # fmt: skip
STRUCT = frozenset({"name", "versions", "about", "fields", "optionalFields"})
MOST_FIELDS, MOST_IN_ALL, DEEPEST = 10_000, 250_000, 24
"""Fields of a message, counting a structure each time it is named; the same in all versions together; structures
inside each other."""


def read(text: str, file: str) -> MessageDefinition:
    """Read and check a definition; `file` is its name in errors. `DefinitionError` for whatever is wrong."""
    return _Reading(Keys(parse(text, file), file, "", 1, MESSAGE)).message()


class _Reading:
    """One file being read. `structs` are the common structures read so far, `open` those that are being read."""

    def __init__(self, keys: Keys) -> None:
        self.keys, self.file = keys, keys.file
        self.valid = keys.versions("validVersions")
        self.flexible = keys.versions("flexibleVersions", NO_VERSIONS)
        self.with_optional = keys.versions("versionsWithOptional", NO_VERSIONS)
        self.common: dict[str, Keys] = {}
        self.structs: dict[str, StructDefinition] = {}
        self.open: list[str] = []

    def message(self) -> MessageDefinition:
        keys, given = self.keys, self.keys.text("type")
        kind: Kind | None = next((one for one in get_args(Kind) if one == given), None)
        if kind is None:
            raise keys.error(f"unknown message type {shown(given)}{suggestion(given, get_args(Kind))}", "type")
        title = name(keys)
        api_key = keys.number("apiKey", NEWEST)
        if api_key is None and kind in ("request", "response"):
            raise keys.error(f'"apiKey" is missing: a {kind} has one')
        self.check_versions()
        for i, entries in enumerate(keys.list("commonStructs")):
            common = self.keys_of(keys, "commonStructs", i, entries, STRUCT)
            named = name(common)
            if named in self.common:
                raise common.error(f'there is another structure "{named}" on line {self.common[named].entries.line}')
            self.common[named] = common
        for named in self.common:
            self.shared(named)
        listeners = keys.list("listeners")
        if not all(isinstance(listener, str) for listener in listeners):
            raise keys.error("listeners are strings", "listeners")
        body = self.structure(keys, title, Around(self.valid, self.flexible, self.with_optional, False))
        if body.size * len(self.valid.closed()) > MOST_IN_ALL:
            raise keys.error(f"too many fields in all versions: at most {MOST_IN_ALL:,}", "validVersions")
        return MessageDefinition(
            self.file, title, kind, api_key, self.valid, self.flexible, body,
            self.with_optional, keys.versions("deprecatedVersions", NO_VERSIONS), keys.flag("latestVersionUnstable"),
            tuple(listeners),
        )  # fmt: skip

    def check_versions(self) -> None:
        """Refuse ranges of the message that contradict Kafka's rules, or a message without fields."""
        keys = self.keys
        if self.valid.last == NEWEST:
            raise keys.error("validVersions must have a highest version", "validVersions")
        if self.flexible and self.flexible.last != NEWEST:
            raise keys.error(
                f'flexibleVersions must not end, as in "{self.flexible.first}+", or be "none"', "flexibleVersions"
            )
        if self.valid & self.flexible & self.with_optional:
            raise keys.error(
                "a version has tagged fields (flexibleVersions) or the optional fields of their draft, not both",
                "versionsWithOptional",
            )
        if self.valid and "fields" not in keys.entries:
            raise keys.error('"fields" is missing')

    def shared(self, title: str) -> StructDefinition:
        """Return a structure of `commonStructs`, read when first named; `DefinitionError` if it holds itself."""
        keys = self.common[title]
        if title in self.open:
            raise keys.error(f"a structure cannot contain itself: {' → '.join([*self.open, title])}")
        if title not in self.structs:
            if len(self.open) >= DEEPEST:
                raise keys.error(f"structures nested more than {DEEPEST} deep")
            self.open.append(title)
            around = Around(
                keys.versions("versions", ALL_VERSIONS) & self.valid, self.flexible, self.with_optional, True
            )
            self.structs[title] = self.structure(keys, title, around)
            self.open.pop()
        return self.structs[title]

    def resolve(self, keys: Keys, title: str, around: Around) -> StructDefinition:
        """Return the structure that a field's type names: from the field's own `fields`, or `commonStructs`."""
        own = "fields" in keys.entries or "optionalFields" in keys.entries
        if title in self.common:
            if own:
                raise keys.error(f'"{title}" has its fields in commonStructs already', "fields")
            return self.shared(title)
        if not own:
            hint = suggestion(title, self.common)
            raise keys.error(f'no structure "{title}": neither "fields" here nor in commonStructs{hint}', "type")
        return self.structure(keys, title, around)

    def structure(self, keys: Keys, title: str, around: Around) -> StructDefinition:
        """Read the "fields" and "optionalFields" of an object into a structure, and check it as a whole."""
        if "optionalFields" in keys.entries and not self.with_optional:
            raise keys.error('optionalFields need "versionsWithOptional" at the top', "optionalFields")
        fields, optional = (
            tuple(
                read_field(self.keys_of(keys, key, i, entries, known), around, self.resolve)
                for i, entries in enumerate(keys.list(key))
            )
            for key, known, read_field in (("fields", PLAIN, plain_field), ("optionalFields", OPTIONAL, optional_field))
        )
        seen: dict[str, FieldDefinition] = {}
        for field in (*fields, *optional):
            other = seen.setdefault(snake_case(field.name), field)
            if other is not field:
                raise self.wrong(keys, field, f"line {other.line} already has a field of this name")
        self.check_tags(keys, fields)
        self.check_tags(keys, optional)
        struct = StructDefinition(title, keys.entries.line, around.versions, fields, optional)
        if struct.size > MOST_FIELDS:
            raise keys.error(f"too many fields, with those of nested structures: at most {MOST_FIELDS:,}")
        if struct.depth > DEEPEST:
            raise keys.error(f"structures nested more than {DEEPEST} deep")
        return struct

    def keys_of(self, around: Keys, key: str, index: int, entries: Any, known: frozenset[str]) -> Keys:
        """Return the keys of an object in a list; its path has its name, or its index where it has none."""
        given = entries.get("name") if isinstance(entries, dict) else None
        named = isinstance(given, str) and NAME.fullmatch(given)
        path = join(around.path, str(given) if named else f"{key}[{index}]")
        return Keys(entries, self.file, path, around.entries.lines[key], known)

    def check_tags(self, keys: Keys, fields: tuple[FieldDefinition, ...]) -> None:
        """Refuse a tag used twice; tagged fields also need tags from 0 on without gaps, optional ones do not."""
        tagged = sorted((field for field in fields if field.tag is not None), key=lambda field: field.tag or 0)
        for i, field in enumerate(tagged):
            before = tagged[i - 1] if i else None
            if before is not None and before.tag == field.tag:
                raise self.wrong(keys, field, f"tag {field.tag} is already used by {before.name} on line {before.line}")
            if field.tag != i and not field.optional:
                raise self.wrong(keys, field, f"tag {field.tag} without a tag {i}: tags must be consecutive from 0")

    def wrong(self, keys: Keys, field: FieldDefinition, problem: str) -> DefinitionError:
        """Make the error for a field of a structure, with the field's own line and path."""
        return DefinitionError(self.file, field.line, join(keys.path, field.name), problem)
