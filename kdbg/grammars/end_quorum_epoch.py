"""EndQuorumEpoch (key 54): the leader of a KRaft quorum resigns and names who should follow it.

KIP-595. v1 is flexible and names the candidates with their directory ids (KIP-853).
"""

from ..wire import (
    Api,
    Array,
    BeforeRelease,
    Default,
    Dialect,
    ErrorCode,
    Ignorable,
    Int32,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    Tag,
    TopicName,
    Until,
    Uuid,
)
from .meanings import ClusterId, Host, LeaderEpoch, LeaderId, NodeId, UnsignedPort

request = Struct(
    "cluster_id" / Default(Nullable(ClusterId), None),
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "replica_id" / BeforeRelease((2, 8), Int32),
            "leader_id" / LeaderId,
            "leader_epoch" / LeaderEpoch,
            "preferred_candidates" / Since(1, Ignorable(Array(
                "candidate_id" / Int32,
                "candidate_directory_id" / Uuid,
            ))),
            "preferred_successors" / Until(0, Ignorable(Array(Int32))),
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
kafka_2_7 = Dialect("request", range(1), "version 0 as Kafka 2.7 wrote it, with a replica_id", request, release=(2, 7))
api = Api(54, "EndQuorumEpoch", request, response, versions=range(2), flexible=1, dialects=(kafka_2_7,))
