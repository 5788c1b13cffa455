"""Record sets: messages of magic 0 and 1, record batches of magic 2, and the records inside them.

Message sets are the 0.8 guide's chapter "Message sets"; KIP-32 gave messages a time stamp (magic 1), KIP-98 replaced
them with batches (magic 2). The magic byte says which one follows; wire/records/sets.py walks over them.
"""

from ..wire.records import RecordSet
from ..wire.records.sets import RecordFormat
from .meanings import *

message_set: Final = Array(
    "offset" / Int64 * "offset in the log; a compressed message has that of the last message inside",
    "message" / Prefixed(Int32, Struct(
        "crc" / Int32.means("crc") * "CRC-32 of the rest of the message",
        "magic" / Int8 * "format: 0, or 1 with a timestamp",
        "attributes" / Until(0, Int8.means("message_attributes_0").reserving(0xF8)) * "bits 0-2: codec of the value",
        "attributes" / Since(1, Int8.means("message_attributes").reserving(0xF0))
            * "bits 0-2: codec of the value; bit 3: log append time",
        "timestamp" / Since(1, Timestamp)
            * "creation time, or append time by attribute bit 3, in ms since 1970; -1 means unknown",
        "key" / Nullable(Bytes) * "decides the partition and what compaction keeps; null means none",
        "value" / Nullable(Bytes)
            * "the payload, or a compressed message set; null deletes the key in a compacted topic",
    )) * "the message, preceded by its length in bytes",
)
batch: Final = Struct(
    "base_offset" / Int64 * "offset of the first record; producers write 0, the broker assigns it",
    "batch_length" / Int32 * "bytes of the batch that follow this field",
    "partition_leader_epoch" / Int32 * "leader epoch in which the batch was appended; the broker sets it",
    "magic" / Int8 * "format: 2",
    "crc" / UInt32.means("crc") * "CRC-32C of everything after it; the broker may change the fields before it",
    "attributes" / Int16.means("batch_attributes").reserving(0xFF80)
        * "bits 0-2: codec; 3: log append time; 4: transactional; 5: control; 6: delete horizon",
    "last_offset_delta" / Int32 * "offset of the last record minus base_offset; compaction keeps it",
    "base_timestamp" / Timestamp
        * "what timestamp_delta counts from, in ms since 1970; with attribute bit 6 the delete horizon",
    "max_timestamp" / Timestamp * "latest time of a record, or the append time by attribute bit 3, in ms since 1970",
    "producer_id" / ProducerId * "idempotent or transactional producer of the batch; -1 means neither",
    "producer_epoch" / ProducerEpoch,
    "base_sequence" / Int32 * "sequence number of the first record, which reveals gaps and duplicates; -1 means none",
    "records_count" / Int32 * "number of records that follow",
)
records: Final = Array(Prefixed(Varint32, Struct(
    "attributes" / Int8.reserving(0xFF) * "unused, 0",
    "timestamp_delta" / Varint64 * "timestamp minus base_timestamp, in ms",
    "offset_delta" / Varint32 * "offset minus base_offset",
    "key" / Nullable(VarintBytes) * "decides the partition and what compaction keeps; null means none",
    "value" / Nullable(VarintBytes) * "the payload; null deletes the key in a compacted topic",
    "headers" / Array(
        "key" / VarintString * "name of the header, which may occur more than once",
        "value" / Nullable(VarintBytes) * "any bytes, or null",
        number=Varint32,
    ) * "names and values the application adds to the record",
)))
record_format: Final = RecordFormat.of(message_set, batch, records)
Records: Final = RecordSet(record_format)
FetchedRecords: Final = RecordSet(record_format, cut=True)
