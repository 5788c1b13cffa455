"""Vote (key 52): a candidate for the leadership of a KRaft quorum asks for votes.

KIP-595. v1 directory ids of voters (KIP-853), v2 pre-votes, which raise no epoch (KIP-996).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
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
from .meanings import (
    ClusterId,
    Host,
    LeaderEpoch,
    LeaderId,
    NodeId,
    ReplicaDirectoryId,
    UnsignedPort,
    VoterDirectoryId,
    VoterId,
)

request = Struct(
    "cluster_id" / Default(Nullable(ClusterId), None),
    "voter_id" / Since(1, Ignorable(Default(VoterId, -1))),
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "replica_epoch" / Int32,
            "replica_id" / Int32,
            "replica_directory_id" / Since(1, Ignorable(ReplicaDirectoryId)),
            "voter_directory_id" / Since(1, Ignorable(VoterDirectoryId)),
            "last_offset_epoch" / Int32,
            "last_offset" / Int64,
            "pre_vote" / Since(2, Boolean),
        ),
    ),
)
response = Struct(
    "error_code" / ErrorCode,
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "leader_id" / LeaderId,
            "leader_epoch" / LeaderEpoch,
            "vote_granted" / Boolean,
        ),
    ),
    "node_endpoints" / Since(1, Tag(0, Array(
        "node_id" / NodeId,
        "host" / Host,
        "port" / UnsignedPort,
    ))),
)
api = Api(52, "Vote", request, response, versions=range(3), flexible=0)
