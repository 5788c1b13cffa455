"""The closed set of concrete nodes: what a declaration becomes once its version is known."""

from .composite import (
    NO_DEFAULT,
    TAGGED,
    Field,
    LengthPrefixed,
    NullableStruct,
    UnreadStruct,
    WireArray,
    WireStruct,
    build,
    join,
)
from .leaves import (
    BOOLEAN,
    COMPACT_LENGTH,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    UINT32,
    UVARINT,
    VARINT,
    VARLONG,
    Fixed,
    Length,
    Node,
    RemainingBytes,
    Sized,
    Stream,
    UuidNode,
    Varint,
    take,
    to_bytes,
)

__all__ = [
    "BOOLEAN", "COMPACT_LENGTH", "FLOAT64", "INT8", "INT16", "INT32", "INT64", "NO_DEFAULT", "TAGGED", "UINT16",
    "UINT32", "UVARINT", "VARINT", "VARLONG", "Field", "Fixed", "Length", "LengthPrefixed", "Node", "NullableStruct",
    "RemainingBytes", "Sized", "Stream", "UnreadStruct", "UuidNode", "Varint", "WireArray", "WireStruct", "build",
    "join", "take", "to_bytes",
]  # fmt: skip
