"""A structure in all its versions at once: what a Message holds, and what of it one version can carry.

`Members(struct)` knows every field that some version has. `complete` fills in the defaults of all that is missing,
`narrow` leaves what one version has, and refuses to lose what was set and is not ignorable. Values are plain dicts and
lists; errors are `BuildError`s that name the field's path.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

from ...errors import BuildError, GrammarError, Leftover
from .. import grammars
from ..wire import Array, Prefixed, Struct
from ..wire.language import Direction
from ..wire.language.types import NEWEST as NEWEST_RELEASE
from ..wire.language.types import At, FieldRules, rules_of, specialise
from ..wire.nodes import NO_DEFAULT, TAGGED, Field, UnreadStruct, WireArray, WireStruct, build, join
from ..wire.nodes.leaves import INT32, AnyConstruct, Length, Node
from ..wire.readings.secrets import hide
from .declaration import Declared, declare
from .model import NEWEST, MessageDefinition, Versions, listed

Form = tuple[FieldRules, AnyConstruct]


class Members:
    """Every field that a structure has in some version."""

    def __init__(self, struct: Struct) -> None:
        forms: dict[str, list[Form]] = {}
        for declared in struct.declared:
            rules, type = rules_of(declared)
            if rules.before_release > NEWEST_RELEASE:  # else only older releases of Kafka wrote it
                forms.setdefault(declared.name or "", []).append((rules, type))
        self.fields: dict[str, Member] = {name: Member(name, found) for name, found in forms.items()}

    def complete(self, given: Any, path: str = "") -> dict[str, Any]:
        """Return a copy of a value, with the default of every field that it does not name."""
        if not isinstance(given, Mapping):
            raise BuildError(path, f"{given!r} is not a structure (an object with fields)")
        for name in given:
            if name not in self.fields and name != TAGGED:
                raise BuildError(join(path, str(name)), "no version has this field")
        value = {
            name: member.complete(given[name], join(path, name)) if name in given else member.default
            for name, member in self.fields.items()
        }
        return value | ({TAGGED: deepcopy(given[TAGGED])} if given.get(TAGGED) else {})

    def narrow(self, value: Mapping[str, Any], at: At, path: str = "") -> dict[str, Any]:
        """Return what one version carries of a complete value: tagged and optional fields only where set.

        `BuildError` for a field that is set, not ignorable, and not in the version, or a null that it does not allow.
        """
        narrowed = {}
        for name, member in self.fields.items():
            here = join(path, name)
            rules = member.at(at)
            if rules is not None and (rules.tag is None or value[name] != member.default):
                narrowed[name] = member.narrow(value[name], rules, at, here)
            elif rules is None and value[name] != member.default and not member.ignorable:
                versions = listed(Versions(each.first, min(each.last, NEWEST)) for each, _ in member.forms)
                problem = f"set, but version {at.version} lacks it: a field of {versions}, and not ignorable"
                raise BuildError(here, problem)
        if TAGGED in value:
            if not at.flexible and not at.optional:
                raise BuildError(join(path, TAGGED), f"set, but version {at.version} has no tagged fields")
            narrowed[TAGGED] = value[TAGGED]
        return narrowed

    @cached_property
    def grammar(self) -> WireStruct:
        """All fields as one structure: no version has it on the wire, but it says which of them are secret."""
        return WireStruct(tuple(Field(name, member.grammar) for name, member in self.fields.items()), {})


class Member:
    """One field, in every form that it has in some version."""

    def __init__(self, name: str, forms: list[Form]) -> None:
        self.name: str = name
        self.forms: list[Form] = forms
        self.rules: FieldRules
        self.type: Any
        self.rules, self.type = forms[-1]
        self.ignorable: bool = any(rules.ignorable for rules, _ in forms)
        self.array: bool = isinstance(self.type, Array)
        of = self.type.of if isinstance(self.type, (Array, Prefixed)) else self.type
        self.inner: Members | None = members(of) if isinstance(of, Struct) else None

    @property
    def default(self) -> Any:
        """A default of its own, so that who holds it may change it."""
        if self.rules.initial is not NO_DEFAULT:
            return deepcopy(self.rules.initial)
        if self.inner is not None and not self.array:
            return self.inner.complete({})
        return specialise(self.type, At(0, False)).default()

    @property
    def grammar(self) -> Node:
        if self.inner is None:
            return specialise(self.type, At(0, False))
        inner = self.inner.grammar
        return WireArray("ARRAY", Length(INT32, 0), inner, nullable=True) if self.array else inner

    def at(self, at: At) -> FieldRules | None:
        """Return the rules of the form that a version has, None where it does not have the field."""
        return next((rules for rules, _ in self.forms if rules.has(at)), None)

    def complete(self, value: Any, path: str) -> Any:
        if value is None or self.inner is None:
            return deepcopy(value)
        if not self.array:
            return self.inner.complete(value, path)
        if not isinstance(value, (list, tuple)):
            raise BuildError(path, f"{value!r} is not a list")
        return [self.inner.complete(item, f"{path}[{i}]") for i, item in enumerate(value)]

    def narrow(self, value: Any, rules: FieldRules, at: At, path: str) -> Any:
        if value is None and not rules.nullable(at.version):
            nulls = listed(
                Versions(max(rules.first, rules.nullable_from), min(rules.last, rules.nullable_until, NEWEST))
                for rules, _ in self.forms
            )
            only = f", only {nulls}" if nulls else ""
            raise BuildError(path, f"null, which version {at.version} does not allow{only}")
        if value is None or self.inner is None:
            return value
        if not self.array:
            return self.inner.narrow(value, at, path)
        return [self.inner.narrow(item, at, f"{path}[{i}]") for i, item in enumerate(value)]


@cache
def members(struct: Struct) -> Members:
    """Return the fields of a structure; they are made once and kept."""
    return Members(struct)


@dataclass(frozen=True)
class MessageType(Declared):
    """A message in all its versions. Calling it makes a `MessageData`: fields that are not named have their defaults.

    `flexible` is the first flexible version (KIP-482), `optional` the versions with the optional fields of its draft.
    """

    _layouts: dict[int, WireStruct] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, api: str | int, direction: Direction) -> MessageType:
        """Return a direction's message of an API that kdbg knows, by name, alias or key; `UnknownApi` for others."""
        found = grammars.api(api)
        struct = found.request if direction == "request" else found.response
        return cls(f"{found.name}{direction.capitalize()}", struct, found.versions, found.flexible, found.optional)

    @classmethod
    def defined(cls, definition: MessageDefinition) -> MessageType:
        """Return the message of a definition file."""
        declared = declare(definition)
        return cls(definition.name, declared.struct, declared.versions, declared.flexible, declared.optional)

    def __deepcopy__(self, memo: object) -> MessageType:
        return self  # nothing in it changes

    def __call__(self, /, **fields: Any) -> MessageData:
        return MessageData(self, **fields)

    @property
    def members(self) -> Members:
        """Every field of the message that some version has."""
        return members(self.struct)

    def schema(self, version: int) -> WireStruct:
        """Return the grammar of one version; `UnknownVersion` for one that there is not.

        `GrammarError` for a direction of an API that definition files brought for the other direction only.
        """
        layout = self._layouts.get(version)
        if layout is None:
            layout = self._layouts[version] = self.at(version)
        if isinstance(layout, UnreadStruct):
            raise GrammarError(f"{self.name} has no definition of version {version}")
        return layout


