"""Avro, read by the package `fastavro` with the schema that it was written by.

Captured bytes are hostile: a schema that holds itself is read by fastavro's plain Python, whose recursion ends in an
error where that of its compiled code ends the process; an array whose items take no bytes is not read at all.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from ...protocol.findings.amounts import count
from .framing import Schema
from .value import Unread, Value, plain

Read = Callable[[io.BytesIO], Any]
EMPTY = {"null": True}
"""Types whose values take no bytes."""


def avro(data: bytes, schema: Schema) -> Value:
    """Read one value, to the last byte."""
    name, read = _reader(schema)
    stream = io.BytesIO(data)
    try:
        found = read(stream)
    except Exception as error:
        raise Unread(_readable(error)) from None
    left = len(data) - stream.tell()
    if left:
        raise Unread(f"{count(left, 'trailing byte')} after {name}")
    return Value("data", plain(found), f"avro {name}")


def _readable(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deep"
    said = str(error).strip().split("\n")[0]
    return (
        said if said and not isinstance(error, (IndexError, KeyError)) else "truncated, or encoded with another schema"
    )


@lru_cache(maxsize=256)
def _reader(schema: Schema) -> tuple[str, Read]:
    """Return the name of a schema's type and what reads its values; raise `Unread` for what is no schema."""
    import fastavro
    from fastavro import _read_py as in_python

    try:
        named: dict[str, Any] = {}
        for reference in schema.references:
            _parsed(reference.schema, named)
        parsed: Any = fastavro.parse_schema(orjson.loads(schema.text), named_schemas=named)
    except Exception as error:
        raise Unread(f"invalid Avro schema: {_readable(error)}") from None
    shape = Shape(named)
    shape.look(parsed)
    if shape.empty_items:
        raise Unread("the schema has an array of zero-length items: a few bytes could encode billions")
    library = in_python if shape.recursive else fastavro
    name = parsed.get("name") or str(parsed.get("type")) if isinstance(parsed, dict) else _name(parsed)
    return name, lambda stream: library.schemaless_reader(stream, parsed, None)


def _name(parsed: Any) -> str:
    return parsed if isinstance(parsed, str) else "union"


def _parsed(schema: Schema, named: dict[str, Any]) -> None:
    """Add the types of a schema and of those that it uses to those that have names."""
    import fastavro

    for reference in schema.references:
        _parsed(reference.schema, named)
    fastavro.parse_schema(orjson.loads(schema.text), named_schemas=named)


class Shape:
    """What is to be known of a schema before hostile bytes are read by it."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self.named = named
        self.recursive = self.empty_items = False
        self._inside: list[str] = []
        self._seen: dict[str, bool] = {}

    def look(self, schema: Any) -> bool:
        """Go through a schema; return whether a value of it may take no bytes."""
        if isinstance(schema, list):
            for branch in schema:
                self.look(branch)
            return False  # the number of the branch stands in front
        if isinstance(schema, str):
            return self._named(schema) if schema in self.named else schema == "null"
        kind = schema.get("type")
        if kind in ("record", "error"):
            return self._record(schema)
        if kind == "array":
            self.empty_items = self.look(schema["items"]) or self.empty_items
            return False
        if kind == "map":
            self.look(schema["values"])
            return False
        if kind == "fixed":
            return not schema.get("size")
        return False if kind == "enum" else self.look(kind)

    def _named(self, name: str) -> bool:
        if name in self._inside:
            self.recursive = True
            return False
        return self._seen[name] if name in self._seen else self.look(self.named[name])

    def _record(self, schema: Mapping[str, Any]) -> bool:
        name = schema["name"]
        self._inside.append(name)
        sizes = [self.look(field["type"]) for field in schema["fields"]]
        self._inside.pop()
        self._seen[name] = all(sizes)
        return all(sizes)
