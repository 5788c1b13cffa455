"""Record sets: messages of magic 0 and 1, record batches of magic 2, and the records inside them.

Message sets are the 0.8 guide's chapter "Message sets"; KIP-32 gave messages a time stamp (magic 1), KIP-98 replaced
them with batches (magic 2). The magic byte says which one follows; wire/recordset.py walks over them.
"""

from ..wire import (
    Array,
    Bytes,
    Int8,
    Int16,
    Int32,
    Int64,
    Nullable,
    Prefixed,
    Since,
    Struct,
    Timestamp,
    UInt32,
    Varint32,
    Varint64,
    VarintBytes,
    VarintString,
)
from ..wire.records.node import RecordSet
from ..wire.records.sets import RecordFormat
from .meanings import ProducerEpoch, ProducerId

message_set = Array(
    "offset" / Int64,
    "message" / Prefixed(Int32, Struct(
        "crc" / Int32.means("crc"),
        "magic" / Int8,
        "attributes" / Int8.means("message_attributes"),
        "timestamp" / Since(1, Timestamp),
        "key" / Nullable(Bytes),
        "value" / Nullable(Bytes),
    )),
)
batch = Struct(
    "base_offset" / Int64,
    "batch_length" / Int32,
    "partition_leader_epoch" / Int32,
    "magic" / Int8,
    "crc" / UInt32.means("crc"),
    "attributes" / Int16.means("batch_attributes"),
    "last_offset_delta" / Int32,
    "base_timestamp" / Timestamp,
    "max_timestamp" / Timestamp,
    "producer_id" / ProducerId,
    "producer_epoch" / ProducerEpoch,
    "base_sequence" / Int32,
    "records_count" / Int32,
)
records = Array(Prefixed(Varint32, Struct(
    "attributes" / Int8,
    "timestamp_delta" / Varint64,
    "offset_delta" / Varint32,
    "key" / Nullable(VarintBytes),
    "value" / Nullable(VarintBytes),
    "headers" / Array(
        "key" / VarintString,
        "value" / Nullable(VarintBytes),
        number=Varint32,
    ),
)))
record_format = RecordFormat.of(message_set, batch, records)
Records = RecordSet(record_format)
FetchedRecords = RecordSet(record_format, cut=True)
