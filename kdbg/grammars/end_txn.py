"""EndTxn (key 26): commits or aborts a transaction.

KIP-98. v2 PRODUCER_FENCED (KIP-588), v4 TRANSACTION_ABORTABLE, v5 a new producer epoch after each
transaction, given in the answer (both KIP-890).
"""

from ..wire import Api, Default, Duration, ErrorCode, Ignorable, Int16, Int64, Since, String, Struct
from .meanings import TransactionResult

request = Struct(
    "transactional_id" / String,
    "producer_id" / Int64,
    "producer_epoch" / Int16,
    "committed" / TransactionResult,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "producer_id" / Since(5, Ignorable(Default(Int64, -1))),
    "producer_epoch" / Since(5, Ignorable(Default(Int16, -1))),
)
api = Api(26, "EndTxn", request, response, versions=range(6), flexible=3)
