"""ShareGroupDescribe (key 77): state, members and assignments of share groups.

KIP-932. v0 was the early access of Kafka 4.0; v1 is the first stable version.
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
    String,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import AclOperations

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
            "rack_id" / Default(Nullable(String), None),
            "member_epoch" / Int32,
            "client_id" / String,
            "client_host" / String,
            "subscribed_topic_names" / Array(TopicName),
            "assignment" / Struct(
                "topic_partitions" / Array(
                    "topic_id" / TopicId,
                    "topic_name" / TopicName,
                    "partitions" / Array(Partition),
                ),
            ),
        ),
        "authorized_operations" / Default(AclOperations, -(2**31)),
    ),
)
api = Api(77, "ShareGroupDescribe", request, response, versions=range(2), flexible=0)
