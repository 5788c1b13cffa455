"""SyncGroup (key 14): the leader hands in the assignments of a rebalance, each member gets its own.

v3 static members (KIP-345), v5 protocol type and name, which the broker compares with those it knows
(KIP-559).
"""

from .meanings import *
from .payloads import assignment

request: Final = Struct(
    "group_id" / GroupId,
    "generation_id" / GenerationId,
    "member_id" / MemberId,
    "group_instance_id" / Since(3, Default(Nullable(GroupInstanceId), None)),
    "protocol_type" / Since(5, Ignorable(Default(Nullable(ProtocolType), None)))
        * "kind of group, such as consumer or connect; null skips the check",
    "protocol_name" / Since(5, Ignorable(Default(Nullable(String), None)))
        * "assignor chosen in the JoinGroup response; null skips the check",
    "assignments" / Array(
        "member_id" / MemberId,
        "assignment" / Holds(Bytes, assignment) * "what the member is to do; its format depends on the protocol type",
    ) * "assignments of all members, sent by the group's leader; empty from the others",
)
response: Final = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "error_code" / ErrorCode,
    "protocol_type" / Since(5, Ignorable(Default(Nullable(ProtocolType), None)))
        * "kind of group, such as consumer or connect; null after an error",
    "protocol_name" / Since(5, Ignorable(Default(Nullable(String), None)))
        * "assignor the group uses; null after an error",
    "assignment" / Holds(Bytes, assignment)
        * "what this member is to do; its format depends on the protocol type; empty after an error",
)
api: Final = Api(14, "SyncGroup", request, response, versions=range(6), flexible=4)
