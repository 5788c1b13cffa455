"""ListOffsets (key 2): the offset that belongs to a timestamp, or the first or last one of a partition.

"Offset API" of the 0.8 guide: v0 answers with several offsets per partition, v1 with one offset and its
timestamp (KIP-79). v2 isolation level (KIP-98), v4 leader epochs (KIP-320). Each of v7 (KIP-734), v8
(KIP-405), v9 (KIP-1005) and v11 (KIP-1023) admits one more negative timestamp with a special meaning; v10
adds a time limit for offsets in tiered storage (KIP-1075).
"""

from .meanings import *

request: Final = Struct(
    "replica_id" / ReplicaId,
    "isolation_level" / Since(2, IsolationLevel)
        * "READ_COMMITTED takes the last stable offset for the end of the partition",
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "current_leader_epoch" / Since(4, Ignorable(Default(Int32, -1)))
                * "newest leader epoch the client knows, to notice which side is stale; -1 skips the check",
            "timestamp" / ListOffsetsTimestamp,
            "max_num_offsets" / Until(0, Default(Int32, 1)) * "most offsets to send, latest first",
        ) * "requested offset, partition by partition",
    ) * "requested offsets, by topic",
    "timeout_ms" / Since(10, Ignorable(Timeout))
        * "milliseconds that the broker may look for offsets in tiered storage",
)
response: Final = Struct(
    "throttle_time_ms" / Since(2, Ignorable(ThrottleTime)),
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "timestamp" / Since(1, Default(Timestamp, -1))
                * "time of the record found; -1 when none was found, and for most special places",
            "offset" / Since(1, Default(Int64, -1)) * "the offset found; -1 when no record is late enough",
            "leader_epoch" / Since(4, Default(LeaderEpoch, -1))
                * "epoch that the record at the offset was written in; -1 when unknown",
            "old_style_offsets" / Until(0, Array(Int64))
                * "starts of segments old enough, latest first; for LATEST the end of the log precedes them",
        ) * "offset found, partition by partition",
    ) * "offsets found, by topic",
)
api: Final = Api(2, "ListOffsets", request, response, versions=range(12), flexible=6)
