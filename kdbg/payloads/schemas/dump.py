"""A Schema Registry in files: what its own interface answers, saved as JSON, or plain schemas whose names are ids.

curl https://registry/schemas > registry.json     all of them, with ids, subjects, versions and references
7.json                                            the answer to /schemas/ids/7
7.avsc  7.proto  7.jsonschema                     the schema alone
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from ...errors import InputError
from ..values.schema import Reference, Schema, SchemaId
from ..values.value import Unread
from .files import DESCRIPTORS, TYPES, schema_in

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
