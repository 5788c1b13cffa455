"""FetchSnapshot (key 59): a piece of a snapshot of a KRaft log, for a replica too far behind to fetch.

KIP-630. v1 directory ids and the endpoints of the leader (KIP-853).
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    Ignorable,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    Struct,
    Tag,
    TopicName,
)
from .meanings import ClusterId, Host, LeaderEpoch, LeaderId, NodeId, ReplicaDirectoryId, ThrottleTime, UnsignedPort
from .records import FetchedRecords

request = Struct(
    "replica_id" / Default(Int32, -1),
    "max_bytes" / Default(Int32, 2**31 - 1),
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition" / Partition,
            "current_leader_epoch" / Int32,
            "snapshot_id" / Struct("end_offset" / Int64, "epoch" / Int32),
            "position" / Int64,
            "replica_directory_id" / Since(1, Ignorable(Tag(0, ReplicaDirectoryId))),
        ),
    ),
    "cluster_id" / Tag(0, Default(Nullable(ClusterId), None)),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "index" / Partition,
            "error_code" / ErrorCode,
            "snapshot_id" / Struct("end_offset" / Int64, "epoch" / Int32),
            "size" / Int64,
            "position" / Int64,
            "unaligned_records" / FetchedRecords,
            "current_leader" / Tag(0, Struct("leader_id" / LeaderId, "leader_epoch" / LeaderEpoch)),
        ),
    ),
    "node_endpoints" / Since(1, Tag(0, Array(
        "node_id" / NodeId,
        "host" / Host,
        "port" / UnsignedPort,
    ))),
)
api = Api(59, "FetchSnapshot", request, response, versions=range(2), flexible=0)
