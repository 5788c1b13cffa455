"""DescribeTransactions (key 65): state, producer and partitions of transactions, from their coordinator.

KIP-664.
"""

from ..wire import Api, Array, Duration, ErrorCode, String, Struct, Timestamp, TopicName
from .meanings import Partitions, ProducerEpoch, ProducerId, ThrottleTime, TransactionalId

request = Struct("transactional_ids" / Array(String))
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "transaction_states" / Array(
        "error_code" / ErrorCode,
        "transactional_id" / TransactionalId,
        "transaction_state" / String,
        "transaction_timeout_ms" / Duration,
        "transaction_start_time_ms" / Timestamp,
        "producer_id" / ProducerId,
        "producer_epoch" / ProducerEpoch,
        "topics" / Array("topic" / TopicName, "partitions" / Partitions),
    ),
)
api = Api(65, "DescribeTransactions", request, response, versions=range(1), flexible=0)
