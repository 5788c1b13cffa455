"""Vote (key 52): a candidate for the leadership of a KRaft quorum requests votes.

KIP-595. v1 directory ids of voters (KIP-853), v2 pre-votes, which raise no epoch (KIP-996).
"""

from .meanings import *

request: Final = Struct(
    "cluster_id" / Default(Nullable(TargetClusterId), None),
    "voter_id" / Since(1, Ignorable(Default(VoterId, -1))) * "node that is to vote; -1 skips the check",
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "replica_epoch" / Int32 * "epoch of the candidate's leadership; in a pre-vote its current epoch",
            "replica_id" / Int32 * "node id of the candidate",
            "replica_directory_id" / Since(1, Ignorable(ReplicaDirectoryId)) * "metadata directory of the candidate",
            "voter_directory_id" / Since(1, Ignorable(VoterDirectoryId))
                * "metadata directory of the node that is to vote",
            "last_offset_epoch" / Int32 * "leader epoch of the last record in the candidate's log",
            "last_offset" / Int64 * "end of the candidate's log; a voter refuses if its own log is further",
            "pre_vote" / Since(2, Boolean) * "true only checks whether the vote would be granted (pre-vote)",
        ) * "its only partition",
    ) * "the log whose leader is elected: __cluster_metadata",
)
response: Final = Struct(
    "error_code" / RequestError,
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "leader_id" / LeaderId * "leader the voter knows; -1 means none",
            "leader_epoch" / LeaderEpoch * "epoch the voter is in; a candidate with a lower one gives up",
            "vote_granted" / Boolean * "true if the candidate gets the vote",
        ) * "its only partition",
    ) * "the log whose leader is elected: __cluster_metadata",
    "node_endpoints" / Since(1, Tag(0, NodeEndpoints)) * "address of the leader named above",
)
api: Final = Api(52, "Vote", request, response, versions=range(3), flexible=0)
