"""What lies beside a log segment: entries of its indexes, and the snapshot of its producers.

An index is nothing but its entries, one behind the other: the offset index (`.index`), the time index (`.timeindex`,
KIP-33), the index of aborted transactions (`.txnindex`, KIP-98). Offsets in the first two are relative to the
segment's first one, which is the file's name. The producer snapshot (`.snapshot`, KIP-98) is one structure; its
checksum covers what stands behind it.
"""

from ..wire import Array, Int16, Int32, Int64, Struct, Timestamp, UInt32

offset_index_entry = Struct(
    "relative_offset" / Int32,
    "position" / Int32,
)
time_index_entry = Struct(
    "timestamp" / Timestamp,
    "relative_offset" / Int32,
)
aborted_transaction = Struct(
    "version" / Int16,
    "producer_id" / Int64,
    "first_offset" / Int64,
    "last_offset" / Int64,
    "last_stable_offset" / Int64,
)
producer_snapshot = Struct(
    "version" / Int16,
    "crc" / UInt32.means("crc"),
    "producer_entries" / Array(
        "producer_id" / Int64,
        "epoch" / Int16,
        "last_sequence" / Int32,
        "last_offset" / Int64,
        "offset_delta" / Int32,
        "timestamp" / Timestamp,
        "coordinator_epoch" / Int32,
        "current_txn_first_offset" / Int64,
    ),
)
