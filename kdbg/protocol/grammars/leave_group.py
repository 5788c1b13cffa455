"""LeaveGroup (key 13): members leave a group, which then rebalances without waiting for their timeout.

v3 several members in one request, named by member id or static id (KIP-345), v5 a reason for each (KIP-800).
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId,
    "members" / Since(3, Array(
        "member_id" / MemberId * "id of the member; empty when it is meant by its static id",
        "group_instance_id" / Default(Nullable(GroupInstanceId), None)
            * "static id of the member; null when it is meant by its member id",
        "reason" / Since(5, Ignorable(Default(Nullable(String), None)))
            * "reason of the leave, for the broker's log; null if there is none",
    )) * "who leaves; an administrator may take out several",
    "member_id" / Until(2, MemberId) * "the member that leaves",
)
response: Final = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "error_code" / ErrorCode
        * "error of the request; from version 3 on, members have their own error codes",
    "members" / Since(3, Array(
        "member_id" / MemberId,
        "group_instance_id" / Nullable(GroupInstanceId),
        "error_code" / ErrorCode,
    )) * "what became of each member",
)
api: Final = Api(13, "LeaveGroup", request, response, versions=range(6), flexible=4)
