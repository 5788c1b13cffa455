"""BeginQuorumEpoch (key 53): the new leader of a KRaft quorum makes itself known to the voters.

KIP-595. v1 is flexible, with directory ids and the endpoints of the leader (KIP-853).
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    Ignorable,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    Tag,
    TopicName,
)
from .meanings import ClusterId, Host, LeaderEpoch, LeaderId, NodeId, UnsignedPort, VoterDirectoryId, VoterId

request = Struct(
    "cluster_id" / Default(Nullable(ClusterId), None),
    "voter_id" / Since(1, Ignorable(Default(VoterId, -1))),
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "voter_directory_id" / Since(1, Ignorable(VoterDirectoryId)),
            "leader_id" / LeaderId,
            "leader_epoch" / LeaderEpoch,
        ),
    ),
    "leader_endpoints" / Since(1, Ignorable(Array(
        "name" / String,
        "host" / Host,
        "port" / UnsignedPort,
    ))),
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
        ),
    ),
    "node_endpoints" / Since(1, Tag(0, Array(
        "node_id" / NodeId,
        "host" / Host,
        "port" / UnsignedPort,
    ))),
)
api = Api(53, "BeginQuorumEpoch", request, response, versions=range(2), flexible=1)
