"""ShareFetch (key 78): records for a member of a share group, and acknowledgements of earlier ones.

KIP-932. v0 was the early access of Kafka 4.0; v1 is the first stable version and limits records instead of
bytes per partition; v2 the acquire mode (KIP-1206) and the renewal of locks (KIP-1222).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    Duration,
    ErrorCode,
    GroupId,
    Ignorable,
    Int32,
    Int64,
    Nullable,
    NullableUntil,
    Partition,
    Since,
    String,
    Struct,
    TopicId,
    Until,
)
from .meanings import (
    DeliveryCount,
    ErrorMessage,
    Host,
    LeaderEpoch,
    LeaderId,
    MemberId,
    NodeId,
    Partitions,
    Port,
    Rack,
    ShareAcknowledgeType,
    ShareAcquireMode,
    ShareSessionEpoch,
    ThrottleTime,
)
from .records import FetchedRecords

request = Struct(
    "group_id" / Default(Nullable(GroupId), None),
    "member_id" / Nullable(MemberId),
    "share_session_epoch" / ShareSessionEpoch,
    "max_wait_ms" / Duration,
    "min_bytes" / Int32,
    "max_bytes" / Default(Int32, 2**31 - 1),
    "max_records" / Since(1, Int32),
    "batch_size" / Since(1, Int32),
    "share_acquire_mode" / Since(2, Ignorable(ShareAcquireMode)),
    "is_renew_ack" / Since(2, Boolean),
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "partition_max_bytes" / Until(0, Int32),
            "acknowledgement_batches" / Array(
                "first_offset" / Int64,
                "last_offset" / Int64,
                "acknowledge_types" / Array(ShareAcknowledgeType),
            ),
        ),
    ),
    "forgotten_topics_data" / Array("topic_id" / TopicId, "partitions" / Partitions),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "acquisition_lock_timeout_ms" / Since(1, Duration),
    "responses" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
            "acknowledge_error_code" / ErrorCode,
            "acknowledge_error_message" / Default(Nullable(String), None),
            "current_leader" / Struct("leader_id" / LeaderId, "leader_epoch" / LeaderEpoch),
            "records" / NullableUntil(0, FetchedRecords),
            "acquired_records" / Array(
                "first_offset" / Int64,
                "last_offset" / Int64,
                "delivery_count" / DeliveryCount,
            ),
        ),
    ),
    "node_endpoints" / Array(
        "node_id" / NodeId,
        "host" / Host,
        "port" / Port,
        "rack" / Default(Nullable(Rack), None),
    ),
)
api = Api(78, "ShareFetch", request, response, versions=range(3), flexible=0)
