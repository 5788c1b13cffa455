"""The snapshot of producers of a log (the .snapshot files): their last batches, to detect duplicates (KIP-98).

The checksum is the CRC-32C of all bytes after it.
"""

from ...wire.language.payload import Payload
from ..meanings import *

producer_snapshot: Final = Payload("ProducerSnapshot", Struct(
    "crc" / UInt32.means("crc") * "CRC-32C of everything after it",
    "producer_entries" / Array(
        "producer_id" / ProducerId,
        "epoch" / Int16 * "epoch of the producer; batches with an older one are refused",
        "last_sequence" / Int32 * "sequence number of the last record; the next batch must continue it",
        "last_offset" / Int64 * "offset of the last record",
        "offset_delta" / Int32 * "last sequence number minus the first, in the last batch",
        "timestamp" / Timestamp * "latest time in the last batch, in ms since 1970",
        "coordinator_epoch" / Int32 * "epoch of the coordinator that wrote the last marker; -1 means none",
        "current_txn_first_offset" / Int64 * "first offset of the open transaction; -1 means none is open",
    ) * "producers that have written to the partition",
), versions=range(1, 2))
