"""Bytes that nobody said how to read: text where they are UTF-8, else bytes; a schema id in front of them is told."""

from __future__ import annotations

from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.readings.secrets import Hidden
from .framing import likely
from .value import NULL, Value, ValueContext

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
    value = as_text(data)
    return value if framing is None else value._replace(about=framing.text, schema_id=framing.plain_id)


def as_text(data: bytes) -> Value:
    """Return bytes as text if they are UTF-8, else as they are."""
    try:
        return Value("text", data.decode())
    except UnicodeDecodeError:
        return Value("bytes", data)
