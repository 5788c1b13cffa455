"""MessageData: one `MessageData` object stands for every version of a message, as in Kafka's generated classes.

    FooResponse = MessageType.defined(definition)    # or MessageType.of("Metadata", "response")
    foo = FooResponse(user_agent="kdbg", foos=[{"baz": 7}])
    foo.write(9)                                     # bytes; fields that version 9 lacks are left out
    foo.read(8, data)                                # overwrites everything; what version 8 lacks is default again

Fields are attributes in snake_case; structures inside are plain dicts, and arrays plain lists. Writing a version that
lacks a field which is set (to another value than its default) is a `BuildError`, unless the field is ignorable; so is a
null that the version does not allow. "MessageData Objects" in Kafka's README of its message definitions.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...errors import BuildError, GrammarError, Leftover, UnknownVersion
from .. import grammars
from ..wire import Struct
from ..wire.language.api import Direction
from ..wire.language.types import At
from ..wire.nodes import UnreadStruct, WireStruct, build
from ..wire.readings.secrets import hide
from .declaration import declare
from .every_version import Members, members
from .model import MessageDefinition


@dataclass(frozen=True)
class MessageType:
    """A message in all its versions. Calling it makes a `MessageData`: fields that are not named have their defaults.

    `flexible` is the first flexible version (KIP-482), `optional` the versions with the optional fields of its draft.
    """

    name: str
    struct: Struct
    versions: range
    flexible: int
    optional: range
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
        if version not in self.versions:
            raise UnknownVersion(self.name, version, self.versions[0], self.versions[-1])
        layout = self._layouts.get(version)
        if layout is None:
            layout = self._layouts[version] = self.struct.structure(self.at(version))
        if isinstance(layout, UnreadStruct):
            raise GrammarError(f"{self.name} has no definition of version {version}")
        return layout

    def at(self, version: int) -> At:
        return At(version, version >= self.flexible, optional=version in self.optional)


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
        values = self.type.members.narrow(self.complete(), self.type.at(version))
        return MessageStruct(self.type, version, MappingProxyType(values))

    def from_struct(self, struct: MessageStruct) -> None:
        """Take every field from a struct, which stays as it is; fields that its version lacks become default."""
        if struct.type != self.type:
            raise BuildError("", f"a struct of {struct.type.name} is none of {self.type.name}")
        self.__dict__["_values"] = self.type.members.complete(struct.values)
