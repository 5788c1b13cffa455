"""ConsumerGroupDescribe (key 69): state, members and assignments of consumer groups of the new protocol.

KIP-848. v1 the type of each member, classic or consumer (KIP-1099).
"""

from .meanings import *

assignment: Final = Struct(
    "topic_partitions" / Array("topic_id" / TopicId, "topic_name" / TopicName, "partitions" / Partitions)
        * "the partitions, by topic",
    "error" / BeforeRelease((3, 8), Int8) * "error number that the client-side assignor gave, 0 for none",
    "metadata_version" / BeforeRelease((3, 8), Int32)
        * "format of the bytes that follow, known to the client-side assignor only",
    "metadata_bytes" / BeforeRelease((3, 8), Bytes)
        * "metadata of the client-side assignor for the member, in its own format",
)
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
        "group_state" / GroupState * "state of the group: Empty, Assigning, Reconciling, Stable or Dead",
        "group_epoch" / GroupEpoch,
        "assignment_epoch" / AssignmentEpoch
            * "group epoch of the target assignment; lower than the group's while a new one is computed",
        "assignor_name" / String * "server-side assignor in use, such as uniform or range",
        "members" / Array(
            "member_id" / MemberId,
            "instance_id" / Default(Nullable(GroupInstanceId), None),
            "rack_id" / Default(Nullable(ClientRack), None),
            "member_epoch" / ReachedEpoch,
            "client_id" / ClientId,
            "client_host" / ClientHost,
            "subscribed_topic_names" / Array(TopicName) * "topics the member named",
            "subscribed_topic_regex" / Default(Nullable(String), None)
                * "pattern of topic names the member subscribed to, null when it has none",
            "assignment" / assignment * "what the member has now",
            "target_assignment" / assignment * "what the member shall have once the rebalance is over",
            "member_type" / Since(1, Ignorable(Default(GroupMemberType, -1))),
        ) * "who is in the group",
        "authorized_operations" / Default(AclOperations, -(2**31)),
    ) * "one result for each group of the request",
)
kafka_3_7: Final = Dialect(
    "response", range(1), "v0 as written by Kafka 3.7, with client-side assignor metadata", response,
    release=(3, 7),
)  # fmt: skip
api: Final = Api(69, "ConsumerGroupDescribe", request, response, versions=range(2), flexible=0, dialects=(kafka_3_7,))
