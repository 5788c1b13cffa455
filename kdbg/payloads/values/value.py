"""Values that were read from the bytes of keys and values, as JSON has them; schemas, and how their ids stand there.

Ids stand as Confluent's serializers write them: in front of the data, or in headers.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

Kind: TypeAlias = Literal["text", "data", "bytes", "null"]
Part: TypeAlias = Literal["key", "value"]
Headers: TypeAlias = Sequence[tuple[str | None, bytes | None]]


class Value(NamedTuple):
    """What bytes say: `data` is a str for "text", bytes for "bytes", anything that JSON has for "data".

    `json` is the JSON that stood there, to the letter, where it did. `about` says in a few words how it was read, such
    as "avro Order, schema id 7"; `problem` why it could not be read as it was asked to be. `schema_id` is the id in
    front of it or in a header, where there is one.
    """

    kind: Kind
    data: Any = None
    about: str = ""
    problem: str = ""
    json: str = ""
    schema_id: int | str | None = None


NULL = Value("null")


class Unread(Exception):
    """Bytes that a reader cannot read; the message says why, in one line."""


class ValueContext(NamedTuple):
    """What a reader may need beside the bytes: whether they are a key or a value, their topic, the record's headers."""

    part: Part
    topic: str | None
    headers: Headers = ()


class ReadValue(bytes):
    """The bytes of a key or value, and what a reader made of them."""

    said: Value

    @classmethod
    def of(cls, data: bytes, said: Value) -> ReadValue:
        """Put what bytes say beside them."""
        made = cls(data)
        made.said = said
        return made


LARGEST = (1 << 64) - 1
LEAST = -(1 << 63)


def plain(value: Any) -> Any:
    """Return a value in a form that JSON has; its kinds of numbers, texts and times are distinguished no more."""
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int):
        return value if LEAST <= value <= LARGEST else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, Mapping):
        return {key_text(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if not isinstance(value, Decimal) else format(value, "f") if value.is_finite() else str(value)


def key_text(key: Any) -> str:
    """Return the key of a mapping as text."""
    if isinstance(key, str):
        return key
    return bytes(key).hex() if isinstance(key, (bytes, bytearray)) else str(plain(key))


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


ID, GUID = 0, 1
"""First bytes: what follows is an id of 4 bytes, or a GUID of 16."""
SIZES = {ID: 5, GUID: 17}
HEADERS: dict[Part, str] = {"key": "__key_schema_id", "value": "__value_schema_id"}
INT64 = 8
PLAUSIBLE = 1 << 27
"""Ids that registries give are small: greater numbers are data."""
MOST_INDEXES = 100
FIRST_MESSAGE = (0,)


class Framed(NamedTuple):
    """The id or GUID of a schema, and what follows it: in a header that is for Protobuf alone, else the data."""

    id: int | UUID
    behind: bytes
    data: bytes
    """The data, with Protobuf's indexes in front where those are not in a header."""
    in_header: bool = False

    @property
    def text(self) -> str:
        """The id as a person says it."""
        return f"schema {'id' if isinstance(self.id, int) else 'GUID'} {self.id}"

    @property
    def plain_id(self) -> int | str:
        """The id as JSON has it: a number, or a GUID as text."""
        return self.id if isinstance(self.id, int) else str(self.id)

    def message(self) -> tuple[tuple[int, ...], bytes]:
        """Return Protobuf's indexes of a message in its file, and its data; raise `Unread` where no indexes stand."""
        count, end = _varint(self.behind, 0)
        if not 0 <= count <= MOST_INDEXES:
            raise Unread(f"invalid number of message indexes: {count}")
        indexes = []
        for _ in range(count):
            index, end = _varint(self.behind, end)
            indexes.append(index)
        return tuple(indexes) or FIRST_MESSAGE, self.data if self.in_header else self.behind[end:]


def framed(data: bytes, part: Part, headers: Headers) -> Framed | None:
    """Return the id that stands in a header, else that in front of the data; None where neither is one."""
    for name, value in headers:
        if name == HEADERS[part] and value and (found := _id(value)) is not None:
            return Framed(found, value[SIZES[value[0]] :], data, in_header=True)
    found = _id(data)
    if found is None:
        return None
    behind = data[SIZES[data[0]] :]
    return Framed(found, behind, behind)


def likely(data: bytes, part: Part, headers: Headers) -> Framed | None:
    """Return what `framed` does where the user gave no id: an INT64 may look like one, and other data."""
    found = framed(data, part, headers)
    if found is None or found.in_header:
        return found
    plausible = isinstance(found.id, int) and found.id < PLAUSIBLE and found.data and len(data) != INT64
    return found if plausible else None


def _id(data: bytes) -> int | UUID | None:
    """Return the id at the beginning of the data; no registry gives the id 0."""
    size = SIZES.get(data[0]) if data else None
    if size is None or len(data) < size:
        return None
    return UUID(bytes=data[1:size]) if data[0] == GUID else int.from_bytes(data[1:size], "big") or None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 35:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise Unread("the message indexes are truncated")
