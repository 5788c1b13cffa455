"""Definitions as the declarations that kdbg's own grammars are, and as APIs beside kdbg's own.

What a field's value stands for (an error code, a duration, a secret) is told as far as its definition tells. Where
kdbg has a grammar of the API itself, a field that stands there as well, at the same place and of the same type, means
what it means there. For the others it goes by `entityType` and by the names that Kafka gives its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...errors import DefinitionError, UnknownApi, UnknownVersion
from .. import grammars
from ..wire import ApiKey, Duration, Duration64, ErrorCode, GroupId, Partition, Timestamp, TopicId, TopicName
from ..wire.language import DIRECTIONS, Api, Direction, snake_case
from ..wire.language.types import FOREVER, Array, At, Classic, Secret, Struct, Text, Unread, Word, rules_of
from ..wire.nodes import WireStruct, join
from ..wire.nodes.leaves import Renamed
from ..wire.readings.layout import layout
from ..wire.readings.secrets import has_secrets
from .model import NEWEST, PRIMITIVES, FieldDefinition, MessageDefinition, StructDefinition, Versions, joined, listed
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


@dataclass(frozen=True)
class Declared:
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
        return self.struct.structure(self.form(version))

    def form(self, version: int) -> At:
        """Return what a version is to its declarations: flexible, or with optional fields."""
        return At(version, version >= self.flexible, optional=version in self.optional)


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


class Joined(Struct):
    """The fields of several declarations, each in the versions given with it; bodies of all others stay bytes."""

    def __init__(self, *parts: tuple[Struct, set[int]], secret: bool) -> None:
        forms = list[Renamed]()
        for of, versions in parts:
            runs = joined(Versions(version, version) for version in versions)
            for field in of.declared:
                rules, type = rules_of(field)
                for both in (run & Versions(rules.first, min(rules.last, NEWEST)) for run in runs):
                    if both:
                        word = Word(type, **rules._asdict() | {"first": both.first, "last": both.last})
                        forms.append(Renamed(word, newname=field.name, newdocs=field.docs))
        super().__init__(*forms)
        self.defined: set[int] = {version for _, versions in parts for version in versions}
        self.unread: Unread = Unread(secret=secret)

    def structure(self, at: At) -> WireStruct:
        return super().structure(at) if at.version in self.defined else self.unread.structure(at)


class DefinedApis(NamedTuple):
    """What definitions come to: APIs for `grammars.serving`, and what a user should know of them."""

    apis: tuple[Api, ...]
    notes: tuple[str, ...]


def apis(messages: Iterable[MessageDefinition]) -> DefinedApis:
    """Make APIs of the definitions, joined with kdbg's own of the same keys; `DefinitionError` for contradictions."""
    found, notes = [], []
    for pair in pairs(messages):
        own = grammars.find(pair.key)
        api, differing = pair.beside(own) if own else (pair.new(), [])
        found.append(api)
        notes += differing
    return DefinedApis(tuple(found), tuple(notes))


def pairs(messages: Iterable[MessageDefinition]) -> list[Pair]:
    """Pair requests with their responses, in the order of the API keys; `DefinitionError` for one defined twice."""
    sides: dict[int, dict[Direction, MessageDefinition]] = {}
    for message in messages:
        if message.kind not in DIRECTIONS or message.api_key is None or not message.valid:
            continue
        same = sides.setdefault(message.api_key, {}).setdefault(message.kind, message)
        if same is not message:
            raise _wrong(message, f"{same.file} also defines the {message.kind} of API key {message.api_key}")
    found = [Pair(key, sides[key]) for key in sorted(sides)]
    names: dict[str, Pair] = {}
    for pair in found:
        other = names.setdefault(grammars.plain(pair.first.api_name), pair)
        if other is not pair:
            raise _wrong(
                pair.first, f"{other.first.file} also has the name {other.first.api_name}, for API key {other.key}"
            )
    return found


def _wrong(message: MessageDefinition, problem: str) -> DefinitionError:
    return DefinitionError(message.file, message.body.line, "", problem)


