"""DescribeGroups (key 15): state and members of groups of the classic protocol.

v3 the operations the asker is allowed (KIP-430), v4 static ids of members (KIP-345), v6 an error where a
group does not exist (KIP-1043).
"""

from .meanings import *
from .payloads import assignment, subscription

request: Final = Struct(
    "groups" / Array(GroupId) * "groups to describe, all at their coordinator",
    "include_authorized_operations" / Since(3, IncludeOperations),
)
response: Final = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "groups" / Array(
        "error_code" / ErrorCode,
        "error_message" / Since(6, Default(Nullable(ErrorMessage), None)),
        "group_id" / GroupId,
        "group_state" / GroupState
            * "state of the group: Empty, PreparingRebalance, CompletingRebalance, Stable, or Dead if there is none",
        "protocol_type" / ProtocolType,
        "protocol_data" / String
            * "protocol chosen in the last rebalance, for consumers the assignor; empty unless Stable",
        "members" / Array(
            "member_id" / MemberId,
            "group_instance_id" / Since(4, Ignorable(Default(Nullable(GroupInstanceId), None))),
            "client_id" / ClientId,
            "client_host" / ClientHost,
            "member_metadata" / Holds(Bytes, subscription)
                * "metadata of the member's join, for consumers its topics; empty unless Stable",
            "member_assignment" / Holds(Bytes, assignment)
                * "what the group's leader gave the member, for consumers the partitions to read",
        ) * "who is in the group",
        "authorized_operations" / Since(3, Default(AclOperations, -(2**31))),
    ) * "one result for each group of the request",
)
api: Final = Api(15, "DescribeGroups", request, response, versions=range(7), flexible=5)
