"""DescribeTransactions (key 65): state, producer and partitions of transactions, from their coordinator.

KIP-664.
"""

from ..wire import Api, Array, Duration, ErrorCode, Int16, Int64, Partition, String, Struct, Timestamp, TopicName

request = Struct("transactional_ids" / Array(String))
response = Struct(
    "throttle_time_ms" / Duration,
    "transaction_states" / Array(
        "error_code" / ErrorCode,
        "transactional_id" / String,
        "transaction_state" / String,
        "transaction_timeout_ms" / Duration,
        "transaction_start_time_ms" / Timestamp,
        "producer_id" / Int64,
        "producer_epoch" / Int16,
        "topics" / Array("topic" / TopicName, "partitions" / Array(Partition)),
    ),
)
api = Api(65, "DescribeTransactions", request, response, versions=range(1), flexible=0)
