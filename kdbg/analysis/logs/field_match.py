"""Fields as a log shows them → the fields of a message's grammar; what does not fit is left out."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Mapping
from functools import cache
from typing import Any

from ...protocol.wire.nodes import (
    Field,
    Fixed,
    LengthPrefixed,
    Node,
    NullableStruct,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
)
from .dialect import Fields

OTHERS: Mapping[str, tuple[str, ...]] = {
    "name": ("topicname", "topic"),
    "topic": ("topicname", "name"),
    "topics": ("topicmetadata", "responses"),
    "responses": ("topics",),
    "partitions": ("partitionmetadata", "partitionresponses"),
    "partitionresponses": ("partitions",),
    "partitionindex": ("partitionid", "partition"),
    "index": ("partition",),
    "errorcode": ("topicerrorcode", "partitionerrorcode"),
    "throttletimems": ("throttletime",),
    "timeoutms": ("timeout",),
    "apikeys": ("apiversions",),
    "leaderid": ("leader",),
    "replicanodes": ("replicas",),
    "isrnodes": ("isr",),
    "protocolname": ("groupprotocol",),
    "leader": ("leaderid",),
    "logappendtimems": ("logappendtime",),
}
"""What programs call fields, beside Kafka's names; both without underscores."""
RANGES = {"b": 7, "h": 15, "i": 31, "q": 63}
"""Bits of signed integers by the letters of `struct`."""
NOTHING: Any = ...
"""In place of a value that does not fit."""


def fitting(grammar: WireStruct, fields: Fields) -> dict[str, Any]:
    """Return those of the fields that messages of the grammar have, as they have them."""
    found: dict[str, Any] = {}
    given = {_plain(name): value for name, value in fields.items()}
    for member, names in _members(grammar):
        name = next((name for name in names if name in given), None)
        value = NOTHING if name is None else _fit(member.node, given[name])
        if value is not NOTHING:
            found[member.name] = value
    return found


@cache
def _members(grammar: WireStruct) -> tuple[tuple[Field, tuple[str, ...]], ...]:
    """Return the fields of a structure with the names that they may have in a log, Kafka's first."""
    plain = {_plain(member.name) for member in grammar.members}
    return tuple(
        (member, (name, *(other for other in OTHERS.get(name, ()) if other not in plain)))
        for member in grammar.members
        for name in (_plain(member.name),)
    )


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _fit(node: Node, value: Any) -> Any:
    """Return a value as a node has it; `NOTHING` where it cannot be one of its."""
    if isinstance(node, WireStruct):
        if isinstance(value, str) and len(node.members) == 1:  # a topic's name that was all of it in older versions
            value = {node.members[0].name: value}
        return fitting(node, value) if isinstance(value, Mapping) else NOTHING
    if isinstance(node, LengthPrefixed):
        return _fit(node.item, value)
    if isinstance(node, NullableStruct):
        return None if value is None else _fit(node.struct, value)
    if isinstance(node, WireArray):
        return _array(node, value)
    if isinstance(node, Sized):
        return _sized(node, value)
    if isinstance(node, UuidNode):
        return _uuid(value)
    return _number(node, value) if isinstance(node, (Fixed, Varint)) else NOTHING


def _array(node: WireArray, value: Any) -> Any:
    if value is None:
        return None if node.nullable else NOTHING
    if not isinstance(value, (list, tuple)):
        return NOTHING
    items = [_fit(node.item, item) for item in value]
    return NOTHING if any(item is NOTHING for item in items) else items


def _sized(node: Sized, value: Any) -> Any:
    if value is None:
        return None if node.nullable else NOTHING
    if node.text:
        return value if isinstance(value, str) else NOTHING
    if isinstance(value, Mapping) and value.get("type") == "Buffer":  # as Node.js prints bytes
        value = value.get("data")
    if isinstance(value, list) and all(type(byte) is int and -128 <= byte < 256 for byte in value):
        return bytes(byte & 0xFF for byte in value)
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return NOTHING
    return value if isinstance(value, bytes) else NOTHING


def _uuid(value: Any) -> Any:
    """Return a UUID, which Kafka writes as 22 letters of base64, others in hex."""
    if isinstance(value, str) and len(value) == 22:
        try:
            return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{value}=="))
        except (binascii.Error, ValueError):
            return NOTHING
    try:
        return uuid.UUID(value) if isinstance(value, str) else NOTHING
    except ValueError:
        return NOTHING


def _number(node: Fixed | Varint, value: Any) -> Any:
    code = "q" if isinstance(node, Varint) else "?" if node.boolean else node.code
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and value.isascii() and len(value) < 21:
        value = int(value)
    if code == "?":
        return value if type(value) is bool else NOTHING
    if code == "d":
        return float(value) if type(value) in (int, float) else NOTHING
    bits = RANGES.get(code, 64)
    return value if type(value) is int and -1 << bits <= value < 1 << bits else NOTHING
