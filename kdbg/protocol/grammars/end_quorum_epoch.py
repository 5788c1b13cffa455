"""EndQuorumEpoch (key 54): the leader of a KRaft quorum resigns and names who should follow it.

KIP-595. v1 is flexible and names the candidates with their directory ids (KIP-853).
"""

from .meanings import *

request: Final = Struct(
    "cluster_id" / Default(Nullable(TargetClusterId), None),
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "replica_id" / BeforeRelease((2, 8), Int32) * "the node that sends this",
            "leader_id" / LeaderId * "the leader that resigns",
            "leader_epoch" / LeaderEpoch * "epoch that ends",
            "preferred_candidates" / Since(1, Ignorable(Array(
                "candidate_id" / Int32 * "node id of the voter",
                "candidate_directory_id" / Uuid * "id of its metadata directory; all zeros is unknown",
            ))) * "candidates for the election, best first; later ones in the list wait longer",
            "preferred_successors" / Until(0, Ignorable(Array(Int32)))
                * "node ids of the candidates for the election, best first; later ones wait longer",
        ) * "in practice partition 0 alone",
    ) * "in practice __cluster_metadata alone",
    "leader_endpoints" / Since(1, Ignorable(ListenerEndpoints)) * "where the leader that resigns is reached",
)
response: Final = QuorumEpochResponse
kafka_2_7: Final = Dialect(
    "request", range(1), "v0 as written by Kafka 2.7, with replica_id", request, release=(2, 7)
)
api: Final = Api(54, "EndQuorumEpoch", request, response, versions=range(2), flexible=1, dialects=(kafka_2_7,))
