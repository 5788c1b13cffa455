"""Where schemas come from: files for topics, a folder or dump of a Schema Registry for ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import orjson

from ...errors import InputError
from ..values.framing import Reference, Schema, SchemaId, SchemaType
from ..values.value import Part, Unread
from .protobuf import compiled, compiled_file

TYPES: dict[str, SchemaType] = {
    ".avsc": "AVRO", ".json": "JSON", ".jsonschema": "JSON", ".proto": "PROTOBUF",
}  # fmt: skip
DESCRIPTORS = (".desc", ".pb", ".binpb", ".protoset", ".fds")
"""How files of Protobuf descriptors end."""


def schema_in(path: Path, message: str = "") -> Schema:
    """Return the schema in a file; raise `InputError` for one that cannot be read, or is of no kind that is known."""
    suffix = path.suffix.lower()
    try:
        if suffix in DESCRIPTORS:
            return Schema("PROTOBUF", "", message=message, descriptors=path.read_bytes())
        kind = TYPES.get(suffix)
        if kind is None:
            known = ", ".join((*TYPES, *DESCRIPTORS))
            raise InputError(f"{path}: unknown schema file type {suffix or path.name!r}; use {known}")
        text = path.read_text(encoding="utf-8-sig")
        return Schema(kind, text, (), message, compiled_file(path) if kind == "PROTOBUF" else b"")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not valid UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except Unread as error:
        raise InputError(f"{path}: {error}") from None


DEEPEST = 32
"""Schemas that use schemas are followed so far."""


class SchemaDump:
    """The schemas in a file or a folder, by their ids; raises `InputError` where there are none to be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[SchemaId, Mapping[str, Any]] = {}
        self._subjects: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._plain: dict[SchemaId, Path] = {}
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix.lower() in (*TYPES, *DESCRIPTORS):
                self._take(file)
        if not self._answers and not self._plain:
            raise InputError(
                f"{path}: no schemas with ids; expected registry responses as JSON, or files such as 7.avsc"
            )

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema with this id or GUID."""
        if schema_id in self._answers:
            return self._made(self._answers[schema_id], DEEPEST)
        if schema_id in self._plain:
            try:
                return schema_in(self._plain[schema_id])
            except InputError as error:
                raise Unread(str(error)) from None
        raise Unread(f"is not in {self.path}")

    def _take(self, file: Path) -> None:
        try:
            said = orjson.loads(file.read_bytes()) if file.suffix.lower() == ".json" else None
        except orjson.JSONDecodeError as error:
            raise InputError(f"{file}: is no JSON: {error}") from None
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
        own = identity(file.stem)
        answers = list(_answers(said))
        for answer in answers:
            self._remember(answer, own if len(answers) == 1 else None)
        if not answers and own is not None:
            self._plain[own] = file

    def _remember(self, answer: Mapping[str, Any], own: SchemaId | None) -> None:
        for found in (answer.get("id"), identity(str(answer.get("guid", ""))), own):
            if isinstance(found, (int, UUID)):
                self._answers.setdefault(found, answer)
        if isinstance(answer.get("subject"), str) and isinstance(answer.get("version"), int):
            self._subjects[answer["subject"], answer["version"]] = answer

    def _made(self, answer: Mapping[str, Any], depth: int) -> Schema:
        used = []
        for reference in answer.get("references") or ():
            subject, version = reference.get("subject"), reference.get("version")
            found = self._subjects.get((subject, version))
            if found is None or not depth:
                raise Unread(f"uses {subject} version {version}, which is not in {self.path}")
            used.append(Reference(str(reference.get("name")), self._made(found, depth - 1)))
        return Schema(answer.get("schemaType") or "AVRO", answer["schema"], tuple(used))


def _answers(said: Any) -> Iterator[Mapping[str, Any]]:
    """Yield what a registry answered: objects whose `schema` is text; a JSON Schema is none."""
    for one in said if isinstance(said, list) else [said]:
        if isinstance(one, dict) and isinstance(one.get("schema"), str):
            yield one


def identity(text: str) -> SchemaId | None:
    """Return the id or GUID that a text is, None for any other."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return UUID(text)
    except ValueError:
        return None


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
