"""Readers that need nothing else: text, JSON, numbers as Kafka's own serializers write them, hex and base64."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from uuid import UUID

import orjson

from ...protocol.findings.amounts import count
from .value import Unread, Value

ReadData = Callable[[bytes], Value]


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


def in_hex(data: bytes) -> Value:
    """Read nothing: the bytes are shown in hex."""
    return Value("bytes", data)


def in_base64(data: bytes) -> Value:
    """Read nothing: the bytes are shown in base64."""
    return Value("text", base64.b64encode(data).decode())


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


SIMPLE: dict[str, ReadData] = {
    "string": string,
    "json": json,
    "hex": in_hex,
    "base64": in_base64,
    "uuid": uuid,
    **{name: number(code) for name, code in {
        "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
        "uint64": "Q", "float32": "f", "float64": "d", "boolean": "?",
    }.items()},
}  # fmt: skip
"""The readers by their names."""
