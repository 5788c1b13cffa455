"""JoinGroup (key 11): a member joins a group of the classic protocol; one of them becomes its leader.

v1 a rebalance timeout of its own (KIP-62), v4 a new member gets its id first and joins again with it
(KIP-394), v5 static members (KIP-345), v7 the protocol type in the answer (KIP-559), v8 a reason (KIP-800),
v9 a leader may be told to skip the assignment (KIP-814).
"""

from .meanings import *
from .payloads import subscription

request: Final = Struct(
    "group_id" / GroupId,
    "session_timeout_ms" / SessionTimeout,
    "rebalance_timeout_ms" / Since(1, Ignorable(Default(RebalanceTimeout, -1)))
        * "milliseconds that members have to join again; in v0, where it is -1, session_timeout_ms counts",
    "member_id" / MemberId,
    "group_instance_id" / Since(5, Default(Nullable(GroupInstanceId), None)),
    "protocol_type" / ProtocolType,
    "protocols" / Array(
        "name" / String * "name of the protocol, such as range or cooperative-sticky",
        "metadata" / Holds(Bytes, subscription)
            * "metadata for the group leader, for consumers their topics",
    ) * "what the member can work by, for consumers assignors, best first",
    "reason" / Since(8, Ignorable(Default(Nullable(String), None)))
        * "reason of the join, for the broker's log; null if there is none",
)
response: Final = Struct(
    "throttle_time_ms" / Since(2, Ignorable(ThrottleTime)),
    "error_code" / ErrorCode * "MEMBER_ID_REQUIRED: a new member must join again with this member id",
    "generation_id" / Default(GenerationId, -1),
    "protocol_type" / Since(7, Ignorable(Default(Nullable(ProtocolType), None)))
        * "what the group is for; null on error",
    "protocol_name" / NullableSince(7, String)
        * "protocol that all members support and that was chosen; null on error, empty before version 7",
    "leader" / String * "member id of who computes the assignment",
    "skip_assignment" / Since(9, Boolean)
        * "true spares the leader the assignment, for it came back and the old one holds",
    "member_id" / MemberId * "id of the member, for its further requests",
    "members" / Array(
        "member_id" / MemberId,
        "group_instance_id" / Since(5, Ignorable(Default(Nullable(GroupInstanceId), None))),
        "metadata" / Holds(Bytes, subscription) * "metadata of the member, for consumers their topics",
    ) * "all members, only in the response to the group leader; empty in others",
)
api: Final = Api(11, "JoinGroup", request, response, versions=range(10), flexible=6)
