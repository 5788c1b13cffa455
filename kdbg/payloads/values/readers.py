"""Every reader of keys and values, declared once in `READERS`: `--value`, `--key-as` and the guide take it from there.

Text, JSON and numbers are read here, Avro by `fastavro`, Protobuf, JSON Schema and MessagePack by packages of their
names. To add a reader, add an entry to the table: what it reads, the package that it needs, and the function that reads
bytes by a schema or without one.

Captured bytes are hostile: an Avro schema that holds itself is read by fastavro's plain Python, whose recursion ends in
an error where that of its compiled code ends the process; an array whose items take no bytes is not read at all.
Nothing is fetched for a `$ref` of a JSON Schema.
"""

from __future__ import annotations

import base64
import io
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any
from uuid import UUID

import orjson

from ...extras import install
from ...protocol.findings.amounts import count
from .value import Framed, Schema, SchemaType, Unread, Value, key_text, plain

ReadData = Callable[[bytes], Value]
BySchema = Callable[[bytes, Schema, Framed | None], Value]
"""Reads data by a schema; what stands around the data is given where there was something."""
LONGEST_PROBLEM = 160


def string(data: bytes) -> Value:
    """Read text in UTF-8."""
    try:
        return Value("text", data.decode())
    except UnicodeDecodeError as error:
        raise Unread(f"not valid UTF-8 at byte {error.start}") from None


def json(data: bytes) -> Value:
    """Read JSON, and keep it to the letter but for line ends."""
    try:
        value = orjson.loads(data)
        text = data.decode().translate({10: " ", 13: " "}).strip()
    except (orjson.JSONDecodeError, UnicodeDecodeError) as error:
        raise Unread(str(error)) from None
    return Value("data", value, json=text)


def uuid(data: bytes) -> Value:
    """Read a UUID: 16 bytes, or the text that Kafka's own serializer writes."""
    try:
        return Value("text", str(UUID(bytes=data) if len(data) == 16 else UUID(data.decode())))
    except (ValueError, UnicodeDecodeError):
        raise Unread(f"{count(len(data), 'byte')}: neither a UUID nor its text") from None


def number(code: str) -> ReadData:
    """Return the reader of numbers of this format of `struct`, most significant byte first."""
    form = struct.Struct(f">{code}")

    def read(data: bytes) -> Value:
        if len(data) != form.size:
            raise Unread(f"{count(len(data), 'byte')}, expected {form.size}")
        return Value("data", form.unpack(data)[0])

    return read


def avro(data: bytes, schema: Schema, *_: object) -> Value:
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
    said = "" if isinstance(error, (IndexError, KeyError)) else str(error).strip().split("\n")[0]
    return said or "truncated, or encoded with another schema"


@lru_cache(maxsize=256)
def _avro_reader(schema: Schema) -> tuple[str, Callable[[io.BytesIO], Any]]:
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
    name = parsed if isinstance(parsed, str) else "union"
    if isinstance(parsed, dict):
        name = parsed.get("name") or str(parsed.get("type"))
    return name, lambda stream: library.schemaless_reader(stream, parsed, None)


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
            if schema not in self.named:
                return schema == "null"
            if schema in self._inside:
                self.recursive = True
                return False
            return self._seen[schema] if schema in self._seen else self.look(self.named[schema])
        kind = schema.get("type")
        if kind in ("record", "error"):
            self._inside.append(schema["name"])
            sizes = [self.look(field["type"]) for field in schema["fields"]]
            self._inside.pop()
            self._seen[schema["name"]] = all(sizes)
            return all(sizes)
        if kind == "array":
            self.empty_items = self.look(schema["items"]) or self.empty_items
            return False
        if kind == "map":
            self.look(schema["values"])
            return False
        if kind == "fixed":
            return not schema.get("size")
        return False if kind == "enum" else self.look(kind)


