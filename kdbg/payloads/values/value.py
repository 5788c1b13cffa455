"""Values that were read from the bytes of keys and values, and as JSON has them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
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
