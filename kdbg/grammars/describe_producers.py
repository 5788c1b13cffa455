"""DescribeProducers (key 61): the producers with state in a partition, and where their transactions begin.

KIP-664; it helps to find hanging transactions.
"""

from ..wire import (
    Api,
    Array,
    Default,
    Duration,
    ErrorCode,
    Int32,
    Int64,
    Nullable,
    Partition,
    String,
    Struct,
    Timestamp,
    TopicName,
)

request = Struct(
    "topics" / Array("name" / TopicName, "partition_indexes" / Array(Partition)),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(String), None),
            "active_producers" / Array(
                "producer_id" / Int64,
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
