"""ShareGroupHeartbeat (key 76): joins, keeps up and leaves a share group.

KIP-932. v0 was the early access of Kafka 4.0 and is not compatible; v1 is the first stable version.
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    GroupId,
    Nullable,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import (
    ClientRack,
    ErrorMessage,
    HeartbeatInterval,
    MemberId,
    Partitions,
    ReachedEpoch,
    ShareMemberEpoch,
    ThrottleTime,
)

request = Struct(
    "group_id" / GroupId,
    "member_id" / MemberId,
    "member_epoch" / ShareMemberEpoch,
    "rack_id" / Default(Nullable(ClientRack), None),
    "subscribed_topic_names" / Default(Nullable(Array(TopicName)), None),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "member_id" / Default(Nullable(MemberId), None),
    "member_epoch" / ReachedEpoch,
    "heartbeat_interval_ms" / HeartbeatInterval,
    "assignment" / Default(Nullable(Struct(
        "topic_partitions" / Array("topic_id" / TopicId, "partitions" / Partitions),
    )), None),
)
api = Api(76, "ShareGroupHeartbeat", request, response, versions=range(2), flexible=0)
