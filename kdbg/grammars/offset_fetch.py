"""OffsetFetch (key 9): the offsets a consumer group has committed.

v0, the one of the 0.8 guide, reads ZooKeeper, v1 the group coordinator. v2 a null list for all topics and a
top-level error (KIP-88), v5 leader epochs (KIP-320), v7 waits for open transactions (KIP-447), v8 many groups
in one request (KIP-709), v9 member epochs and v10 topic ids (both KIP-848).
"""

from ..wire import (
    Api,
    Array,
    Between,
    Boolean,
    Default,
    ErrorCode,
    GroupId,
    Ignorable,
    Nullable,
    NullableSince,
    Partition,
    Since,
    String,
    Struct,
    TopicId,
    TopicName,
    Until,
)
from .meanings import CommittedLeaderEpoch, CommittedOffset, MemberId, Partitions, ReachedEpoch, ThrottleTime

request = Struct(
    "groups" / Since(8, Array(
        "group_id" / GroupId,
        "member_id" / Since(9, Ignorable(Default(Nullable(MemberId), None))),
        "member_epoch" / Since(9, Ignorable(Default(ReachedEpoch, -1))),
        "topics" / Nullable(Array(
            "topic_id" / Since(10, Ignorable(TopicId)),
            "name" / Until(9, Ignorable(TopicName)),
            "partition_indexes" / Partitions,
        )),
    )),
    "group_id" / Until(7, GroupId),
    "topics" / Until(7, NullableSince(2, Array("name" / TopicName, "partition_indexes" / Partitions))),
    "require_stable" / Since(7, Boolean),
)
response = Struct(
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
                "metadata" / Nullable(String),
                "error_code" / ErrorCode,
            ),
        ),
        "error_code" / ErrorCode,
    )),
    "topics" / Until(7, Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "committed_offset" / CommittedOffset,
            "committed_leader_epoch" / Since(5, Ignorable(Default(CommittedLeaderEpoch, -1))),
            "metadata" / Nullable(String),
            "error_code" / ErrorCode,
        ),
    )),
    "error_code" / Between(2, 7, Ignorable(ErrorCode)),
)
api = Api(9, "OffsetFetch", request, response, versions=range(11), flexible=6)
