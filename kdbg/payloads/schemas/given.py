"""The schemas that a user gave: files for topics, a registry for ids; what was found once is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol

from ..values.schema import Schema, SchemaId
from ..values.value import Part, Unread
from .protoc import compiled


class Ids(Protocol):
    """A registry: schemas by their ids."""

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema with this id or GUID; raise `Unread` in one line where it cannot be had."""


class ForTopic(NamedTuple):
    """That a schema is that of the keys or values of topics that fit a glob."""

    topics: str
    part: Part
    schema: Schema


class TopicSchemas:
    """Schemas of topics, and of ids if there is a registry."""

    def __init__(self, topics: Sequence[ForTopic] = (), registry: Ids | None = None) -> None:
        self.topics, self.registry = tuple(topics), registry
        self._found: dict[SchemaId, Schema | Unread] = {}

    @property
    def has_ids(self) -> bool:
        """Whether schemas can be had by their ids."""
        return self.registry is not None

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema with this id or GUID; nothing is asked twice, what is not there included."""
        if self.registry is None:
            raise Unread("no schema registry given; use --registry")
        if schema_id not in self._found:
            try:
                self._found[schema_id] = self.registry.by_id(schema_id)
            except Unread as error:
                self._found[schema_id] = error
        found = self._found[schema_id]
        if isinstance(found, Unread):
            raise Unread(str(found))
        return found

    def of(self, topic: str | None, part: Part) -> Schema | None:
        """Return the schema that was given for a topic; the last one that fits counts."""
        for given in reversed(self.topics):
            if given.part == part and (given.topics == "*" or (topic and fnmatchcase(topic, given.topics))):
                return given.schema
        return None

    def descriptors(self, schema: Schema) -> bytes:
        """Return a Protobuf schema as a serialized FileDescriptorSet."""
        return compiled(schema)
