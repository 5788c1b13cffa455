"""SyncGroup (key 14): the leader hands in the assignments of a rebalance, each member gets its own.

v3 static members (KIP-345), v5 protocol type and name, which the broker compares with those it knows
(KIP-559).
"""

from ..wire import (
    Api,
    Array,
    Bytes,
    Default,
    ErrorCode,
    GroupId,
    Holds,
    Ignorable,
    Nullable,
    Since,
    String,
    Struct,
)
from .meanings import GenerationId, GroupInstanceId, MemberId, ProtocolType, ThrottleTime
from .payloads import assignment

request = Struct(
    "group_id" / GroupId,
    "generation_id" / GenerationId,
    "member_id" / MemberId,
    "group_instance_id" / Since(3, Default(Nullable(GroupInstanceId), None)),
    "protocol_type" / Since(5, Ignorable(Default(Nullable(ProtocolType), None))),
    "protocol_name" / Since(5, Ignorable(Default(Nullable(String), None))),
    "assignments" / Array("member_id" / MemberId, "assignment" / Holds(Bytes, assignment)),
)
response = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "error_code" / ErrorCode,
    "protocol_type" / Since(5, Ignorable(Default(Nullable(ProtocolType), None))),
    "protocol_name" / Since(5, Ignorable(Default(Nullable(String), None))),
    "assignment" / Holds(Bytes, assignment),
)
api = Api(14, "SyncGroup", request, response, versions=range(6), flexible=4)
