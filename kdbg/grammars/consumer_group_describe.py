"""ConsumerGroupDescribe (key 69): state, members and assignments of consumer groups of the new protocol.

KIP-848. v1 the type of each member, classic or consumer (KIP-1099).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
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
from .meanings import AclOperations, GroupMemberType

request = Struct(
    "group_ids" / Array(GroupId),
    "include_authorized_operations" / Boolean,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "groups" / Array(
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(String), None),
        "group_id" / GroupId,
        "group_state" / String,
        "group_epoch" / Int32,
        "assignment_epoch" / Int32,
        "assignor_name" / String,
        "members" / Array(
            "member_id" / String,
            "instance_id" / Default(Nullable(String), None),
            "rack_id" / Default(Nullable(String), None),
            "member_epoch" / Int32,
            "client_id" / String,
            "client_host" / String,
            "subscribed_topic_names" / Array(TopicName),
            "subscribed_topic_regex" / Default(Nullable(String), None),
            "assignment" / Struct(
                "topic_partitions" / Array(
                    "topic_id" / TopicId,
                    "topic_name" / TopicName,
                    "partitions" / Array(Partition),
                ),
            ),
            "target_assignment" / Struct(
                "topic_partitions" / Array(
                    "topic_id" / TopicId,
                    "topic_name" / TopicName,
                    "partitions" / Array(Partition),
                ),
            ),
            "member_type" / Since(1, Default(GroupMemberType, -1)),
        ),
        "authorized_operations" / Default(AclOperations, -(2**31)),
    ),
)
api = Api(69, "ConsumerGroupDescribe", request, response, versions=range(2), flexible=0)
