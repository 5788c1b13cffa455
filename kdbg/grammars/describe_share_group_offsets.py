"""DescribeShareGroupOffsets (key 90): the start offsets of share groups.

KIP-932. v1 the lag (KIP-1226).
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    GroupId,
    Ignorable,
    Int64,
    Nullable,
    Partition,
    Since,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import ErrorMessage, LeaderEpoch, Partitions, ThrottleTime

request = Struct(
    "groups" / Array(
        "group_id" / GroupId,
        "topics" / Nullable(Array("topic_name" / TopicName, "partitions" / Partitions)),
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "groups" / Array(
        "group_id" / GroupId,
        "topics" / Array(
            "topic_name" / TopicName,
            "topic_id" / TopicId,
            "partitions" / Array(
                "partition_index" / Partition,
                "start_offset" / Int64,
                "leader_epoch" / LeaderEpoch,
                "lag" / Since(1, Ignorable(Default(Int64, -1))),
                "error_code" / ErrorCode,
                "error_message" / Default(Nullable(ErrorMessage), None),
            ),
        ),
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(ErrorMessage), None),
    ),
)
api = Api(90, "DescribeShareGroupOffsets", request, response, versions=range(2), flexible=0)
