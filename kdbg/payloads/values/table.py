"""Every reader of keys and values, declared once: `--value`, `--key-as` and the guide take them from this table.

To add one, add an entry to `READERS`: what it reads, the package that it needs, and the function that reads bytes by a
schema or without one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from ...extras import install
from .by_package import avro, json_schema, msgpack, protobuf
from .framing import Framed, Schema, Schemas, SchemaType
from .simple import SIMPLE, ReadData
from .value import Unread, Value

BySchema = Callable[[bytes, Schema, Schemas, Framed | None], Value]
"""Reads data by a schema; what stands around the data is given where there was something."""


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
        if not self.package or _there(self.package):
            return ""
        return f"needs the package {self.package.partition('.')[0]}; {install('schemas')}"


def _there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _protobuf(data: bytes, schema: Schema, schemas: Schemas, framed: Framed | None) -> Value:
    indexes, own = framed.message() if framed is not None else ((0,), data)
    return protobuf(own, schema.descriptors or schemas.descriptors(schema), schema.message, indexes)


ABOUT = {
    "string": "text in UTF-8", "json": "JSON", "hex": "bytes in hex", "base64": "bytes in base64",
    "uuid": "a UUID of 16 bytes, or as text", "boolean": "one byte, 0 or 1",
}  # fmt: skip
READERS: dict[str, ValueReader] = {
    **{name: ValueReader(ABOUT.get(name, f"a number, {name}, most significant byte first"), read)
       for name, read in SIMPLE.items()},
    "msgpack": ValueReader("MessagePack", msgpack, package="msgpack"),
    "avro": ValueReader(
        "Avro, by a schema", by_schema=lambda data, schema, *_: avro(data, schema), schema="AVRO", package="fastavro"
    ),
    "protobuf": ValueReader("Protobuf, by a schema", by_schema=_protobuf, schema="PROTOBUF", package="google.protobuf"),
    "json-schema": ValueReader(
        "JSON, validated by a schema", by_schema=lambda data, schema, *_: json_schema(data, schema), schema="JSON",
        package="jsonschema",
    ),
}  # fmt: skip
"""The readers by their names."""
BY_TYPE: dict[SchemaType, str] = {reader.schema: name for name, reader in READERS.items() if reader.schema is not None}
"""The names of the readers that read by a type of schema."""


def needed(name: str) -> ValueReader:
    """Return a reader by its name; raise `Unread` where something must be installed for it."""
    reader = READERS[name]
    if reader.missing:
        raise Unread(reader.missing)
    return reader
