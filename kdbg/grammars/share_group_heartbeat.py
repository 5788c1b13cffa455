"""ShareGroupHeartbeat (key 76): joins, keeps up and leaves a share group.

KIP-932. v0 was the early access of Kafka 4.0 and is not compatible; v1 is the first stable version.
"""

from ..wire import (
    Api,
    Array,
    Default,
    Duration,
    ErrorCode,
    GroupId,
    Int32,
    Nullable,
    Partition,
    String,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import ShareMemberEpoch

request = Struct(
    "group_id" / GroupId,
    "member_id" / String,
    "member_epoch" / ShareMemberEpoch,
    "rack_id" / Default(Nullable(String), None),
    "subscribed_topic_names" / Default(Nullable(Array(TopicName)), None),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(String), None),
    "member_id" / Default(Nullable(String), None),
    "member_epoch" / Int32,
    "heartbeat_interval_ms" / Duration,
    "assignment" / Default(Nullable(Struct(
        "topic_partitions" / Array("topic_id" / TopicId, "partitions" / Array(Partition)),
    )), None),
)
api = Api(76, "ShareGroupHeartbeat", request, response, versions=range(2), flexible=0)
