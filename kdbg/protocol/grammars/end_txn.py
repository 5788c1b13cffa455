"""EndTxn (key 26): commits or aborts a transaction.

KIP-98. v2 PRODUCER_FENCED (KIP-588), v4 TRANSACTION_ABORTABLE, v5 a new producer epoch after each
transaction, given in the answer (both KIP-890).
"""

from .meanings import *

request: Final = Struct(
    "transactional_id" / TransactionalId,
    "producer_id" / ProducerId,
    "producer_epoch" / ProducerEpoch,
    "committed" / TransactionResult,
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "producer_id" / Since(5, Ignorable(Default(ProducerId, -1)))
        * "id for the producer's next transaction, new only when its epochs ran out; -1 on error",
    "producer_epoch" / Since(5, Ignorable(Default(ProducerEpoch, -1)))
        * "epoch for the next transaction, which fences late records of this one; -1 on error",
)
api: Final = Api(26, "EndTxn", request, response, versions=range(6), flexible=3)
