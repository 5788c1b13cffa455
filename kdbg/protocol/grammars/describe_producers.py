"""DescribeProducers (key 61): the producers with state in a partition, and where their transactions begin.

KIP-664; it helps to find hanging transactions.
"""

from .meanings import *

request: Final = Struct(
    "topics" / Array("name" / TopicName, "partition_indexes" / Partitions) * "partitions to describe, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
            "active_producers" / Array(
                "producer_id" / ProducerId,
                "producer_epoch" / Int32 * "epoch the producer last wrote with, here as INT32",
                "last_sequence" / Default(Int32, -1) * "sequence number of its last record; -1 when unknown",
                "last_timestamp" / Default(Timestamp, -1) * "time of its last batch; -1 when unknown",
                "coordinator_epoch" / Int32
                    * "epoch of the transaction coordinator that wrote the producer's last marker here; -1 is none",
                "current_txn_start_offset" / Default(Int64, -1)
                    * "first offset of its open transaction, which the last stable offset waits for; -1 is none",
            ) * "producers that wrote here lately and that the leader keeps in mind",
        ) * "what the leader knows of each partition's producers",
    ) * "what the leaders know, by topic",
)
api: Final = Api(61, "DescribeProducers", request, response, versions=range(1), flexible=0)
