"""A message's bytes go in, its values come out, read by Kafka's own table of layouts and by nothing of kdbg's.

What stands in the values: integers and texts as they are, bytes, record sets and UUIDs in hexadecimal, names as Kafka's
definitions have them; tagged fields only where they are set.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NUMBERS = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I", "float64": "d", "boolean": "?",
}  # fmt: skip


@dataclass
class Place:
    """A field: its type, the type of its items, and what stands in it or in each of its items."""

    type: str = "struct"
    item: str = ""
    fields: dict[str, Place] = field(default_factory=dict)
    tags: dict[int, tuple[str, Place]] | None = None


def tree(rows: list[list[Any]]) -> Place:
    """Return a message's fields, from (path, type) of each."""
    top = Place()
    for path, type, *_ in rows:
        *outer, name = path.split(".")
        around = top
        for part in outer:
            around = child(around, part.removesuffix("[]"))
        if name == "~":
            around.tags = around.tags or {}
        elif name.endswith("[]"):
            child(around, name.removesuffix("[]")).item = type
        elif name.startswith("~"):
            number, _, said = name[1:].partition(":")
            around.tags = around.tags or {}
            around.tags[int(number)] = said, Place(type)
        else:
            around.fields[name] = Place(type)
    return top


def child(around: Place, name: str) -> Place:
    if name.startswith("~"):
        return (around.tags or {})[int(name[1:].partition(":")[0])][1]
    return around.fields[name]


class Bytes:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError(f"{size} bytes wanted at {self.at} of {len(self.data)}")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(f">{form}", self.take(struct.calcsize(form)))[0]

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def length(self, compact: bool, form: str) -> int:
        """Read a length; -1 is null."""
        size: int = self.uvarint() - 1 if compact else self.number(form)
        return size


def read(rows: list[list[Any]], data: bytes) -> Any:
    """Return the values of a body; raises ValueError where its bytes do not end with its last field."""
    source = Bytes(data)
    values = _struct(tree(rows), source)
    if source.at != len(data):
        raise ValueError(f"{len(data) - source.at} bytes are left")
    return values


def _struct(place: Place, source: Bytes) -> dict[str, Any]:
    values = {name: _value(inner, source) for name, inner in place.fields.items()}
    for _ in range(source.uvarint() if place.tags is not None else 0):
        tag, size = source.uvarint(), source.uvarint()
        name, inner = (place.tags or {})[tag]  # KeyError: a tag that the table does not know
        values[name] = _value(inner, Bytes(source.take(size)))
    return values


def _value(place: Place, source: Bytes) -> Any:
    kind = place.type.removeprefix("compact_")
    if kind.endswith("array"):
        count = source.length(kind != place.type, "i")
        return None if count < 0 else [_item(place, source) for _ in range(count)]
    if kind == "struct" or (kind == "nullable_struct" and source.number("b") >= 0):
        return _struct(place, source)
    return None if kind == "nullable_struct" else _primitive(place.type, source)


def _item(place: Place, source: Bytes) -> Any:
    return _primitive(place.item, source) if place.item else _struct(place, source)


def _primitive(type: str, source: Bytes) -> Any:
    if type in NUMBERS:
        return source.number(NUMBERS[type])
    if type == "uuid":
        return source.take(16).hex()
    kind = type.removeprefix("compact_")
    text = kind.endswith("string")
    size = source.length(kind != type, "h" if text else "i")
    shown: Callable[[bytes], str] = bytes.decode if text else bytes.hex
    return None if size < 0 else shown(source.take(size))


def header(version: int, direction: str, frame: bytes) -> int:
    """Return how many bytes of a message, without its size, are its header; `version` is the header's."""
    source = Bytes(frame)
    source.take(8 if direction == "request" else 4)
    if direction == "request" and version:
        source.take(max(source.number("h"), 0))
    if version == (2 if direction == "request" else 1) and source.uvarint():
        raise ValueError("tagged fields in the header")
    return source.at
