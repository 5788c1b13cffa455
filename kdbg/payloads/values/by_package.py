"""Keys and values read by packages: Avro by `fastavro`, Protobuf, JSON Schema and MessagePack by those of their names.

Captured bytes are hostile: an Avro schema that holds itself is read by fastavro's plain Python, whose recursion ends in
an error where that of its compiled code ends the process; an array whose items take no bytes is not read at all.
Nothing is fetched for a `$ref` of a JSON Schema.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from ...protocol.findings.amounts import count
from .framing import Schema
from .simple import json
from .value import Unread, Value, key_text, plain

Read = Callable[[io.BytesIO], Any]
LONGEST_PROBLEM = 160


def avro(data: bytes, schema: Schema) -> Value:
    """Read one value, to the last byte."""
    name, read = _avro_reader(schema)
    stream = io.BytesIO(data)
    try:
        found = read(stream)
    except Exception as error:
        raise Unread(_avro_problem(error)) from None
    left = len(data) - stream.tell()
    if left:
        raise Unread(f"{count(left, 'trailing byte')} after {name}")
    return Value("data", plain(found), f"avro {name}")


def _avro_problem(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deep"
    said = str(error).strip().split("\n")[0]
    return (
        said if said and not isinstance(error, (IndexError, KeyError)) else "truncated, or encoded with another schema"
    )


@lru_cache(maxsize=256)
def _avro_reader(schema: Schema) -> tuple[str, Read]:
    """Return the name of a schema's type and what reads its values; raise `Unread` for what is no schema."""
    import fastavro
    from fastavro import _read_py as in_python

    try:
        named: dict[str, Any] = {}
        parsed = _parse_avro(schema, named)
    except Exception as error:
        raise Unread(f"invalid Avro schema: {_avro_problem(error)}") from None
    shape = AvroShape(named)
    shape.look(parsed)
    if shape.empty_items:
        raise Unread("the schema has an array of zero-length items: a few bytes could encode billions")
    library = in_python if shape.recursive else fastavro
    name = parsed.get("name") or str(parsed.get("type")) if isinstance(parsed, dict) else _avro_name(parsed)
    return name, lambda stream: library.schemaless_reader(stream, parsed, None)


def _avro_name(parsed: Any) -> str:
    return parsed if isinstance(parsed, str) else "union"


def _parse_avro(schema: Schema, named: dict[str, Any]) -> Any:
    """Return a schema as fastavro has it; add its types, and those of schemas that it uses, to the named ones."""
    import fastavro

    for reference in schema.references:
        _parse_avro(reference.schema, named)
    return fastavro.parse_schema(orjson.loads(schema.text), named_schemas=named)


class AvroShape:
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


def protobuf(data: bytes, descriptors: bytes, message: str = "", indexes: tuple[int, ...] = (0,)) -> Value:
    """Read one message, of this name, or else at these indexes of the file.

    Bytes of which the message knows no field are of something else; single fields that it does not know are told of.
    """
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.unknown_fields import UnknownFieldSet

    made = _message_class(descriptors, message, indexes)()
    name = made.DESCRIPTOR.full_name
    try:
        made.ParseFromString(data)
        unknown = len(UnknownFieldSet(made))
        found = MessageToDict(made, preserving_proto_field_name=True)
    except Exception as error:
        raise Unread(f"{name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from None
    if unknown and not made.ListFields():
        raise Unread(f"none of the fields of {name} is set")
    told = f", {count(unknown, 'unknown field')}" if unknown else ""
    return Value("data", plain(found), f"protobuf {name}{told}")


@lru_cache(maxsize=256)
def _message_class(descriptors: bytes, message: str, indexes: tuple[int, ...]) -> Any:
    """Return the class of a message; raise `Unread` where the file has no such message."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    pool = DescriptorPool()
    try:
        files = FileDescriptorSet.FromString(descriptors).file
        for file in files:
            pool.Add(file)
        own = pool.FindFileByName(files[-1].name)
    except Exception as error:
        raise Unread(f"invalid descriptors: {str(error).splitlines()[0]}") from None
    if message:
        return GetMessageClass(_message_by_name(pool, own, message))
    try:
        found = list(own.message_types_by_name.values())[indexes[0]]
        for index in indexes[1:]:
            found = list(found.nested_types)[index]
    except IndexError:
        raise Unread(f"the schema has no message at {list(indexes)}") from None
    return GetMessageClass(found)


def _message_by_name(pool: Any, own: Any, message: str) -> Any:
    for name in (message, f"{own.package}.{message}"):
        try:
            return pool.FindMessageTypeByName(name)
        except KeyError:
            continue
    known = ", ".join(each.full_name for each in own.message_types_by_name.values())
    raise Unread(f"the schema has no message {message!r}; use {known}")


def json_schema(data: bytes, schema: Schema) -> Value:
    """Read JSON; where it does not follow the schema, what is wrong with it is told beside."""
    name, validator = _json_validator(schema)
    value = json(data)
    try:
        from jsonschema.exceptions import best_match

        wrong = best_match(validator.iter_errors(value.data))
    except Exception as error:  # a reference that leads nowhere, a pattern that is none
        return value._replace(about=name, problem=f"the schema cannot be applied: {str(error)[:LONGEST_PROBLEM]}")
    if wrong is None:
        return value._replace(about=name)
    said = wrong.message if len(wrong.message) <= LONGEST_PROBLEM else f"{wrong.message[:LONGEST_PROBLEM]}…"
    return value._replace(about=name, problem=f"does not match the schema: {wrong.json_path}: {said}")


@lru_cache(maxsize=256)
def _json_validator(schema: Schema) -> tuple[str, Any]:
    from jsonschema.validators import Draft7Validator, validator_for
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    try:
        said = orjson.loads(schema.text)
        kind = validator_for(said, default=Draft7Validator)
        kind.check_schema(said)
        used: Registry[Any] = Registry()
        for name, contents in _json_used(schema):
            used = used.with_resource(name, Resource.from_contents(contents, default_specification=DRAFT7))
        made = kind(said, registry=used)
    except Exception as error:
        raise Unread(f"invalid JSON Schema: {str(error).splitlines()[0][:LONGEST_PROBLEM]}") from None
    title = said.get("title") if isinstance(said, dict) else None
    return f"json-schema {title}" if isinstance(title, str) else "json-schema", made


def _json_used(schema: Schema) -> list[tuple[str, Any]]:
    found = []
    for reference in schema.references:
        found += [(reference.name, orjson.loads(reference.schema.text)), *_json_used(reference.schema)]
    return found


def msgpack(data: bytes) -> Value:
    """Read one value, to the last byte."""
    import msgpack as library

    try:
        found = library.unpackb(data, timestamp=3, strict_map_key=False, unicode_errors="surrogateescape")
    except library.ExtraData as extra:
        raise Unread(count(len(extra.extra), "trailing byte")) from None
    except Exception as error:
        raise Unread(str(error) or type(error).__name__) from None
    return Value("data", _plain_msgpack(found, library.ExtType))


def _plain_msgpack(value: Any, extension: type) -> Any:
    if isinstance(value, extension):
        return {"extension": value.code, **plain(value.data)}  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key_text(key): _plain_msgpack(each, extension) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain_msgpack(each, extension) for each in value]
    return plain(value)
