"""DeleteGroups (key 42): deletes empty consumer groups with their offsets.

KIP-229. v3, of Kafka 4.4, says in words why a group was not deleted.
"""

from .meanings import *

request: Final = Struct(
    "groups_names" / Array(GroupId) * "groups to delete, which must have no members",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array(
        "group_id" / GroupId,
        "error_code" / ErrorCode * "NON_EMPTY_GROUP while the group has members",
        "error_message" / Since(3, Ignorable(Default(Nullable(ErrorMessage), None))),
    ) * "what became of each group",
)
api: Final = Api(42, "DeleteGroups", request, response, versions=range(4), flexible=2)
