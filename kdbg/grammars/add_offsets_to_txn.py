"""AddOffsetsToTxn (key 25): adds a consumer group's offsets to a transaction, before TxnOffsetCommit.

KIP-98. v2 PRODUCER_FENCED (KIP-588), v4 TRANSACTION_ABORTABLE (KIP-890).
"""

from ..wire import Api, Duration, ErrorCode, GroupId, Int16, Int64, String, Struct

request = Struct(
    "transactional_id" / String,
    "producer_id" / Int64,
    "producer_epoch" / Int16,
    "group_id" / GroupId,
)
response = Struct("throttle_time_ms" / Duration, "error_code" / ErrorCode)
api = Api(25, "AddOffsetsToTxn", request, response, versions=range(5), flexible=3)
