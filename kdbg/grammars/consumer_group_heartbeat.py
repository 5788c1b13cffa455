"""ConsumerGroupHeartbeat (key 68): joins, keeps up and leaves a consumer group of the new protocol.

KIP-848: one request instead of JoinGroup, SyncGroup, Heartbeat and LeaveGroup; the coordinator assigns, and
member_epoch tells what a member is about (0 joins, -1 leaves, -2 a static member leaves for a while). v1
subscriptions by regular expression, and member ids made by the client (KIP-1082).
"""

from ..wire import (
    Api,
    Array,
    BeforeRelease,
    Boolean,
    Bytes,
    Default,
    Dialect,
    ErrorCode,
    GroupId,
    Int8,
    Int16,
    Nullable,
    Since,
    SinceRelease,
    String,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import (
    ClientRack,
    ErrorMessage,
    GroupInstanceId,
    HeartbeatInterval,
    MemberEpoch,
    MemberId,
    Partitions,
    ReachedEpoch,
    RebalanceTimeout,
    ThrottleTime,
)

topic_partitions = Array("topic_id" / TopicId, "partitions" / Partitions)
request = Struct(
    "group_id" / GroupId,
    "member_id" / MemberId,
    "member_epoch" / MemberEpoch,
    "instance_id" / Default(Nullable(GroupInstanceId), None),
    "rack_id" / Default(Nullable(ClientRack), None),
    "rebalance_timeout_ms" / Default(RebalanceTimeout, -1),
    "subscribed_topic_names" / Default(Nullable(Array(TopicName)), None),
    "subscribed_topic_regex" / Since(1, Default(Nullable(String), None)),
    "subscribed_topic_regex" / BeforeRelease((3, 7), Default(Nullable(String), None)),
    "server_assignor" / Default(Nullable(String), None),
    "client_assignors" / BeforeRelease((3, 7), Default(Nullable(Array(
        "name" / String,
        "minimum_version" / Int16,
        "maximum_version" / Int16,
        "reason" / Int8,
        "metadata_version" / Int16,
        "metadata_bytes" / Bytes,
    )), None)),
    "topic_partitions" / Default(Nullable(topic_partitions), None),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "member_id" / Default(Nullable(MemberId), None),
    "member_epoch" / ReachedEpoch,
    "should_compute_assignment" / BeforeRelease((3, 7), Boolean),
    "heartbeat_interval_ms" / HeartbeatInterval,
    "assignment" / Default(Nullable(Struct(
        "topic_partitions" / SinceRelease((3, 7), topic_partitions),
        "error" / BeforeRelease((3, 7), Int8),
        "assigned_topic_partitions" / BeforeRelease((3, 7), topic_partitions),
        "pending_topic_partitions" / BeforeRelease((3, 7), topic_partitions),
        "metadata_version" / BeforeRelease((3, 7), Int16),
        "metadata_bytes" / BeforeRelease((3, 7), Bytes),
    )), None),
)
FORM = "version 0 as Kafka 3.6 wrote it, with client-side assignors"
kafka_3_6 = (
    Dialect("request", range(1), FORM, request, release=(3, 6)),
    Dialect("response", range(1), FORM, response, release=(3, 6)),
)
api = Api(68, "ConsumerGroupHeartbeat", request, response, versions=range(2), flexible=0, dialects=kafka_3_6)
