"""ShareAcknowledge (key 79): a member of a share group accepts, releases or rejects records.

KIP-932. v0 was the early access of Kafka 4.0; v1 is the first stable version; v2 can renew the lock on
records (KIP-1222).
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
    Int64,
    Nullable,
    Partition,
    Since,
    Struct,
    TopicId,
)
from .meanings import (
    ErrorMessage,
    Host,
    LeaderEpoch,
    LeaderId,
    MemberId,
    NodeId,
    Port,
    Rack,
    ShareAcknowledgeType,
    ShareSessionEpoch,
    ThrottleTime,
)

request = Struct(
    "group_id" / Default(Nullable(GroupId), None),
    "member_id" / Nullable(MemberId),
    "share_session_epoch" / ShareSessionEpoch,
    "is_renew_ack" / Since(2, Boolean),
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "acknowledgement_batches" / Array(
                "first_offset" / Int64,
                "last_offset" / Int64,
                "acknowledge_types" / Array(ShareAcknowledgeType),
            ),
        ),
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "acquisition_lock_timeout_ms" / Since(2, Ignorable(Duration)),
    "responses" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
            "current_leader" / Struct("leader_id" / LeaderId, "leader_epoch" / LeaderEpoch),
        ),
    ),
    "node_endpoints" / Array(
        "node_id" / NodeId,
        "host" / Host,
        "port" / Port,
        "rack" / Default(Nullable(Rack), None),
    ),
)
api = Api(79, "ShareAcknowledge", request, response, versions=range(3), flexible=0)
