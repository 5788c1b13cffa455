"""Schemas in files: Avro (.avsc), JSON Schema (.json), Protobuf (.proto, or descriptors that a compiler wrote)."""

from __future__ import annotations

from pathlib import Path

from ...errors import InputError
from ..values.schema import Schema, SchemaType
from ..values.value import Unread
from .protoc import compiled_file

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
