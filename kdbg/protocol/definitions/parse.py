"""The text of a definition file in, the checked model out: `read`. What is wrong names its file, line and field.

The format is the one that Kafka's README of its message definitions describes, as its files use it today, and the
draft of KIP-482 with `versionsWithOptional` and `optionalFields`. The rules are those of Kafka's generator. A structure
is read once, however often it is named, and counted: a few lines could stand for more fields than memory holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from ...errors import DefinitionError
from ..wire.language.api import snake_case
from ..wire.nodes import join
from .entries import Keys, shown, suggestion
from .fields import NAME, OPTIONAL, PLAIN, Around, name, optional_field, plain_field
from .model import (
    ALL_VERSIONS,
    NEWEST,
    NO_VERSIONS,
    FieldDefinition,
    Kind,
    MessageDefinition,
    StructDefinition,
)
from .text import parse

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
        keys, kind = self.keys, self.kind()
        title = name(keys)
        api_key = keys.number("apiKey", NEWEST)
        if api_key is None and kind in ("request", "response"):
            raise keys.error(f'"apiKey" is missing: a {kind} has one')
        self.check_versions()
        self.find_common()
        for common in self.common:
            self.shared(common)
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

    def kind(self) -> Kind:
        given = self.keys.text("type")
        for kind in get_args(Kind):
            if kind == given:
                return kind  # type: ignore[no-any-return]
        raise self.keys.error(f"unknown message type {shown(given)}{suggestion(given, get_args(Kind))}", "type")

    def check_versions(self) -> None:
        """Refuse ranges of the message that contradict Kafka's rules, or a message without fields."""
        keys = self.keys
        if self.valid.last == NEWEST:
            raise keys.error("validVersions must have a highest version", "validVersions")
        if self.flexible and self.flexible.last != NEWEST:
            raise keys.error(
                f'flexibleVersions are open, such as "{self.flexible.first}+", or none', "flexibleVersions"
            )
        if self.valid & self.flexible & self.with_optional:
            raise keys.error(
                "a version has tagged fields (flexibleVersions) or the optional fields of their draft, not both",
                "versionsWithOptional",
            )
        if self.valid and not keys.has("fields"):
            raise keys.error('"fields" is missing')

    def find_common(self) -> None:
        for i, entries in enumerate(self.keys.list("commonStructs")):
            keys = self.keys_of(self.keys, "commonStructs", i, entries, STRUCT)
            title = name(keys)
            if title in self.common:
                raise keys.error(f'there is another structure "{title}" on line {self.common[title].entries.line}')
            self.common[title] = keys

    def shared(self, title: str) -> StructDefinition:
        """Return a structure of `commonStructs`, read when first named; `DefinitionError` if it holds itself."""
        keys = self.common[title]
        if title in self.open:
            raise keys.error(f"a structure cannot hold itself: {' → '.join([*self.open, title])}")
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
        own = keys.has("fields") or keys.has("optionalFields")
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
        if keys.has("optionalFields") and not self.with_optional:
            raise keys.error('optionalFields need "versionsWithOptional" at the top', "optionalFields")
        fields = self.fields(keys, "fields", PLAIN, lambda inner: plain_field(inner, around, self.resolve))
        optional = self.fields(
            keys, "optionalFields", OPTIONAL, lambda inner: optional_field(inner, around, self.resolve)
        )
        self.check_names(keys, *fields, *optional)
        self.check_tags(keys, fields)
        self.check_tags(keys, optional)
        struct = StructDefinition(title, keys.entries.line, around.versions, fields, optional)
        if struct.size > MOST_FIELDS:
            raise keys.error(f"too many fields, with those of nested structures: at most {MOST_FIELDS:,}")
        if struct.depth > DEEPEST:
            raise keys.error(f"structures nested more than {DEEPEST} deep")
        return struct

    def fields(
        self, keys: Keys, key: str, known: frozenset[str], make: Callable[[Keys], FieldDefinition]
    ) -> tuple[FieldDefinition, ...]:
        return tuple(make(self.keys_of(keys, key, i, entries, known)) for i, entries in enumerate(keys.list(key)))

    def keys_of(self, around: Keys, key: str, index: int, entries: Any, known: frozenset[str]) -> Keys:
        """Return the keys of an object in a list; its path has its name, or its index where it has none."""
        given = entries.get("name") if isinstance(entries, dict) else None
        named = isinstance(given, str) and NAME.fullmatch(given)
        path = join(around.path, str(given) if named else f"{key}[{index}]")
        return Keys(entries, self.file, path, around.entries.lines[key], known)

    def check_names(self, keys: Keys, *fields: FieldDefinition) -> None:
        """Refuse two fields of a structure with the same name in snake_case."""
        seen: dict[str, FieldDefinition] = {}
        for field in fields:
            other = seen.setdefault(snake_case(field.name), field)
            if other is not field:
                raise self.wrong(keys, field, f"line {other.line} has a field of this name")

    def check_tags(self, keys: Keys, fields: tuple[FieldDefinition, ...]) -> None:
        """Refuse a tag used twice; tagged fields also need tags from 0 on without gaps, optional ones do not."""
        tagged = sorted((field for field in fields if field.tag is not None), key=lambda field: field.tag or 0)
        for i, field in enumerate(tagged):
            before = tagged[i - 1] if i else None
            if before is not None and before.tag == field.tag:
                raise self.wrong(keys, field, f"tag {field.tag} is that of {before.name} on line {before.line}")
            if field.tag != i and not field.optional:
                raise self.wrong(keys, field, f"tag {field.tag}, but none is {i}: tags begin at 0 and leave none out")

    def wrong(self, keys: Keys, field: FieldDefinition, problem: str) -> DefinitionError:
        """Make the error for a field of a structure, with the field's own line and path."""
        return DefinitionError(self.file, field.line, join(keys.path, field.name), problem)
