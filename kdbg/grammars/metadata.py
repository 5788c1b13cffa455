"""Metadata (key 3): the brokers of a cluster, its topics and their partitions.

"Metadata API" of the 0.8 guide. All topics: an empty list in v0, a null list since v1. v1 racks (KIP-36) and
the controller, v2 cluster id (KIP-78), v5 offline replicas (KIP-112), v7 leader epochs (KIP-320), v8
permitted operations (KIP-430; those of the cluster moved to DescribeCluster in v11, KIP-700), v10 topic ids,
usable in requests since v12 (KIP-516), v13 an error for the whole response (KIP-1102).
"""

from ..wire import (
    Api,
    Array,
    Between,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Int32,
    Nullable,
    NullableSince,
    Partition,
    Since,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import (
    AclOperations,
    ClusterId,
    ControllerId,
    Host,
    LeaderEpoch,
    LeaderId,
    NodeId,
    Port,
    Rack,
    ThrottleTime,
)

request = Struct(
    "topics" / NullableSince(1, Array(
        "topic_id" / Since(10, Ignorable(TopicId)),
        "name" / NullableSince(10, TopicName),
    )),
    "allow_auto_topic_creation" / Since(4, Default(Boolean, True)),
    "include_cluster_authorized_operations" / Between(8, 10, Boolean),
    "include_topic_authorized_operations" / Since(8, Boolean),
)
response = Struct(
    "throttle_time_ms" / Since(3, Ignorable(ThrottleTime)),
    "brokers" / Array(
        "node_id" / NodeId,
        "host" / Host,
        "port" / Port,
        "rack" / Since(1, Ignorable(Default(Nullable(Rack), None))),
    ),
    "cluster_id" / Since(2, Ignorable(Default(Nullable(ClusterId), None))),
    "controller_id" / Since(1, Ignorable(Default(ControllerId, -1))),
    "topics" / Array(
        "error_code" / ErrorCode,
        "name" / NullableSince(12, TopicName),
        "topic_id" / Since(10, Ignorable(TopicId)),
        "is_internal" / Since(1, Ignorable(Boolean)),
        "partitions" / Array(
            "error_code" / ErrorCode,
            "partition_index" / Partition,
            "leader_id" / LeaderId,
            "leader_epoch" / Since(7, Ignorable(Default(LeaderEpoch, -1))),
            "replica_nodes" / Array(Int32),
            "isr_nodes" / Array(Int32),
            "offline_replicas" / Since(5, Ignorable(Array(Int32))),
        ),
        "topic_authorized_operations" / Since(8, Default(AclOperations, -(2**31))),
    ),
    "error_code" / Since(13, Ignorable(ErrorCode)),
    "cluster_authorized_operations" / Between(8, 10, Default(AclOperations, -(2**31))),
)
api = Api(3, "Metadata", request, response, versions=range(14), flexible=9)
