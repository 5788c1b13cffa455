"""The indexes that lie beside a log segment, entry by entry.

An index is nothing but its entries, one behind the other: the offset index (`.index`), the time index (`.timeindex`,
KIP-33), the index of aborted transactions (`.txnindex`, KIP-98). Offsets in the first two are relative to the
segment's first one, which is the file's name. (The snapshot of its producers is payloads/producer_snapshot.py.)
"""

from ..wire import Int16, Int32, Int64, Struct, Timestamp
from .meanings import LastStableOffset, ProducerId

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
    "producer_id" / ProducerId,
    "first_offset" / Int64,
    "last_offset" / Int64,
    "last_stable_offset" / LastStableOffset,
)
