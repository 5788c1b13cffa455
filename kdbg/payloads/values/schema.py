"""A schema, and where readers get it: by the id that stands with the bytes, or by the topic."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias
from uuid import UUID

from .value import Part

SchemaType: TypeAlias = Literal["AVRO", "PROTOBUF", "JSON"]
SchemaId: TypeAlias = int | UUID


class Reference(NamedTuple):
    """A schema that another one uses, by the name that it uses for it."""

    name: str
    schema: Schema


class Schema(NamedTuple):
    """A schema as it is written, with those that it uses.

    `message` names the message of a Protobuf file that is meant, "" for the one that the bytes say, or the first.
    `descriptors` are a Protobuf file and those that it imports as a serialized FileDescriptorSet, where they are known.
    """

    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    message: str = ""
    descriptors: bytes = b""


class Schemas(Protocol):
    """Where schemas come from. What it does not have it says by `Unread`, in one line."""

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema with this id or GUID."""

    def of(self, topic: str | None, part: Part) -> Schema | None:
        """Return the schema that was named for the keys or values of a topic; None where none was."""

    def descriptors(self, schema: Schema) -> bytes:
        """Return a Protobuf schema as a serialized FileDescriptorSet, the file itself last."""

    @property
    def has_ids(self) -> bool:
        """Whether schemas can be had by their ids."""
