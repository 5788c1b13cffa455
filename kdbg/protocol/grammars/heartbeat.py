"""Heartbeat (key 12): a member shows its group coordinator that it is alive and learns of a rebalance.

v3 static members (KIP-345). The newer group protocols have heartbeats of their own: keys 68, 76 and 88.
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId,
    "generation_id" / GenerationId * "which rebalance the member took part in, from JoinGroup; an old one is refused",
    "member_id" / MemberId,
    "group_instance_id" / Since(3, Default(Nullable(GroupInstanceId), None)),
)
response: Final = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "error_code" / ErrorCode * "REBALANCE_IN_PROGRESS: the member must rejoin",
)
api: Final = Api(12, "Heartbeat", request, response, versions=range(5), flexible=4)
