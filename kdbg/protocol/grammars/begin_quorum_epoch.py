"""BeginQuorumEpoch (key 53): the new leader of a KRaft quorum makes itself known to the voters.

KIP-595. v1 is flexible, with directory ids and the endpoints of the leader (KIP-853).
"""

from .meanings import *

request: Final = Struct(
    "cluster_id" / Default(Nullable(TargetClusterId), None),
    "voter_id" / Since(1, Ignorable(Default(VoterId, -1)))
        * "the voter that is addressed; another node refuses it, -1 is unknown",
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "voter_directory_id" / Since(1, Ignorable(VoterDirectoryId))
                * "metadata directory of the voter addressed; all zeros is unknown",
            "leader_id" / LeaderId * "the new leader, which sends this",
            "leader_epoch" / LeaderEpoch * "epoch that leader was elected for; voters in a later one refuse it",
        ) * "in practice partition 0 alone",
    ) * "in practice __cluster_metadata alone",
    "leader_endpoints" / Since(1, Ignorable(ListenerEndpoints)) * "where the new leader is reached",
)
response: Final = QuorumEpochResponse
api: Final = Api(53, "BeginQuorumEpoch", request, response, versions=range(2), flexible=1)
