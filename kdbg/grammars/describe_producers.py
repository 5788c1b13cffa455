"""DescribeProducers (key 61): the producers with state in a partition, and where their transactions begin.

KIP-664; it helps to find hanging transactions.
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    Int32,
    Int64,
    Nullable,
    Partition,
    Struct,
    Timestamp,
    TopicName,
)
from .meanings import ErrorMessage, Partitions, ProducerId, ThrottleTime

request = Struct(
    "topics" / Array("name" / TopicName, "partition_indexes" / Partitions),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
            "active_producers" / Array(
                "producer_id" / ProducerId,
                "producer_epoch" / Int32,
                "last_sequence" / Default(Int32, -1),
                "last_timestamp" / Default(Timestamp, -1),
                "coordinator_epoch" / Int32,
                "current_txn_start_offset" / Default(Int64, -1),
            ),
        ),
    ),
)
api = Api(61, "DescribeProducers", request, response, versions=range(1), flexible=0)
