"""DescribeQuorum (key 55): leader, voters and observers of a KRaft quorum, and how far each has read.

KIP-595. v1 times of the last fetch (KIP-836), v2 directory ids, the addresses of the nodes and error messages
(KIP-853).
"""

from .meanings import *

request: Final = Struct(
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array("partition_index" / Partition) * "in practice partition 0 alone",
    ) * "in practice __cluster_metadata alone",
)
response: Final = Struct(
    "error_code" / RequestError,
    "error_message" / Since(2, Ignorable(Nullable(ErrorMessage))),
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Since(2, Ignorable(Nullable(ErrorMessage))),
            "leader_id" / LeaderId * "node id of the quorum's leader, the active controller; -1 when unknown",
            "leader_epoch" / LeaderEpoch,
            "high_watermark" / HighWatermark * "offset after the last record that a majority of the voters has",
            "current_voters" / Array(
                "replica_id" / Int32 * "node id of the voter",
                "replica_directory_id" / Since(2, ReplicaDirectoryId)
                    * "id of its metadata directory; all zeros is unknown",
                "log_end_offset" / Int64 * "offset after the last record that it has; -1 when unknown",
                "last_fetch_timestamp" / Since(1, Ignorable(Default(Timestamp, -1)))
                    * "leader's clock at its last fetch; -1 for the leader itself or when unknown",
                "last_caught_up_timestamp" / Since(1, Ignorable(Default(Timestamp, -1)))
                    * "leader's clock when it last had all there was; -1 when unknown",
            ) * "controllers that elect the leader and whose copies count for commits",
            "observers" / Array(
                "replica_id" / Int32 * "node id of the observer",
                "replica_directory_id" / Since(2, ReplicaDirectoryId)
                    * "id of its metadata directory; all zeros is unknown",
                "log_end_offset" / Int64 * "offset after the last record that it has; -1 when unknown",
                "last_fetch_timestamp" / Since(1, Ignorable(Default(Timestamp, -1)))
                    * "leader's clock at its last fetch; -1 when unknown",
                "last_caught_up_timestamp" / Since(1, Ignorable(Default(Timestamp, -1)))
                    * "leader's clock when it last had all there was; -1 when unknown",
            ) * "brokers and controllers that follow the log without a vote",
        ) * "in practice partition 0 alone",
    ) * "in practice __cluster_metadata alone",
    "nodes" / Since(2, Array(
        "node_id" / NodeId,
        "listeners" / ListenerEndpoints * "addresses of that node",
    )) * "addresses of the voters",
)
api: Final = Api(55, "DescribeQuorum", request, response, versions=range(3), flexible=0)
