"""ShareGroupHeartbeat (key 76): joins, keeps up and leaves a share group.

KIP-932. v0 was the early access of Kafka 4.0 and is not compatible; v1 is the first stable version.
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId,
    "member_id" / MemberId,
    "member_epoch" / ShareMemberEpoch * "0 joins, -1 leaves; otherwise the epoch from the last response",
    "rack_id" / Default(Nullable(ClientRack), None) * "client.rack of the member; null means none, or unchanged",
    "subscribed_topic_names" / Default(Nullable(Array(TopicName)), None)
        * "topics the member subscribes to; null means unchanged",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "member_id" / Default(Nullable(MemberId), None) * "id of the member; null after an error",
    "member_epoch" / ReachedEpoch * "epoch to send with the next heartbeat",
    "heartbeat_interval_ms" / HeartbeatInterval,
    "assignment" / Default(Nullable(Struct(
        "topic_partitions" / Array("topic_id" / TopicId, "partitions" / Partitions) * "partitions, by topic",
    )), None) * "partitions to read from now on; null means unchanged",
)
api: Final = Api(76, "ShareGroupHeartbeat", request, response, versions=range(2), flexible=0)
