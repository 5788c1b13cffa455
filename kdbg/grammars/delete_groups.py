"""DeleteGroups (key 42): deletes empty consumer groups with their offsets.

KIP-229.
"""

from ..wire import Api, Array, Duration, ErrorCode, GroupId, Struct

request = Struct("groups_names" / Array(GroupId))
response = Struct(
    "throttle_time_ms" / Duration,
    "results" / Array("group_id" / GroupId, "error_code" / ErrorCode),
)
api = Api(42, "DeleteGroups", request, response, versions=range(3), flexible=2)
