"""Bytes that nobody said how to read: text where they are UTF-8, else bytes; a schema id in front of them is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.readings.secrets import Hidden
from .readers import BY_TYPE, needed
from .value import NULL, Framed, Part, Schema, Unread, Value, ValueContext, framed, likely

if TYPE_CHECKING:
    from ..schemas import TopicSchemas

INTERNAL = "__"
"""How the names of Kafka's own topics begin; their records have no schema ids."""


def unasked(data: bytes | None, asked: ValueContext) -> Value:
    """Return what bytes say by themselves."""
    if data is None:
        return NULL
    if isinstance(data, OpenedPayload):
        return Value("data", data.value, data.name)
    if isinstance(data, Hidden):
        return Value("bytes", data)
    framing = None if (asked.topic or "").startswith(INTERNAL) else likely(data, asked.part, asked.headers)
    try:
        value = Value("text", data.decode())
    except UnicodeDecodeError:
        value = Value("bytes", data)
    return value if framing is None else value._replace(about=framing.text, schema_id=framing.plain_id)


ReadBytes: TypeAlias = Callable[[bytes | None, ValueContext], Value]
"""Reads a key or a value; never raises for what it is given."""
PLAIN: ReadBytes = unasked


class Choice(NamedTuple):
    """That a reader was asked for: for keys or values, of topics that fit a glob; `message` is one of Protobuf's."""

    part: Part
    reader: str
    topics: str = "*"
    message: str = ""


class ReaderChoice:
    """Reads keys and values as they were asked for; the last choice that fits a topic counts."""

    def __init__(self, choices: Sequence[Choice], schemas: TopicSchemas) -> None:
        self.choices, self.schemas = tuple(choices), schemas

    def __call__(self, data: bytes | None, asked: ValueContext) -> Value:
        """Return what a key or a value says."""
        if data is None or isinstance(data, (OpenedPayload, Hidden)):
            return unasked(data, asked)
        choice = None
        for one in self.choices:
            fits = one.topics == "*" or (asked.topic is not None and fnmatchcase(asked.topic, one.topics))
            choice = one if fits and one.part == asked.part else choice
        try:
            return self._asked(data, asked, choice) if choice is not None else self._unasked(data, asked)
        except Unread as error:
            wrong = f"not {choice.reader}: " if choice is not None else ""
            return unasked(data, asked)._replace(about="", problem=f"{wrong}{error}")

    def _asked(self, data: bytes, asked: ValueContext, choice: Choice) -> Value:
        reader = needed(choice.reader)
        if reader.read is not None:
            return reader.read(data)
        given = self.schemas.of(asked.topic, asked.part)
        if given is not None and given.type != reader.schema:
            raise Unread(f"the schema of this topic is for {BY_TYPE[given.type]}")
        if given is not None:
            return self._by_given(data, asked, given._replace(message=choice.message or given.message))
        framing = framed(data, asked.part, asked.headers)
        if framing is None:
            raise Unread("the bytes carry no schema id" if self.schemas.has_ids else "no schema given")
        schema = self._by_id(framing)
        if schema.type != reader.schema:
            raise Unread(f"{framing.text} is for {BY_TYPE[schema.type]}")
        return self._by(schema._replace(message=choice.message), framing.data, framing)

    def _unasked(self, data: bytes, asked: ValueContext) -> Value:
        """Read by the schema that was named for the topic, or whose id stands with the bytes; else as they come."""
        given = self.schemas.of(asked.topic, asked.part)
        if given is not None:
            try:
                return self._by_given(data, asked, given)
            except Unread as error:
                raise Unread(f"not {BY_TYPE[given.type]}: {error}") from None
        framing = framed(data, asked.part, asked.headers) if self.schemas.has_ids else None
        if framing is None:
            return unasked(data, asked)
        try:
            schema = self._by_id(framing)
        except Unread:
            if likely(data, asked.part, asked.headers) is None:  # it only looked like an id
                return unasked(data, asked)
            raise
        return self._by(schema, framing.data, framing)

    def _by_id(self, framing: Framed) -> Schema:
        try:
            return self.schemas.by_id(framing.id)
        except Unread as error:
            raise Unread(f"{framing.text}: {error}") from None

    def _by_given(self, data: bytes, asked: ValueContext, schema: Schema) -> Value:
        """Read by a schema that was named; an id in front of the data is passed over if it is one."""
        framing = framed(data, asked.part, asked.headers)
        try:
            return self._by(schema, framing.data if framing is not None else data, framing)
        except Unread as wrong:
            if framing is None or framing.in_header:
                raise
            try:
                return self._by(schema, data, None)
            except Unread:
                raise wrong from None

    def _by(self, schema: Schema, data: bytes, framing: Framed | None) -> Value:
        read = needed(BY_TYPE[schema.type]).by_schema
        assert read is not None
        try:
            value = read(data, schema, framing)
        except Unread as error:
            raise Unread(f"{framing.text}: {error}" if framing is not None else str(error)) from None
        if framing is None:
            return value
        return value._replace(about=f"{value.about}, {framing.text}", schema_id=framing.plain_id)
