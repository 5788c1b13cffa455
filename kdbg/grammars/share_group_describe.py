"""ShareGroupDescribe (key 77): state, members and assignments of share groups.

KIP-932. v0 was the early access of Kafka 4.0; v1 is the first stable version.
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    GroupId,
    Nullable,
    String,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import (
    AclOperations,
    AssignmentEpoch,
    ClientHost,
    ClientId,
    ClientRack,
    ErrorMessage,
    GroupEpoch,
    GroupState,
    IncludeOperations,
    MemberId,
    Partitions,
    ReachedEpoch,
    ThrottleTime,
)

request = Struct(
    "group_ids" / Array(GroupId),
    "include_authorized_operations" / IncludeOperations,
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "groups" / Array(
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(ErrorMessage), None),
        "group_id" / GroupId,
        "group_state" / GroupState,
        "group_epoch" / GroupEpoch,
        "assignment_epoch" / AssignmentEpoch,
        "assignor_name" / String,
        "members" / Array(
            "member_id" / MemberId,
            "rack_id" / Default(Nullable(ClientRack), None),
            "member_epoch" / ReachedEpoch,
            "client_id" / ClientId,
            "client_host" / ClientHost,
            "subscribed_topic_names" / Array(TopicName),
            "assignment" / Struct(
                "topic_partitions" / Array(
                    "topic_id" / TopicId,
                    "topic_name" / TopicName,
                    "partitions" / Partitions,
                ),
            ),
        ),
        "authorized_operations" / Default(AclOperations, -(2**31)),
    ),
)
api = Api(77, "ShareGroupDescribe", request, response, versions=range(2), flexible=0)
