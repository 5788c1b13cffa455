"""Where schemas come from: files for topics, a folder or dump of a Schema Registry for ids, a registry that is asked.

Protobuf's files go through the compiler of `grpcio-tools`; registries hold its descriptors in base64 as well. What a
registry answered is remembered. What is asked over the network is asked by `client`, which is handed in.
"""

from __future__ import annotations

import base64
import binascii
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import orjson

from ..errors import InputError
from ..extras import install
from .values.value import Part, Reference, Schema, SchemaId, SchemaType, Unread

TYPES: dict[str, SchemaType] = {
    ".avsc": "AVRO", ".json": "JSON", ".jsonschema": "JSON", ".proto": "PROTOBUF",
}  # fmt: skip
DESCRIPTORS = (".desc", ".pb", ".binpb", ".protoset", ".fds")
"""How files of Protobuf descriptors end."""
SECONDS = 30
MAIN = "schema.proto"
KNOWN = "google/protobuf/"
"""Files that the compiler has itself."""
DEEPEST = 32
"""Schemas that use schemas are followed so far."""


def file_in(schema: Schema) -> Any:
    """Return the descriptor of a file that a schema's text is; None for text that a compiler must read."""
    try:
        data = base64.b64decode(schema.text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if find_spec("google.protobuf") is None:
        return None
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        found = FileDescriptorProto.FromString(data)
    except DecodeError:
        return None
    return found if found.message_type or found.enum_type else None


def _add(own: Any, schema: Schema, files: dict[str, Any]) -> None:
    """Add a file after those that it uses; raise `Unread` where one is missing."""
    from google.protobuf import descriptor_pool
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    for name, used in schema.references:
        found = file_in(used)
        if found is None:
            *others, found = FileDescriptorSet.FromString(compiled(used)).file
            files |= {other.name: other for other in others}
        found.name = name
        _add(found, used, files)
    for name in own.dependency:
        if name not in files:  # it must come with Protobuf
            module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
            if not name.startswith(KNOWN) or find_spec(module) is None:
                raise Unread(f"the schema uses {name} without a reference to it")
            import_module(module)
            files[name] = FileDescriptorProto()
            descriptor_pool.Default().FindFileByName(name).CopyToProto(files[name])
    files[own.name] = own


@lru_cache(maxsize=256)
def compiled(schema: Schema) -> bytes:
    """Return a schema and those that it uses as a serialized FileDescriptorSet, the schema itself last.

    Raise `Unread` in one line for one that does not compile, or without the compiler.
    """
    own = file_in(schema)
    if own is not None:
        from google.protobuf.descriptor_pb2 import FileDescriptorSet

        files: dict[str, Any] = {}
        _add(own, schema, files)
        return bytes(FileDescriptorSet(file=files.values()).SerializeToString())
    with tempfile.TemporaryDirectory(prefix="kdbg-") as folder:
        for name, text in {**dict(_files(schema.references)), MAIN: schema.text}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return compiled_file(Path(folder) / MAIN)


def compiled_file(path: Path) -> bytes:
    """Return the same of a file, which imports others by their places below its folder."""
    if find_spec("grpc_tools") is None:
        raise Unread(f".proto files need the package grpcio-tools; {install('schemas')}")
    import grpc_tools

    with tempfile.TemporaryDirectory(prefix="kdbg-") as folder:
        out = Path(folder) / "out"
        command = [
            sys.executable, "-m", "grpc_tools.protoc", f"-I{path.parent.absolute()}",
            f"-I{Path(grpc_tools.__path__[0]) / '_proto'}",
            "--include_imports", f"--descriptor_set_out={out}", path.name,
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unread(f"the Protobuf compiler failed: {error}") from None
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.strip() and "arning" not in line]
            raise Unread(f"the schema does not compile: {said[0] if said else f'exit status {done.returncode}'}")
        return out.read_bytes()


def _files(references: tuple[Reference, ...]) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of files that are imported, and of those that they import."""
    for name, schema in references:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or name == MAIN:
            raise Unread(f"the schema imports {name!r}, which is not a file next to it")
        if not name.startswith(KNOWN):
            yield name, schema.text
        yield from _files(schema.references)


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


class SchemaDump:
    """The schemas in a file or a folder, by their ids; raises `InputError` where there are none to be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[SchemaId, Mapping[str, Any]] = {}
        self._subjects: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._plain: dict[SchemaId, Path] = {}
        self._read: dict[SchemaId, Schema] = {}
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
        if schema_id in self._plain and schema_id not in self._read:
            try:
                self._read[schema_id] = schema_in(self._plain[schema_id])
            except InputError as error:
                raise Unread(str(error)) from None
        if schema_id in self._read:
            return self._read[schema_id]
        raise Unread(f"is not in {self.path}")

    def __getstate__(self) -> dict[str, Any]:
        """Return it with all its schemas read: other machines do not have the files."""
        for schema_id in self._plain:
            with suppress(Unread):
                self.by_id(schema_id)
        return vars(self)

    def _take(self, file: Path) -> None:
        try:
            said = orjson.loads(file.read_bytes()) if file.suffix.lower() == ".json" else None
        except orjson.JSONDecodeError as error:
            raise InputError(f"{file}: is no JSON: {error}") from None
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
        own = identity(file.stem)
        listed = said if isinstance(said, list) else [said]
        answers = [one for one in listed if isinstance(one, dict) and isinstance(one.get("schema"), str)]
        for answer in answers:
            alone = own if len(answers) == 1 else None
            for found in (answer.get("id"), identity(str(answer.get("guid", ""))), alone):
                if isinstance(found, (int, UUID)):
                    self._answers.setdefault(found, answer)
            if isinstance(answer.get("subject"), str) and isinstance(answer.get("version"), int):
                self._subjects[answer["subject"], answer["version"]] = answer
        if not answers and own is not None:  # it is a schema itself
            self._plain[own] = file

    def _made(self, answer: Mapping[str, Any], depth: int) -> Schema:
        used = []
        for reference in answer.get("references") or ():
            subject, version = reference.get("subject"), reference.get("version")
            found = self._subjects.get((subject, version))
            if found is None or not depth:
                raise Unread(f"uses {subject} version {version}, which is not in {self.path}")
            used.append(Reference(str(reference.get("name")), self._made(found, depth - 1)))
        return Schema(answer.get("schemaType") or "AVRO", answer["schema"], tuple(used))


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
