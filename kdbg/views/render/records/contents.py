"""Keys, values and headers as views of records show them: as text, and as JSON."""

from __future__ import annotations

import base64
from typing import Any

import orjson

from ....payloads.values.value import Value
from ....protocol.wire.readings.secrets import Hidden
from ..jsonlines import redacted
from ..value_text import json_text
from ..values import escape, octets


def text(value: Value) -> str:
    """Return what a value says, as it stands there: text as it is, data as JSON, bytes in hex, "" for null."""
    if value.kind == "null":
        return ""
    if value.kind == "text":
        return str(value.data)
    if value.kind == "bytes":
        return octets(value.data) if isinstance(value.data, Hidden) else value.data.hex()
    return json_text(value)


def json_form(value: Value) -> Any:
    """Return a key or value for JSON Lines: what a reader made of it, else text, or its bytes in base64."""
    if value.kind == "null":
        return None
    if value.kind == "text":
        return value.data
    if value.kind == "bytes":
        return value.data
    return orjson.Fragment(value.json) if value.json else value.data


def header_texts(headers: Any, null: str = "null") -> list[tuple[str, str]]:
    """Return keys and values of headers as text: values in hex where they are no UTF-8."""
    return [(key or "", null if value is None else _header(value)) for key, value in headers]


def _header(value: bytes) -> str:
    if isinstance(value, Hidden):
        return octets(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def header_objects(headers: Any) -> list[dict[str, Any]]:
    """Return headers for JSON Lines."""
    return [{"key": key, "value": _plain(value)} for key, value in headers]


def _plain(value: bytes | None) -> Any:
    if value is None or isinstance(value, Hidden):
        return None if value is None else redacted(len(value))
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def escaped(data: str) -> str:
    """Return text that is safe on a terminal."""
    return data if data.isprintable() else escape(data)
