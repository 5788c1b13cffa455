"""Records of transactions in `__transaction_state`: what each transactional id has done and is doing.

KIP-98. v1 is flexible; its tagged fields came with the second version of transactions (KIP-890).
"""

from ...wire.language.payload import Payload
from ..meanings import *

key: Final = Payload("TransactionLogKey", Struct("transactional_id" / TransactionalId))
value: Final = Payload("TransactionLogValue", Struct(
    "producer_id" / ProducerId,
    "previous_producer_id" / SinceRelease((4, 0), Tag(0, Default(Int64, -1)))
        * "producer id before the last change of it; -1 means none",
    "next_producer_id" / SinceRelease((4, 0), Tag(1, Default(Int64, -1)))
        * "producer id the client uses from the next transaction on; -1 means the same",
    "producer_epoch" / ProducerEpoch,
    "next_producer_epoch" / SinceRelease((4, 1), Tag(3, Default(Int16, -1)))
        * "producer epoch that goes with next_producer_id; -1 means none",
    "transaction_timeout_ms" / Duration
        * "how long a transaction may stay open before the coordinator aborts it, in ms",
    "transaction_status" / TransactionState,
    "transaction_partitions" / Nullable(Array("topic" / TopicName, "partition_ids" / Partitions))
        * "partitions of the transaction; null if there is none under way",
    "transaction_last_update_timestamp_ms" / Timestamp * "when the transaction last changed, in ms since 1970",
    "transaction_start_timestamp_ms" / Timestamp
        * "when the transaction began, in ms since 1970; -1 means there is none",
    "client_transaction_version" / SinceRelease((4, 0), Tag(2, Int16))
        * "transaction protocol of the client: 2 raises the epoch with every transaction",
), versions=range(2), flexible=1)
