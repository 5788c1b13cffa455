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
            "replica_epoch" / Int32,
            "replica_id" / Int32,
            "replica_directory_id" / Since(1, Ignorable(Uuid)),
            "voter_directory_id" / Since(1, Ignorable(Uuid)),
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
            "leader_id" / Int32,
            "leader_epoch" / Int32,
            "vote_granted" / Boolean,
        ),
    ),
    "node_endpoints" / Since(1, Tag(0, Array(
        "node_id" / Int32,
        "host" / String,
        "port" / UInt16,
    ))),
)
api = Api(52, "Vote", request, response, versions=range(3), flexible=0)
