"""AddOffsetsToTxn (key 25): adds a consumer group's offsets to a transaction, before TxnOffsetCommit.

KIP-98. v2 PRODUCER_FENCED (KIP-588), v4 TRANSACTION_ABORTABLE (KIP-890).
"""

from .meanings import *

request: Final = Struct(
    "transactional_id" / TransactionalId,
    "producer_id" / ProducerId,
    "producer_epoch" / ProducerEpoch,
    "group_id" / GroupId * "the group whose offsets the transaction is going to commit",
)
response: Final = Struct("throttle_time_ms" / ThrottleTime, "error_code" / ErrorCode)
api: Final = Api(25, "AddOffsetsToTxn", request, response, versions=range(5), flexible=3)
