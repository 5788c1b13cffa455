"""AlterShareGroupOffsets (key 91): sets the start offsets of an empty share group.

KIP-932.
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId * "the share group, which must have no members",
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "start_offset" / Int64 * "first offset to deliver to the group from now on",
        ) * "where delivery shall begin, partition by partition",
    ) * "where delivery shall begin, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / RequestError,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "responses" / Array(
        "topic_name" / TopicName,
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
        ) * "what became of each partition",
    ) * "what became of the offsets, by topic",
)
api: Final = Api(91, "AlterShareGroupOffsets", request, response, versions=range(1), flexible=0)
