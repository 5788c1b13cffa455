"""What grammars are written in (language), what they become (nodes, records), what is derived from them (readings)."""

from __future__ import annotations

from typing import Final

from .language import Api, Dialect
from .language.types import *
from .nodes import BOOLEAN, FLOAT64, INT8, INT16, INT32, INT64, UINT16, UINT32, UVARINT, VARINT, VARLONG
from .nodes.leaves import RemainingBytes, UuidNode

__all__ = [
    "FOREVER", "Api", "ApiKey", "Array", "BeforeRelease", "Between", "Bits", "Boolean", "Bytes", "Classic", "Default",
    "Dialect", "Duration", "Duration64", "Enum", "ErrorCode", "Final", "Float64", "GroupId", "Holds", "Ignorable",
    "Int8", "Int16", "Int32", "Int64", "Nullable", "NullableSince", "NullableUntil", "Only", "Optional", "Partition",
    "Prefixed", "Remainder", "Secret", "SecretRemainder", "Since", "SinceRelease", "String", "Struct", "Tag",
    "Timestamp", "TopicId", "TopicName", "UInt16", "UInt32", "UVarint", "Until", "Uuid", "Varint32", "Varint64",
    "VarintBytes", "VarintString",
]  # fmt: skip


Int8: Final = INT8
Int16: Final = INT16
Int32: Final = INT32
Int64: Final = INT64
UInt16: Final = UINT16
UInt32: Final = UINT32
Boolean: Final = BOOLEAN
Float64: Final = FLOAT64
Varint32: Final = VARINT
Varint64: Final = VARLONG
UVarint: Final = UVARINT
String: Final = Text("STRING", INT16, text=True)
Bytes: Final = Text("BYTES", INT32, text=False)
VarintString: Final = Text("VARINT_STRING", VARINT, text=True)
VarintBytes: Final = Text("VARINT_BYTES", VARINT, text=False)
Uuid: Final = UuidNode()
Remainder: Final = RemainingBytes()
SecretRemainder: Final = RemainingBytes("secret")

ErrorCode: Final = Int16.means("error") * "what went wrong, 0 if nothing did"
ApiKey: Final = Int16.means("api") * "number of the kind of request"
Partition: Final = Int32.means("partition") * "number of the partition within its topic, from 0"
Duration: Final = Int32.means("duration")
Duration64: Final = Int64.means("duration")
Timestamp: Final = Int64.means("timestamp")
TopicName: Final = String.means("topic") * "name of the topic"
TopicId: Final = UuidNode("topic_id") * "id of the topic, which a topic of the same name created later does not share"
GroupId: Final = String.means("group") * "name of the group (group.id)"
