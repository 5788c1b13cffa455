"""What a key or a value says: the text, the data or the bytes that a reader made of it, and how it did so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

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