def protobuf(data: bytes, schema: Schema, framed: Framed | None) -> Value:
    """Read one message, of the name that the schema tells, or else at the indexes in front of the data.

    Bytes of which the message knows no field are of something else; single fields that it does not know are told of.
    """
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.unknown_fields import UnknownFieldSet

    from ..schemas import compiled

    indexes, own = framed.message() if framed is not None else ((0,), data)
    made = _message_class(schema.descriptors or compiled(schema), schema.message, indexes)()
    name = made.DESCRIPTOR.full_name
    try:
        made.ParseFromString(own)
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
    for name in (message, f"{own.package}.{message}") if message else ():
        with suppress(KeyError):
            return GetMessageClass(pool.FindMessageTypeByName(name))
    if message:
        known = ", ".join(each.full_name for each in own.message_types_by_name.values())
        raise Unread(f"the schema has no message {message!r}; use {known}")
    try:
        found = list(own.message_types_by_name.values())[indexes[0]]
        for index in indexes[1:]:
            found = list(found.nested_types)[index]
    except IndexError:
        raise Unread(f"the schema has no message at {list(indexes)}") from None
    return GetMessageClass(found)


def json_schema(data: bytes, schema: Schema, *_: object) -> Value:
    """Read JSON; where it does not follow the schema, what is wrong with it is told beside."""
    name, validator = _json_validator(schema)
    value = json(data)._replace(about=name)
    try:
        from jsonschema.exceptions import best_match

        wrong = best_match(validator.iter_errors(value.data))
    except Exception as error:  # a reference that leads nowhere, a pattern that is none
        return value._replace(problem=f"the schema cannot be applied: {str(error)[:LONGEST_PROBLEM]}")
    if wrong is None:
        return value
    said = wrong.message if len(wrong.message) <= LONGEST_PROBLEM else f"{wrong.message[:LONGEST_PROBLEM]}…"
    return value._replace(problem=f"does not match the schema: {wrong.json_path}: {said}")


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


@dataclass(frozen=True)
class ValueReader:
    """One reader: `read` reads bytes by themselves, or `by_schema` by a schema of this `schema` type.

    `package` is what it needs of the extra `schemas`, "" for nothing.
    """

    about: str
    read: ReadData | None = None
    by_schema: BySchema | None = None
    schema: SchemaType | None = None
    package: str = ""

    @property
    def missing(self) -> str:
        """What must be installed for it, in one line; "" where nothing must."""
        with suppress(ModuleNotFoundError):
            if not self.package or find_spec(self.package) is not None:
                return ""
        return f"needs the package {self.package.partition('.')[0]}; {install('schemas')}"


NUMBERS = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
    "float32": "f", "float64": "d",
}  # fmt: skip
READERS: dict[str, ValueReader] = {
    "string": ValueReader("text in UTF-8", string),
    "json": ValueReader("JSON", json),
    "hex": ValueReader("bytes in hex", lambda data: Value("bytes", data)),
    "base64": ValueReader("bytes in base64", lambda data: Value("text", base64.b64encode(data).decode())),
    "uuid": ValueReader("a UUID of 16 bytes, or as text", uuid),
    **{
        name: ValueReader(f"a number, {name}, most significant byte first", number(code))
        for name, code in NUMBERS.items()
    },
    "boolean": ValueReader("one byte, 0 or 1", number("?")),
    "msgpack": ValueReader("MessagePack", msgpack, package="msgpack"),
    "avro": ValueReader("Avro, by a schema", None, avro, "AVRO", "fastavro"),
    "protobuf": ValueReader("Protobuf, by a schema", None, protobuf, "PROTOBUF", "google.protobuf"),
    "json-schema": ValueReader("JSON, validated by a schema", None, json_schema, "JSON", "jsonschema"),
}
"""The readers by their names."""
BY_TYPE: dict[SchemaType, str] = {reader.schema: name for name, reader in READERS.items() if reader.schema is not None}
"""The names of the readers that read by a type of schema."""


def needed(name: str) -> ValueReader:
    """Return a reader by its name; raise `Unread` where something must be installed for it."""
    reader = READERS[name]
    if reader.missing:
        raise Unread(reader.missing)
    return reader
