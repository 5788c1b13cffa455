"""SyncGroup (key 14): the leader hands in the assignments of a rebalance, each member gets its own.

v3 static members (KIP-345), v5 protocol type and name, which the broker compares with those it knows
(KIP-559).
"""

from ..wire import (
    Api,
    Array,
    Bytes,
    Default,
    Duration,
    ErrorCode,
    GroupId,
    Holds,
    Ignorable,
    Int32,
    Nullable,
    Since,
    String,
    Struct,
)
from .payloads import assignment

request = Struct(
    "group_id" / GroupId,
    "generation_id" / Int32,
    "member_id" / String,
    "group_instance_id" / Since(3, Default(Nullable(String), None)),
    "protocol_type" / Since(5, Ignorable(Default(Nullable(String), None))),
    "protocol_name" / Since(5, Ignorable(Default(Nullable(String), None))),
    "assignments" / Array("member_id" / String, "assignment" / Holds(Bytes, assignment)),
)
response = Struct(
    "throttle_time_ms" / Since(1, Ignorable(Duration)),
    "error_code" / ErrorCode,
    "protocol_type" / Since(5, Ignorable(Default(Nullable(String), None))),
    "protocol_name" / Since(5, Ignorable(Default(Nullable(String), None))),
    "assignment" / Holds(Bytes, assignment),
)
api = Api(14, "SyncGroup", request, response, versions=range(6), flexible=4)