@dataclass(frozen=True)
class MessageStruct:
    """What one version of a message carries: a copy, which no later change of the message reaches."""

    type: MessageType
    version: int
    values: Mapping[str, Any] = field(repr=False)
    """Plain dicts and lists, as `encode` takes them. May hold secrets."""

    @property
    def schema(self) -> WireStruct:
        return self.type.schema(self.version)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def write(self) -> bytes:
        """Return the bytes of the message in this version."""
        return build(self.schema, self.values)


class MessageData:
    """A message without a version: `type` says which, the fields are attributes.

    A field whose name a method has taken is an item: `message["size"]`. Equal messages have equal fields; `repr` shows
    those that are not default, without secrets.
    """

    type: MessageType
    _values: dict[str, Any]

    def __init__(self, type: MessageType, /, **fields: Any) -> None:
        self.__dict__.update(type=type, _values=type.members.complete(fields))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = self.type.members.complete({name: value}).get(name, {})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"no version of the message has a field {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MessageData):
            return NotImplemented
        return self.type == other.type and self.complete() == other.complete()

    def __repr__(self) -> str:
        default = self.type.members.complete({})
        shown = hide(self.type.members.grammar, value := self.complete())
        parts = [f"{name}={shown[name]!r}" for name in value if value[name] != default.get(name)]
        return f"{self.type.name}({', '.join(parts)})"

    def complete(self) -> dict[str, Any]:
        """Return a copy of all fields, those of structures inside too."""
        return self.type.members.complete(self._values)

    def write(self, version: int) -> bytes:
        """Return the bytes of one version; `BuildError` for a field that is set, not ignorable, and not in it."""
        return self.to_struct(version).write()

    def size(self, version: int) -> int:
        """Return how many bytes `write` gives."""
        return len(self.write(version))

    def read(self, version: int, data: bytes) -> None:
        """Take every field from the bytes of one version; those that it lacks become default.

        Raises `WireError` with path and place for bytes that are no such message: too few, too many, a null that the
        version does not allow. The message is then as it was.
        """
        stream = io.BytesIO(data)
        values = self.type.schema(version)._parse(stream, None, "")
        if stream.tell() != len(data):
            raise Leftover(stream.tell(), len(data) - stream.tell())
        self.__dict__["_values"] = self.type.members.complete(values)

    def to_struct(self, version: int) -> MessageStruct:
        """Return what one version carries of the message; `BuildError` for what it cannot carry."""
        self.type.schema(version)
        values = self.type.members.narrow(self.complete(), self.type.form(version))
        return MessageStruct(self.type, version, MappingProxyType(values))

    def from_struct(self, struct: MessageStruct) -> None:
        """Take every field from a struct, which stays as it is; fields that its version lacks become default."""
        if struct.type != self.type:
            raise BuildError("", f"a structure of {struct.type.name} is not one of {self.type.name}")
        self.__dict__["_values"] = self.type.members.complete(struct.values)
