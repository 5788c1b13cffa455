"""EndTxn (key 26): commits or aborts a transaction.

KIP-98. v2 PRODUCER_FENCED (KIP-588), v4 TRANSACTION_ABORTABLE, v5 a new producer epoch after each
transaction, given in the answer (both KIP-890).
"""

from ..wire import Api, Default, ErrorCode, Ignorable, Since, Struct
from .meanings import ProducerEpoch, ProducerId, ThrottleTime, TransactionalId, TransactionResult

request = Struct(
    "transactional_id" / TransactionalId,
    "producer_id" / ProducerId,
    "producer_epoch" / ProducerEpoch,
    "committed" / TransactionResult,
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "producer_id" / Since(5, Ignorable(Default(ProducerId, -1))),
    "producer_epoch" / Since(5, Ignorable(Default(ProducerEpoch, -1))),
)
api = Api(26, "EndTxn", request, response, versions=range(6), flexible=3)
