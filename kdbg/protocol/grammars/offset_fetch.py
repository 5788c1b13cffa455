"""OffsetFetch (key 9): the offsets a consumer group has committed.

v0, the one of the 0.8 guide, reads ZooKeeper, v1 the group coordinator. v2 a null list for all topics and a
top-level error (KIP-88), v5 leader epochs (KIP-320), v7 waits for open transactions (KIP-447), v8 many groups
in one request (KIP-709), v9 member epochs and v10 topic ids (both KIP-848).
"""

from .meanings import *

request: Final = Struct(
    "groups" / Since(8, Array(
        "group_id" / GroupId,
        "member_id" / Since(9, Ignorable(Default(Nullable(MemberId), None)))
            * "member that sends the request; null skips the check, as for admin tools",
        "member_epoch" / Since(9, Ignorable(Default(ReachedEpoch, -1)))
            * "epoch of that member, refused when stale; -1 skips the check",
        "topics" / Nullable(Array(
            "topic_id" / Since(10, Ignorable(TopicId)),
            "name" / Until(9, Ignorable(TopicName)),
            "partition_indexes" / Partitions,
        )) * "topics to fetch offsets for; null means all that the group has offsets for",
    )) * "groups whose offsets to fetch",
    "group_id" / Until(7, GroupId),
    "topics" / Until(7, NullableSince(2, Array("name" / TopicName, "partition_indexes" / Partitions)))
        * "topics to fetch offsets for; null means all that the group has offsets for",
    "require_stable" / Since(7, Boolean)
        * "true returns UNSTABLE_OFFSET_COMMIT while an open transaction may change the offset",
)
response: Final = Struct(
    "throttle_time_ms" / Since(3, Ignorable(ThrottleTime)),
    "groups" / Since(8, Array(
        "group_id" / GroupId,
        "topics" / Array(
            "topic_id" / Since(10, Ignorable(TopicId)),
            "name" / Until(9, Ignorable(TopicName)),
            "partitions" / Array(
                "partition_index" / Partition,
                "committed_offset" / CommittedOffset,
                "committed_leader_epoch" / Default(CommittedLeaderEpoch, -1),
                "metadata" / Nullable(String)
                    * "free text that was committed with the offset; null or empty means none",
                "error_code" / ErrorCode,
            ) * "offsets, one per partition",
        ) * "offsets, by topic",
        "error_code" / ErrorCode * "error for the whole group; each partition has its own",
    )) * "offsets, by group",
    "topics" / Until(7, Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "committed_offset" / CommittedOffset,
            "committed_leader_epoch" / Since(5, Ignorable(Default(CommittedLeaderEpoch, -1))),
            "metadata" / Nullable(String) * "free text that was committed with the offset; null or empty means none",
            "error_code" / ErrorCode,
        ) * "offsets, one per partition",
    )) * "offsets, by topic",
    "error_code" / Between(2, 7, Ignorable(RequestError)),
)
api: Final = Api(9, "OffsetFetch", request, response, versions=range(11), flexible=6)
