"""The snapshot of producers beside a log (the .snapshot files): who wrote last, for telling duplicates (KIP-98).

The checksum is the CRC-32C of all bytes behind it.
"""

from ...wire import Array, Int16, Int32, Int64, Struct, Timestamp, UInt32
from ...wire.language.payload import Payload
from ..meanings import ProducerId

producer_snapshot = Payload("ProducerSnapshot", Struct(
    "crc" / UInt32.means("crc"),
    "producer_entries" / Array(
        "producer_id" / ProducerId,
        "epoch" / Int16,
        "last_sequence" / Int32,
        "last_offset" / Int64,
        "offset_delta" / Int32,
        "timestamp" / Timestamp,
        "coordinator_epoch" / Int32,
        "current_txn_first_offset" / Int64,
    ),
), versions=range(1, 2))