class Pair:
    """The request and the response of one API key, or one of the two."""

    def __init__(self, key: int, sides: Mapping[Direction, MessageDefinition]) -> None:
        self.key: int = key
        self.sides: Mapping[Direction, MessageDefinition] = sides
        self.first: MessageDefinition
        self.first, *others = sides.values()
        self.files: tuple[str, ...] = tuple(message.file for message in sides.values())
        for other in others:
            for key_in_file, one, two in (
                ("name", self.first.api_name, other.api_name),
                ("validVersions", self.first.valid, other.valid),
                ("flexibleVersions", self.first.flexible, other.flexible),
                ("versionsWithOptional", self.first.with_optional, other.with_optional),
            ):
                if one != two:
                    raise _wrong(other, f'"{key_in_file}" is {two} here, but {one} in {self.first.file}')

    def api(self, own: Api | None = None) -> Api:
        """Return the API as the definitions alone have it; `own` is kdbg's, which tells what fields mean."""
        structs: dict[Direction, Struct] = {direction: Unread() for direction in DIRECTIONS}
        for direction, message in self.sides.items():
            declared = declare(message, dict(known(_side(own, direction))) if own else NOTHING)
            structs[direction] = declared.struct
        return Api(
            self.key, self.first.api_name, structs["request"], structs["response"], declared.versions,
            flexible=declared.flexible, optional=declared.optional, given=self.files,
        )  # fmt: skip

    def new(self) -> Api:
        """Return the API of a key that kdbg does not know; `DefinitionError` if kdbg has the name for another key."""
        with suppress(UnknownApi):
            other = grammars.api(self.first.api_name)
            raise _wrong(
                self.first,
                f"{other.name} is the name of API key {other.key}, but this definition has API key {self.key}",
            )
        return self.api()

    def beside(self, own: Api) -> tuple[Api, list[str]]:
        """Return kdbg's own API with the versions that the definitions add or change, and notes on those they change.

        `DefinitionError` where versions would be missing in between, or both directions differ in their headers.
        """
        given = self.api(own)
        every = {*own.versions, *given.versions}
        if max(every) - min(every) >= len(every):
            raise _wrong(self.first, f"versions are missing between these and kdbg's own ({_listed(own.versions)})")
        structs, notes, uses = dict[Direction, Struct](), list[str](), list[tuple[Api, set[int]]]()
        for direction in DIRECTIONS:
            mine = {version for version in own.versions if own.reads(direction, version)}
            theirs = {v for v in given.versions if given.reads(direction, v) and not _alike(own, given, direction, v)}
            if changed := mine & theirs:
                where = f"{_listed(changed)} of {own.name} {direction}s"
                notes.append(
                    f"{self.sides[direction].file}: {where}: differs from kdbg's own definition; the file is used"
                )
            uses += [(own, mine - theirs), (given, theirs)]
            secret = any(has_secrets(own.at(side, own.versions[-1])) for side in DIRECTIONS)
            parts = (_side(own, direction), mine - theirs), (_side(given, direction), theirs)
            structs[direction] = Joined(*parts, secret=secret)
        if not any(used for api, used in uses if api is given):
            return own, []
        return replace(
            own, request=structs["request"], response=structs["response"], given=own.given + self.files, _layouts={},
            versions=range(min(every), max(every) + 1), flexible=self.flexible(uses), optional=given.optional,
        ), notes  # fmt: skip

    def flexible(self, uses: list[tuple[Api, set[int]]]) -> int:
        """Return the first flexible version, where each of the APIs is followed in the versions given with it.

        `DefinitionError` where the two directions of a version have different headers, or a later one is not flexible.
        """
        forms: dict[int, tuple[bool, bool]] = {}
        for api, versions in uses:
            for version in versions:
                form = version >= api.flexible, version in api.optional
                if forms.setdefault(version, form) != form:
                    raise _wrong(self.first, f"request and response of version {version} have different headers")
        first = min((version for version, (flexible, _) in forms.items() if flexible), default=FOREVER)
        if any(version > first and not flexible for version, (flexible, _) in forms.items()):
            raise _wrong(self.first, f"version {first} is flexible, but a later one is not")
        return first


def _side(api: Api, direction: Direction) -> Struct:
    return api.request if direction == "request" else api.response


def _alike(own: Api, given: Api, direction: Direction, version: int) -> bool:
    """Return whether both lay out a version and its header in the same way."""
    if not own.reads(direction, version) or (version >= own.flexible) != (version >= given.flexible):
        return False
    return list(layout(own.at(direction, version))) == list(layout(given.at(direction, version)))


def _listed(versions: Iterable[int]) -> str:
    return listed(Versions(version, version) for version in versions)
