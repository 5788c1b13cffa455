"""FetchSnapshot (key 59): a part of a snapshot of a KRaft log, for a replica that lags too far to fetch.

KIP-630. v1 directory ids and the endpoints of the leader (KIP-853).
"""

from .meanings import *
from .records import FetchedRecords

snapshot_id: Final = Struct(
    "end_offset" / Int64 * "offset after the last record in the snapshot",
    "epoch" / Int32 * "epoch of the last record in the snapshot",
)
request: Final = Struct(
    "replica_id" / Default(Int32, -1) * "node id of the replica that loads the snapshot; -1 when it has none",
    "max_bytes" / Default(Int32, 2**31 - 1) * "most bytes of the snapshot to send",
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition" / Partition,
            "current_leader_epoch" / Int32 * "newest leader epoch the replica knows, to notice which side is stale",
            "snapshot_id" / snapshot_id * "which snapshot",
            "position" / Int64 * "byte of the snapshot to go on at; 0 is its beginning",
            "replica_directory_id" / Since(1, Ignorable(Tag(0, ReplicaDirectoryId)))
                * "metadata directory of the replica; all zeros is unknown",
        ) * "in practice partition 0 alone",
    ) * "in practice __cluster_metadata alone",
    "cluster_id" / Tag(0, Default(Nullable(TargetClusterId), None)),
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / RequestError,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "index" / Partition,
            "error_code" / ErrorCode
                * "SNAPSHOT_NOT_FOUND when it was deleted meanwhile, POSITION_OUT_OF_RANGE after its end",
            "snapshot_id" / snapshot_id * "which snapshot",
            "size" / Int64 * "bytes of the whole snapshot",
            "position" / Int64 * "byte of the snapshot that the piece begins at",
            "unaligned_records" / FetchedRecords * "a piece of the snapshot; it may begin and end within a batch",
            "current_leader" / Tag(0, Struct(
                "leader_id" / LeaderId,
                "leader_epoch" / LeaderEpoch * "newest epoch that the node knows of",
            )) * "only when another node leads: who does",
        ) * "in practice partition 0 alone",
    ) * "in practice __cluster_metadata alone",
    "node_endpoints" / Since(1, Tag(0, NodeEndpoints)) * "addresses of the leaders that current_leader names",
)
api: Final = Api(59, "FetchSnapshot", request, response, versions=range(2), flexible=0)
