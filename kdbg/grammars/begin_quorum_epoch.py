"""BeginQuorumEpoch (key 53): the new leader of a KRaft quorum makes itself known to the voters.

KIP-595. v1 is flexible, with directory ids and the endpoints of the leader (KIP-853).
"""

from ..wire import (
    Api,
    Array,
    Default,
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
    UInt16,
    Uuid,
)

request = Struct(
    "cluster_id" / Default(Nullable(String), None),
    "voter_id" / Since(1, Ignorable(Default(Int32, -1))),
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "voter_directory_id" / Since(1, Ignorable(Uuid)),
            "leader_id" / Int32,
            "leader_epoch" / Int32,
        ),
    ),
    "leader_endpoints" / Since(1, Ignorable(Array(
        "name" / String,
        "host" / String,
        "port" / UInt16,
    ))),
)
response = Struct(
    "error_code" / ErrorCode,
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "leader_id" / Int32,
            "leader_epoch" / Int32,
        ),
    ),
    "node_endpoints" / Since(1, Tag(0, Array(
        "node_id" / Int32,
        "host" / String,
        "port" / UInt16,
    ))),
)
api = Api(53, "BeginQuorumEpoch", request, response, versions=range(2), flexible=1)
