"""The primitive types of the format: what each is on the wire, whether it may be null, how a default is written.

A default is a string in most files ("-1", "0x7fffffff", "true", "null"), a number or a boolean in some.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from ..grammars.records import Records
from ..wire import Boolean, Bytes, Float64, Int8, Int16, Int32, Int64, String, UInt16, UInt32, Uuid
from .text import whole


class Primitive(NamedTuple):
    """`parse` turns a default into a value of the type; ValueError, in words for the user, if it is none."""

    wire: Any
    nullable: bool
    parse: Callable[[Any], Any]


def _whole(bits: int, *, signed: bool = True) -> Callable[[Any], int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def parse(given: Any) -> int:
        number = whole(given) if isinstance(given, str) else given
        if type(number) is not int or not low <= number <= high:
            raise ValueError(f"expected an integer from {low} to {high}")
        return number

    return parse


def _truth(given: Any) -> bool:
    if str(given).lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return str(given).lower() == "true"


def _float(given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("expected a number") from None


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError("expected a string")
    return given


def _uuid(given: Any) -> uuid.UUID:
    """Parse a UUID in base64 (URL-safe, without padding), as Kafka writes it, or in hex."""
    try:
        return uuid.UUID(given) if len(given) > 22 else uuid.UUID(bytes=base64.urlsafe_b64decode(given + "=="))
    except (TypeError, ValueError, AttributeError):
        raise ValueError("expected a UUID, as Kafka writes them (22 letters) or in hex") from None


def _nothing(given: Any) -> Any:
    raise ValueError('the only default of this type is "null"')


PRIMITIVES = {
    "bool": Primitive(Boolean, False, _truth),
    "boolean": Primitive(Boolean, False, _truth),
    "int8": Primitive(Int8, False, _whole(8)),
    "int16": Primitive(Int16, False, _whole(16)),
    "uint16": Primitive(UInt16, False, _whole(16, signed=False)),
    "int32": Primitive(Int32, False, _whole(32)),
    "uint32": Primitive(UInt32, False, _whole(32, signed=False)),
    "int64": Primitive(Int64, False, _whole(64)),
    "float64": Primitive(Float64, False, _float),
    "string": Primitive(String, True, _text),
    "uuid": Primitive(Uuid, False, _uuid),
    "bytes": Primitive(Bytes, True, _nothing),
    "records": Primitive(Records, True, _nothing),
}
"""By the names that definitions use; "boolean" is an early one."""
ENTITIES = {
    "topicName": "string", "groupId": "string", "transactionalId": "string", "brokerId": "int32", "producerId": "int64",
}  # fmt: skip
"""What `entityType` may say a field stands for, and the type that such a field has."""
