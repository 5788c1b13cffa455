"""The indexes of a log segment, entry by entry.

An index is nothing but its entries, one after the other: the offset index (`.index`), the time index (`.timeindex`,
KIP-33), the index of aborted transactions (`.txnindex`, KIP-98). Offsets in the first two are relative to the
segment's first one, which is the file's name. (The snapshot of its producers is payloads/producer_snapshot.py.)
"""

from .meanings import *

offset_index_entry: Final = Struct(
    "relative_offset" / Int32
        * "last offset of what was appended at that position, counted from the segment's first offset",
    "position" / Int32 * "byte of the segment's .log file at which those batches begin",
)
time_index_entry: Final = Struct(
    "timestamp" / Timestamp * "latest time of any record in the segment up to here",
    "relative_offset" / Int32
        * "offset of the record with that time or of its batch's last, counted from the segment's first",
)
aborted_transaction: Final = Struct(
    "version" / Int16 * "format of the entry, 0 so far",
    "producer_id" / ProducerId * "producer whose transaction was aborted",
    "first_offset" / Int64 * "offset of the transaction's first record",
    "last_offset" / Int64 * "offset of the abort marker that ended it",
    "last_stable_offset" / LastStableOffset * "last stable offset right after that abort",
)
