"""ShareGroupDescribe (key 77): state, members and assignments of share groups.

KIP-932. v0 was the early access of Kafka 4.0; v1 is the first stable version.
"""

from .meanings import *

request: Final = Struct(
    "group_ids" / Array(GroupId) * "groups to describe",
    "include_authorized_operations" / IncludeOperations,
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "groups" / Array(
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(ErrorMessage), None),
        "group_id" / GroupId,
        "group_state" / GroupState * "state of the group: Empty, Stable or Dead; empty after an error",
        "group_epoch" / GroupEpoch,
        "assignment_epoch" / AssignmentEpoch
            * "group epoch the current assignment was computed for; lower than group_epoch if a new one is pending",
        "assignor_name" / String * "assignor in the coordinator that distributes the partitions",
        "members" / Array(
            "member_id" / MemberId,
            "rack_id" / Default(Nullable(ClientRack), None),
            "member_epoch" / ReachedEpoch,
            "client_id" / ClientId,
            "client_host" / ClientHost,
            "subscribed_topic_names" / Array(TopicName) * "topics the member subscribes to",
            "assignment" / Struct(
                "topic_partitions" / Array(
                    "topic_id" / TopicId,
                    "topic_name" / TopicName,
                    "partitions" / Partitions,
                ) * "partitions, by topic",
            ) * "partitions the member reads",
        ) * "members of the group",
        "authorized_operations" / Default(AclOperations, -(2**31)),
    ) * "one entry per requested group",
)
api: Final = Api(77, "ShareGroupDescribe", request, response, versions=range(2), flexible=0)
