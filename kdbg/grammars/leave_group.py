"""LeaveGroup (key 13): members leave a group, which then rebalances without waiting for their timeout.

v3 several members in one request, named by member id or static id (KIP-345), v5 a reason for each (KIP-800).
"""

from ..wire import Api, Array, Default, Duration, ErrorCode, GroupId, Ignorable, Nullable, Since, String, Struct, Until

request = Struct(
    "group_id" / GroupId,
    "members" / Since(3, Array(
        "member_id" / String,
        "group_instance_id" / Default(Nullable(String), None),
        "reason" / Since(5, Ignorable(Default(Nullable(String), None))),
    )),
    "member_id" / Until(2, String),
)
response = Struct(
    "throttle_time_ms" / Since(1, Ignorable(Duration)),
    "error_code" / ErrorCode,
    "members" / Since(3, Array(
        "member_id" / String,
        "group_instance_id" / Nullable(String),
        "error_code" / ErrorCode,
    )),
)
api = Api(13, "LeaveGroup", request, response, versions=range(6), flexible=4)
