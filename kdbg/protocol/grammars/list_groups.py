"""ListGroups (key 16): the groups a broker coordinates.

Each broker knows only its own groups, so a full list needs a request to each. v4 filters by state (KIP-518),
v5 by type of group (KIP-848).
"""

from .meanings import *

request: Final = Struct(
    "states_filter" / Since(4, Array(String)) * "states of the groups to list, such as Stable or Empty; none lists all",
    "types_filter" / Since(5, Array(String))
        * "types of the groups to list, such as classic, consumer, share or streams; none lists all",
)
response: Final = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "error_code" / ErrorCode * "COORDINATOR_LOAD_IN_PROGRESS when the list may lack groups",
    "groups" / Array(
        "group_id" / GroupId,
        "protocol_type" / ProtocolType
            * "what the group is for, such as consumer, connect or share; empty when it only keeps offsets",
        "group_state" / Since(4, Ignorable(GroupState)),
        "group_type" / Since(5, Ignorable(String)) * "protocol the group runs by: classic, consumer, share or streams",
    ) * "groups that this broker coordinates",
)
api: Final = Api(16, "ListGroups", request, response, versions=range(6), flexible=3)
