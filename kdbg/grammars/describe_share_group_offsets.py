"""DescribeShareGroupOffsets (key 90): the start offsets of share groups.

KIP-932. v1 the lag (KIP-1226).
"""

from ..wire import (
    Api,
    Array,
    Default,
    Duration,
    ErrorCode,
    GroupId,
    Ignorable,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    TopicId,
    TopicName,
)

request = Struct(
    "groups" / Array(
        "group_id" / GroupId,
        "topics" / Nullable(Array("topic_name" / TopicName, "partitions" / Array(Partition))),
    ),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "groups" / Array(
        "group_id" / GroupId,
        "topics" / Array(
            "topic_name" / TopicName,
            "topic_id" / TopicId,
            "partitions" / Array(
                "partition_index" / Partition,
                "start_offset" / Int64,
                "leader_epoch" / Int32,
                "lag" / Since(1, Ignorable(Default(Int64, -1))),
                "error_code" / ErrorCode,
                "error_message" / Default(Nullable(String), None),
            ),
        ),
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(String), None),
    ),
)
api = Api(90, "DescribeShareGroupOffsets", request, response, versions=range(2), flexible=0)
