"""OffsetDelete (key 47): deletes the offsets a consumer group has committed for some topics.

KIP-496. It never became flexible.
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array("partition_index" / Partition) * "partitions whose offsets to delete",
    ) * "offsets to delete, by topic",
)
response: Final = Struct(
    "error_code" / RequestError,
    "throttle_time_ms" / ThrottleTime,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode)
            * "results, one per partition; a topic that a member still subscribes to is refused",
    ) * "results, by topic",
)
api: Final = Api(47, "OffsetDelete", request, response, versions=range(1))
