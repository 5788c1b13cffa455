"""ConsumerGroupHeartbeat (key 68): joins, keeps up and leaves a consumer group of the new protocol.

KIP-848: one request instead of JoinGroup, SyncGroup, Heartbeat and LeaveGroup; the coordinator assigns, and
member_epoch tells what a member is about (0 joins, -1 leaves, -2 a static member leaves for a while). v1
subscriptions by regular expression, and member ids made by the client (KIP-1082).
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
    Since,
    String,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import MemberEpoch

request = Struct(
    "group_id" / GroupId,
    "member_id" / String,
    "member_epoch" / MemberEpoch,
    "instance_id" / Default(Nullable(String), None),
    "rack_id" / Default(Nullable(String), None),
    "rebalance_timeout_ms" / Default(Duration, -1),
    "subscribed_topic_names" / Default(Nullable(Array(TopicName)), None),
    "subscribed_topic_regex" / Since(1, Default(Nullable(String), None)),
    "server_assignor" / Default(Nullable(String), None),
    "topic_partitions" / Default(Nullable(Array("topic_id" / TopicId, "partitions" / Array(Partition))), None),
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
api = Api(68, "ConsumerGroupHeartbeat", request, response, versions=range(2), flexible=0)
