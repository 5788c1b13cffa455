"""AddPartitionsToTxn (key 24): adds partitions to a transaction before records are written to them.

KIP-98. Clients send up to v3. Brokers send v4 and later among themselves: many transactions at once, and a
mode that only checks whether partitions belong to one (KIP-890). v2 PRODUCER_FENCED (KIP-588).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    ErrorCode,
    Ignorable,
    Int16,
    Int64,
    Partition,
    Since,
    String,
    Struct,
    TopicName,
    Until,
)
from .meanings import Partitions, ProducerEpoch, ProducerId, ThrottleTime, TransactionalId

request = Struct(
    "transactions" / Since(4, Array(
        "transactional_id" / TransactionalId,
        "producer_id" / ProducerId,
        "producer_epoch" / ProducerEpoch,
        "verify_only" / Boolean,
        "topics" / Array("name" / TopicName, "partitions" / Partitions),
    )),
    "v3_and_below_transactional_id" / Until(3, String),
    "v3_and_below_producer_id" / Until(3, Int64),
    "v3_and_below_producer_epoch" / Until(3, Int16),
    "v3_and_below_topics" / Until(3, Array("name" / TopicName, "partitions" / Partitions)),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / Since(4, Ignorable(ErrorCode)),
    "results_by_transaction" / Since(4, Array(
        "transactional_id" / TransactionalId,
        "topic_results" / Array(
            "name" / TopicName,
            "results_by_partition" / Array(
                "partition_index" / Partition,
                "partition_error_code" / ErrorCode,
            ),
        ),
    )),
    "results_by_topic_v3_and_below" / Until(3, Array(
        "name" / TopicName,
        "results_by_partition" / Array(
            "partition_index" / Partition,
            "partition_error_code" / ErrorCode,
        ),
    )),
)
api = Api(24, "AddPartitionsToTxn", request, response, versions=range(6), flexible=3)
