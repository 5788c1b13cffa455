"""Fetch (key 1): records from a partition's leader, for consumers and for the replicas that follow it.

"Fetch API" of the 0.8 guide. v3 a limit for the whole response (KIP-74), v4 transactions (KIP-98), v7 fetch
sessions that send only what changed (KIP-227), v9 leader epochs (KIP-320), v11 reads from the nearest replica
(KIP-392), v12 epochs checked while reading (KIP-595), v13 topic ids (KIP-516), v15 replica_state (KIP-903),
v16 endpoints of new leaders (KIP-951), v17 KIP-853, v18 KIP-1166.
"""

from .meanings import *
from .records import FetchedRecords

request: Final = Struct(
    "replica_id" / Until(14, Default(ReplicaId, -1)),
    "max_wait_ms" / Duration
        * "longest time that the broker waits for min_bytes before it responds",
    "min_bytes" / Int32
        * "the broker responds once it has this many bytes, or after max_wait_ms; 0: immediately",
    "max_bytes" / Since(3, Ignorable(Default(Int32, 2**31 - 1)))
        * "most bytes of records in the response; a larger first batch is sent anyway",
    "isolation_level" / Since(4, Ignorable(IsolationLevel)),
    "session_id" / Since(7, Ignorable(Int32)) * "fetch session of the request; 0 with epoch 0 opens one",
    "session_epoch" / Since(7, Ignorable(Default(FetchSessionEpoch, -1)))
        * "counts the requests of the session; 0 opens a new one, -1 closes it or does without",
    "topics" / Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "topic" / Until(12, Ignorable(TopicName)),
        "partitions" / Array(
            "partition" / Partition,
            "current_leader_epoch" / Since(9, Ignorable(Default(Int32, -1)))
                * "newest leader epoch the reader knows, to notice which side is stale; -1 skips the check",
            "fetch_offset" / Int64 * "first offset to send",
            "last_fetched_epoch" / Since(12, Default(Int32, -1))
                * "leader epoch of the follower's last record, to detect diverging logs; -1 is none",
            "log_start_offset" / Since(5, Ignorable(Default(LogStartOffset, -1)))
                * "first offset a follower still has; -1 from consumers",
            "partition_max_bytes" / Int32
                * "most bytes of this partition in the response; a larger first batch is sent anyway",
            "replica_directory_id" / Since(17, Ignorable(Tag(0, ReplicaDirectoryId)))
                * "metadata directory of the node that fetches, in KRaft quorums",
            "high_watermark" / Since(18, Ignorable(Tag(1, Default(HighWatermark, 2**63 - 1))))
                * "high watermark that the follower knows; -1 is unknown, 2^63-1 not given",
        ) * "from where to read each partition",
    ) * "partitions to read, by topic; in a session only new and changed ones",
    "forgotten_topics_data" / Since(7, Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "topic" / Until(12, Ignorable(TopicName)),
        "partitions" / Partitions,
    )) * "partitions that the session shall no longer read, by topic",
    "rack_id" / Since(11, Ignorable(ClientRack))
        * "rack the consumer is in, by which the broker may name a nearer replica; empty is none",
    "cluster_id" / Since(12, Ignorable(Tag(0, Default(Nullable(TargetClusterId), None)))),
    "replica_state" / Since(15, Tag(1, Struct(
        "replica_id" / Default(ReplicaId, -1),
        "replica_epoch" / Default(Int64, -1)
            * "broker epoch of that broker; a restarted one has another; -1 is unknown",
    ))) * "who copies, when a broker or controller does; left out by consumers",
)
response: Final = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "error_code" / Since(7, Ignorable(ErrorCode))
        * "error of the request, such as its session; partitions have their own error codes",
    "session_id" / Since(7, Int32) * "session for further requests; 0 when the broker keeps none",
    "responses" / Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "topic" / Until(12, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode
                * "after NOT_LEADER_OR_FOLLOWER refresh the metadata, after OFFSET_OUT_OF_RANGE the offset",
            "high_watermark" / HighWatermark,
            "last_stable_offset" / Since(4, Ignorable(Default(LastStableOffset, -1))),
            "log_start_offset" / Since(5, Ignorable(Default(LogStartOffset, -1))),
            "aborted_transactions" / Since(4, Ignorable(Nullable(Array(
                "producer_id" / ProducerId * "producer whose records are skipped, up to its next abort marker",
                "first_offset" / Int64 * "offset of that transaction's first record",
            )))) * "aborted transactions whose records the reader has to skip; null with READ_UNCOMMITTED",
            "preferred_read_replica" / Since(11, Default(Int32, -1))
                * "broker id of a nearer replica to read from, with no records here; -1 to stay with this one",
            "records" / Nullable(FetchedRecords)
                * "batches as in the log, null for none; the first may begin before fetch_offset, the last be cut",
            "diverging_epoch" / Since(12, Tag(0, Struct(
                "epoch" / Default(Int32, -1)
                    * "the leader's newest epoch up to the one the follower named; -1 when not set",
                "end_offset" / Default(Int64, -1)
                    * "offset after that epoch's last record: the follower truncates there; -1 when not set",
            ))) * "only when a follower's log diverges from the leader's: up to where they may agree",
            "current_leader" / Since(12, Tag(1, Struct(
                "leader_id" / Default(LeaderId, -1),
                "leader_epoch" / Default(LeaderEpoch, -1),
            ))) * "only when the reader's idea of the leader is outdated: who leads now",
            "snapshot_id" / Since(12, Tag(2, Struct(
                "end_offset" / Default(Int64, -1) * "offset after the last record in the snapshot; -1 when not set",
                "epoch" / Default(Int32, -1) * "epoch of the last record in the snapshot; -1 when not set",
            ))) * "only when the follower must load a snapshot first, for the log no longer has its offset",
        ) * "what was read from each partition",
    ) * "what was read, by topic; within a session only partitions with news",
    "node_endpoints" / Since(16, Tag(0, RackedEndpoints)) * "addresses of the leaders that current_leader names",
)
api: Final = Api(1, "Fetch", request, response, versions=range(19), flexible=12)
