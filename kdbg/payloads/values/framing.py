"""Schemas, and how their ids stand with keys and values: the framing of Confluent's serializers, and headers."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias
from uuid import UUID

from .value import Headers, Part, Unread

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


class Schemas(Protocol):
    """Where schemas come from (`TopicSchemas`). What it does not have it says by `Unread`, in one line."""

    @property
    def has_ids(self) -> bool: ...
    def by_id(self, schema_id: SchemaId) -> Schema: ...
    def of(self, topic: str | None, part: Part) -> Schema | None: ...
    def descriptors(self, schema: Schema) -> bytes: ...


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
    """Return what `framed` does where nobody said that there is an id: an INT64 may look like one, and other data."""
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
