"""DescribeQuorum (key 55): leader, voters and observers of a KRaft quorum, and how far each has read.

KIP-595. v1 times of the last fetch (KIP-836), v2 directory ids, the addresses of the nodes and error messages
(KIP-853).
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
    String,
    Struct,
    Timestamp,
    TopicName,
)
from .meanings import ErrorMessage, HighWatermark, Host, LeaderEpoch, LeaderId, NodeId, ReplicaDirectoryId, UnsignedPort

request = Struct(
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array("partition_index" / Partition),
    ),
)
response = Struct(
    "error_code" / ErrorCode,
    "error_message" / Since(2, Ignorable(Nullable(ErrorMessage))),
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Since(2, Ignorable(Nullable(ErrorMessage))),
            "leader_id" / LeaderId,
            "leader_epoch" / LeaderEpoch,
            "high_watermark" / HighWatermark,
            "current_voters" / Array(
                "replica_id" / Int32,
                "replica_directory_id" / Since(2, ReplicaDirectoryId),
                "log_end_offset" / Int64,
                "last_fetch_timestamp" / Since(1, Ignorable(Default(Timestamp, -1))),
                "last_caught_up_timestamp" / Since(1, Ignorable(Default(Timestamp, -1))),
            ),
            "observers" / Array(
                "replica_id" / Int32,
                "replica_directory_id" / Since(2, ReplicaDirectoryId),
                "log_end_offset" / Int64,
                "last_fetch_timestamp" / Since(1, Ignorable(Default(Timestamp, -1))),
                "last_caught_up_timestamp" / Since(1, Ignorable(Default(Timestamp, -1))),
            ),
        ),
    ),
    "nodes" / Since(2, Array(
        "node_id" / NodeId,
        "listeners" / Array(
            "name" / String,
            "host" / Host,
            "port" / UnsignedPort,
        ),
    )),
)
api = Api(55, "DescribeQuorum", request, response, versions=range(3), flexible=0)
