"""DescribeGroups (key 15): state and members of groups of the classic protocol.

v3 the operations the asker is allowed (KIP-430), v4 static ids of members (KIP-345), v6 an error where a
group does not exist (KIP-1043).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Bytes,
    Default,
    Duration,
    ErrorCode,
    GroupId,
    Holds,
    Ignorable,
    Nullable,
    Since,
    String,
    Struct,
)
from .meanings import AclOperations
from .payloads import assignment, subscription

request = Struct(
    "groups" / Array(GroupId),
    "include_authorized_operations" / Since(3, Boolean),
)
response = Struct(
    "throttle_time_ms" / Since(1, Ignorable(Duration)),
    "groups" / Array(
        "error_code" / ErrorCode,
        "error_message" / Since(6, Default(Nullable(String), None)),
        "group_id" / GroupId,
        "group_state" / String,
        "protocol_type" / String,
        "protocol_data" / String,
        "members" / Array(
            "member_id" / String,
            "group_instance_id" / Since(4, Ignorable(Default(Nullable(String), None))),
            "client_id" / String,
            "client_host" / String,
            "member_metadata" / Holds(Bytes, subscription),
            "member_assignment" / Holds(Bytes, assignment),
        ),
        "authorized_operations" / Since(3, Default(AclOperations, -(2**31))),
    ),
)
api = Api(15, "DescribeGroups", request, response, versions=range(7), flexible=5)
