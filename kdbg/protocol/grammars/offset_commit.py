"""OffsetCommit (key 8): stores the offsets a consumer group has reached.

v0, the one of the 0.8 guide, stores them in ZooKeeper; v1 brings group membership. v2 sets a retention time,
which v5 takes away again (KIP-211). v6 leader epochs (KIP-320), v7 static members (KIP-345), v9 the consumer
group protocol with member epochs (KIP-848), v10 topic ids instead of names (KIP-848).
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId,
    "generation_id_or_member_epoch" / Since(1, Ignorable(Default(Int32, -1)))
        * "generation (classic) or member epoch (KIP-848); -1 from a client that is not a member",
    "member_id" / Since(1, Ignorable(MemberId)),
    "group_instance_id" / Since(7, Default(Nullable(GroupInstanceId), None)),
    "retention_time_ms" / Between(2, 4, Ignorable(Default(BrokerDefault, -1)))
        * "how long to keep these offsets, in ms; -1 means the broker's offsets.retention.minutes",
    "topics" / Array(
        "topic_id" / Since(10, Ignorable(TopicId)),
        "name" / Until(9, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "committed_offset" / CommittedOffset,
            "committed_leader_epoch" / Since(6, Ignorable(Default(CommittedLeaderEpoch, -1))),
            "commit_timestamp" / Only(1, Default(CommitTimestamp, -1))
                * "when it was committed, in ms since 1970; -1 means when the broker receives it",
            "committed_metadata" / Nullable(String)
                * "free text to keep with the offset, at most offset.metadata.max.bytes; null means none",
        ) * "offsets to store, one per partition",
    ) * "offsets to store, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / Since(3, Ignorable(ThrottleTime)),
    "topics" / Array(
        "topic_id" / Since(10, Ignorable(TopicId)),
        "name" / Until(9, Ignorable(TopicName)),
        "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode) * "results, one per partition",
    ) * "results, by topic",
)
guide_request: Final = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "committed_offset" / CommittedOffset,
            "commit_timestamp" / CommitTimestamp
                * "when it was committed, in ms since 1970; -1 means when the broker receives it",
            "committed_metadata" / Nullable(String)
                * "free text to keep with the offset, at most offset.metadata.max.bytes; null means none",
        ) * "offsets to store, one per partition",
    ) * "offsets to store, by topic",
)
guide: Final = Dialect(
    "request", range(1), "the layout of the 0.8 guide, with a timestamp (not used by brokers since 0.8.1)",
    guide_request, guide="0.8",
)  # fmt: skip
api: Final = Api(8, "OffsetCommit", request, response, versions=range(11), flexible=8, dialects=(guide,))
