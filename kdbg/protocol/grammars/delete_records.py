"""DeleteRecords (key 21): deletes the oldest records of partitions, up to an offset.

KIP-107. The answer gives the new first offset of each partition.
"""

from .meanings import *

request: Final = Struct(
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "offset" / DeleteRecordsOffset,
        ) * "where to delete, partition by partition",
    ) * "where to delete, by topic",
    "timeout_ms" / Timeout * "milliseconds to wait until the replicas have deleted as well",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "low_watermark" / Int64 * "first offset that is left, over all replicas; -1 on error",
            "error_code" / ErrorCode,
        ) * "what became of each partition",
    ) * "what became of the partitions, by topic",
)
api: Final = Api(21, "DeleteRecords", request, response, versions=range(3), flexible=2)
