"""Fetch (key 1): records from a partition's leader, for consumers and for the replicas that follow it.

"Fetch API" of the 0.8 guide. v3 a limit for the whole response (KIP-74), v4 transactions (KIP-98), v7 fetch
sessions that send only what changed (KIP-227), v9 leader epochs (KIP-320), v11 reads from the nearest replica
(KIP-392), v12 epochs checked while reading (KIP-595), v13 topic ids (KIP-516), v15 replica_state (KIP-903),
v16 endpoints of new leaders (KIP-951), v17 KIP-853, v18 KIP-1166.
"""

from ..wire import (
    Api,
    Array,
    Default,
    Duration,
    ErrorCode,
    Ignorable,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    Struct,
    Tag,
    TopicId,
    TopicName,
    Until,
)
from .meanings import (
    ClientRack,
    ClusterId,
    FetchSessionEpoch,
    HighWatermark,
    Host,
    IsolationLevel,
    LastStableOffset,
    LeaderEpoch,
    LeaderId,
    LogStartOffset,
    NodeId,
    Partitions,
    Port,
    ProducerId,
    Rack,
    ReplicaDirectoryId,
    ReplicaId,
    ThrottleTime,
)
from .records import FetchedRecords

request = Struct(
    "replica_id" / Until(14, Default(ReplicaId, -1)),
    "max_wait_ms" / Duration,
    "min_bytes" / Int32,
    "max_bytes" / Since(3, Ignorable(Default(Int32, 2**31 - 1))),
    "isolation_level" / Since(4, Ignorable(IsolationLevel)),
    "session_id" / Since(7, Ignorable(Int32)),
    "session_epoch" / Since(7, Ignorable(Default(FetchSessionEpoch, -1))),
    "topics" / Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "topic" / Until(12, Ignorable(TopicName)),
        "partitions" / Array(
            "partition" / Partition,
            "current_leader_epoch" / Since(9, Ignorable(Default(Int32, -1))),
            "fetch_offset" / Int64,
            "last_fetched_epoch" / Since(12, Default(Int32, -1)),
            "log_start_offset" / Since(5, Ignorable(Default(LogStartOffset, -1))),
            "partition_max_bytes" / Int32,
            "replica_directory_id" / Since(17, Ignorable(Tag(0, ReplicaDirectoryId))),
            "high_watermark" / Since(18, Ignorable(Tag(1, Default(HighWatermark, 2**63 - 1)))),
        ),
    ),
    "forgotten_topics_data" / Since(7, Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "topic" / Until(12, Ignorable(TopicName)),
        "partitions" / Partitions,
    )),
    "rack_id" / Since(11, Ignorable(ClientRack)),
    "cluster_id" / Since(12, Ignorable(Tag(0, Default(Nullable(ClusterId), None)))),
    "replica_state" / Since(15, Tag(1, Struct(
        "replica_id" / Default(ReplicaId, -1),
        "replica_epoch" / Default(Int64, -1),
    ))),
)
response = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "error_code" / Since(7, Ignorable(ErrorCode)),
    "session_id" / Since(7, Int32),
    "responses" / Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "topic" / Until(12, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "high_watermark" / HighWatermark,
            "last_stable_offset" / Since(4, Ignorable(Default(LastStableOffset, -1))),
            "log_start_offset" / Since(5, Ignorable(Default(LogStartOffset, -1))),
            "aborted_transactions" / Since(4, Ignorable(Nullable(Array(
                "producer_id" / ProducerId,
                "first_offset" / Int64,
            )))),
            "preferred_read_replica" / Since(11, Default(Int32, -1)),
            "records" / Nullable(FetchedRecords),
            "diverging_epoch" / Since(12, Tag(0, Struct(
                "epoch" / Default(Int32, -1),
                "end_offset" / Default(Int64, -1),
            ))),
            "current_leader" / Since(12, Tag(1, Struct(
                "leader_id" / Default(LeaderId, -1),
                "leader_epoch" / Default(LeaderEpoch, -1),
            ))),
            "snapshot_id" / Since(12, Tag(2, Struct(
                "end_offset" / Default(Int64, -1),
                "epoch" / Default(Int32, -1),
            ))),
        ),
    ),
    "node_endpoints" / Since(16, Tag(0, Array(
        "node_id" / NodeId,
        "host" / Host,
        "port" / Port,
        "rack" / Default(Nullable(Rack), None),
    ))),
)
api = Api(1, "Fetch", request, response, versions=range(19), flexible=12)
