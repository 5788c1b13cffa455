"""ConsumerGroupHeartbeat (key 68): joins, keeps up and leaves a consumer group of the new protocol.

KIP-848: one request instead of JoinGroup, SyncGroup, Heartbeat and LeaveGroup; the coordinator assigns, and
member_epoch tells what a member is about (0 joins, -1 leaves, -2 a static member leaves for a while). v1
subscriptions by regular expression, and member ids made by the client (KIP-1082).
"""

from .meanings import *

topic_partitions: Final = Array("topic_id" / TopicId, "partitions" / Partitions)
request: Final = Struct(
    "group_id" / GroupId,
    "member_id" / MemberId * "made by the client from version 1 on; empty in the first request of version 0",
    "member_epoch" / MemberEpoch * "epoch from the last response; other values mean that the member joins or leaves",
    "instance_id" / Default(Nullable(GroupInstanceId), None),
    "rack_id" / Default(Nullable(ClientRack), None) * "rack the consumer reads in; null when unchanged or none",
    "rebalance_timeout_ms" / Default(RebalanceTimeout, -1)
        * "milliseconds that the member may take to give up partitions; -1 when unchanged",
    "subscribed_topic_names" / Default(Nullable(Array(TopicName)), None)
        * "topics the member subscribes to; null when unchanged",
    "subscribed_topic_regex" / Since(1, Default(Nullable(String), None))
        * "regular expression of subscribed topics, matched by the broker; null when unchanged",
    "subscribed_topic_regex" / Until(0, BeforeRelease((3, 7), Default(Nullable(String), None)))
        * "regular expression of subscribed topics; null when unchanged",
    "server_assignor" / Default(Nullable(String), None)
        * "assignor that the coordinator should use, such as uniform; null when unchanged or left to it",
    "client_assignors" / BeforeRelease((3, 7), Default(Nullable(Array(
        "name" / String * "name of the assignor",
        "minimum_version" / Int16 * "oldest format of metadata that the assignor reads",
        "maximum_version" / Int16 * "newest format of metadata that the assignor reads",
        "reason" / Int8 * "why the assignor requests a new assignment, as a number of its own; 0 for no reason",
        "metadata_version" / Int16 * "format of the bytes that follow",
        "metadata_bytes" / Bytes * "metadata of the assignor about its member, in its own format",
    )), None)) * "assignors that the member itself can run, best first; null when unchanged",
    "topic_partitions" / Default(Nullable(topic_partitions), None)
        * "what the member owns at present, by topic; null when unchanged",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode
        * "UNKNOWN_MEMBER_ID or FENCED_MEMBER_EPOCH make the member give up everything and join again",
    "error_message" / Default(Nullable(ErrorMessage), None),
    "member_id" / Default(Nullable(MemberId), None) * "id of the member, for its further requests; null on error",
    "member_epoch" / ReachedEpoch * "epoch for the next heartbeat; a new one means that the assignment changed",
    "should_compute_assignment" / BeforeRelease((3, 7), Boolean)
        * "true when this member should run a client-side assignor for the group",
    "heartbeat_interval_ms" / HeartbeatInterval,
    "assignment" / Default(Nullable(Struct(
        "topic_partitions" / SinceRelease((3, 7), topic_partitions)
            * "all the member's partitions, by topic; it gives up what is not here",
        "error" / BeforeRelease((3, 7), Int8) * "error number that the client-side assignor gave, 0 for none",
        "assigned_topic_partitions" / BeforeRelease((3, 7), topic_partitions)
            * "partitions the member may read now, by topic",
        "pending_topic_partitions" / BeforeRelease((3, 7), topic_partitions)
            * "partitions that wait until another member has given them up, by topic",
        "metadata_version" / BeforeRelease((3, 7), Int16)
            * "format of the bytes that follow, known to the client-side assignor only",
        "metadata_bytes" / BeforeRelease((3, 7), Bytes)
            * "metadata of the client-side assignor for the member, in its own format",
    )), None) * "what the member shall own from now on; null when unchanged",
)
FORM: Final = "v0 as written by Kafka 3.6, with client-side assignors"
kafka_3_6: Final = (
    Dialect("request", range(1), FORM, request, release=(3, 6)),
    Dialect("response", range(1), FORM, response, release=(3, 6)),
)
api: Final = Api(68, "ConsumerGroupHeartbeat", request, response, versions=range(2), flexible=0, dialects=kafka_3_6)
