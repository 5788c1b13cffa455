"""ConsumerGroupDescribe (key 69): state, members and assignments of consumer groups of the new protocol.

KIP-848. v1 the type of each member, classic or consumer (KIP-1099).
"""

from ..wire import (
    Api,
    Array,
    BeforeRelease,
    Boolean,
    Bytes,
    Default,
    Dialect,
    Duration,
    ErrorCode,
    GroupId,
    Ignorable,
    Int8,
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

assignment = Struct(
    "topic_partitions" / Array("topic_id" / TopicId, "topic_name" / TopicName, "partitions" / Array(Partition)),
    "error" / BeforeRelease((3, 8), Int8),
    "metadata_version" / BeforeRelease((3, 8), Int32),
    "metadata_bytes" / BeforeRelease((3, 8), Bytes),
)
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
            "assignment" / assignment,
            "target_assignment" / assignment,
            "member_type" / Since(1, Ignorable(Default(GroupMemberType, -1))),
        ),
        "authorized_operations" / Default(AclOperations, -(2**31)),
    ),
)
kafka_3_7 = Dialect(
    "response", range(1), "version 0 as Kafka 3.7 wrote it, with the metadata of client-side assignors", response,
    release=(3, 7),
)  # fmt: skip
api = Api(69, "ConsumerGroupDescribe", request, response, versions=range(2), flexible=0, dialects=(kafka_3_7,))
