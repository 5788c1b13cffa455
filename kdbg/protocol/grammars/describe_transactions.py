"""DescribeTransactions (key 65): state, producer and partitions of transactions, from their coordinator.

KIP-664.
"""

from .meanings import *

request: Final = Struct(
    "transactional_ids" / Array(String) * "transactions to describe, all at their coordinator",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "transaction_states" / Array(
        "error_code" / ErrorCode,
        "transactional_id" / TransactionalId,
        "transaction_state" / String * "such as Empty, Ongoing, PrepareCommit, CompleteAbort or Dead",
        "transaction_timeout_ms" / Duration
            * "milliseconds that the transaction may stay open before the coordinator aborts it",
        "transaction_start_time_ms" / Timestamp * "when the open transaction began; -1 when none is open",
        "producer_id" / ProducerId,
        "producer_epoch" / ProducerEpoch,
        "topics" / Array("topic" / TopicName, "partitions" / Partitions)
            * "partitions that were added to the open transaction, by topic",
    ) * "one result for each id",
)
api: Final = Api(65, "DescribeTransactions", request, response, versions=range(1), flexible=0)
