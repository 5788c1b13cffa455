"""OffsetForLeaderEpoch (key 23): where a leader epoch ends in the log, so that followers can truncate.

KIP-101, for replicas first, then for consumers too. v1 the epoch in the answer (KIP-279), v2 fencing by the
current leader epoch (KIP-320), v3 the replica id.
"""

from .meanings import *

request: Final = Struct(
    "replica_id" / Since(3, Ignorable(Default(ReplicaId, -2)))
        * "broker id of the requesting follower; -1 means a consumer, -2 a debugging tool",
    "topics" / Array(
        "topic" / TopicName,
        "partitions" / Array(
            "partition" / Partition,
            "current_leader_epoch" / Since(2, Ignorable(Default(Int32, -1)))
                * "leader epoch the sender knows, fenced if older than the leader's; -1 skips the check",
            "leader_epoch" / LeaderEpoch * "epoch whose end offset is requested: that of the sender's last record",
        ) * "epochs to look up, one per partition",
    ) * "epochs to look up, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / Since(2, Ignorable(ThrottleTime)),
    "topics" / Array(
        "topic" / TopicName,
        "partitions" / Array(
            "error_code" / ErrorCode,
            "partition" / Partition,
            "leader_epoch" / Since(1, Ignorable(Default(LeaderEpoch, -1)))
                * "largest epoch in the leader's log up to the requested one; -1 means none",
            "end_offset" / Default(Int64, -1)
                * "first offset after that epoch, where a follower truncates its log; -1 means unknown",
        ) * "ends of epochs, one per partition",
    ) * "ends of epochs, by topic",
)
api: Final = Api(23, "OffsetForLeaderEpoch", request, response, versions=range(5), flexible=4)
