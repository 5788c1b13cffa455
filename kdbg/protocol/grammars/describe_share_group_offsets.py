"""DescribeShareGroupOffsets (key 90): the start offsets of share groups.

KIP-932. v1 the lag (KIP-1226).
"""

from .meanings import *

request: Final = Struct(
    "groups" / Array(
        "group_id" / GroupId,
        "topics" / Nullable(Array("topic_name" / TopicName, "partitions" / Partitions))
            * "partitions to describe, by topic; null means all that the group has",
    ) * "share groups to describe",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "groups" / Array(
        "group_id" / GroupId,
        "topics" / Array(
            "topic_name" / TopicName,
            "topic_id" / TopicId,
            "partitions" / Array(
                "partition_index" / Partition,
                "start_offset" / Int64 * "all records before this offset are done with; -1 when not yet set",
                "leader_epoch" / LeaderEpoch,
                "lag" / Since(1, Ignorable(Default(Int64, -1)))
                    * "records from the start offset on that are still to be dealt with; -1 when unknown",
                "error_code" / ErrorCode,
                "error_message" / Default(Nullable(ErrorMessage), None),
            ) * "offsets of the group, partition by partition",
        ) * "offsets of the group, by topic",
        "error_code" / ErrorCode
            * "error of the group; partitions have their own error codes",
        "error_message" / Default(Nullable(ErrorMessage), None),
    ) * "one result for each group of the request",
)
api: Final = Api(90, "DescribeShareGroupOffsets", request, response, versions=range(2), flexible=0)
