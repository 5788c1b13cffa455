"""LeaveGroup (key 13): members leave a group, which then rebalances without waiting for their timeout.

v3 several members in one request, named by member id or static id (KIP-345), v5 a reason for each (KIP-800).
"""

from ..wire import Api, Array, Default, ErrorCode, GroupId, Ignorable, Nullable, Since, String, Struct, Until
from .meanings import GroupInstanceId, MemberId, ThrottleTime

request = Struct(
    "group_id" / GroupId,
    "members" / Since(3, Array(
        "member_id" / MemberId,
        "group_instance_id" / Default(Nullable(GroupInstanceId), None),
        "reason" / Since(5, Ignorable(Default(Nullable(String), None))),
    )),
    "member_id" / Until(2, MemberId),
)
response = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "error_code" / ErrorCode,
    "members" / Since(3, Array(
        "member_id" / MemberId,
        "group_instance_id" / Nullable(GroupInstanceId),
        "error_code" / ErrorCode,
    )),
)
api = Api(13, "LeaveGroup", request, response, versions=range(6), flexible=4)
