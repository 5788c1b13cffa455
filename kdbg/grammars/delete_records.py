"""DeleteRecords (key 21): deletes the oldest records of partitions, up to an offset.

KIP-107. The answer gives the new first offset of each partition.
"""

from ..wire import Api, Array, Duration, ErrorCode, Int64, Partition, Struct, TopicName
from .meanings import DeleteRecordsOffset

request = Struct(
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "offset" / DeleteRecordsOffset,
        ),
    ),
    "timeout_ms" / Duration,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "low_watermark" / Int64,
            "error_code" / ErrorCode,
        ),
    ),
)
api = Api(21, "DeleteRecords", request, response, versions=range(3), flexible=2)
