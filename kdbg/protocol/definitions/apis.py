"""One direction of an API that is declared in two places: by kdbg for some versions, by a definition for others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from ...errors import DefinitionError, UnknownApi
from .. import grammars
from ..wire import FOREVER, Api, Struct
from ..wire.language import DIRECTIONS, Direction
from ..wire.language.types import At, Unread, Word, rules_of
from ..wire.nodes import WireStruct
from ..wire.nodes.base import Renamed
from ..wire.readings.layout import layout
from ..wire.readings.secrets import has_secrets
from .declaration import NOTHING, declare, known
from .model import NEWEST, MessageDefinition, Versions, joined, listed

Part = tuple[Struct, set[int]]
"""A declaration, and the versions that it is followed in."""


class Joined(Struct):
    """The fields of several declarations, each in its versions alone; bodies of all other versions stay bytes."""

    def __init__(self, *parts: Part, secret: bool) -> None:
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
