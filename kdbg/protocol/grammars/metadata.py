"""Metadata (key 3): the brokers of a cluster, its topics and their partitions.

"Metadata API" of the 0.8 guide. All topics: an empty list in v0, a null list since v1. v1 racks (KIP-36) and
the controller, v2 cluster id (KIP-78), v5 offline replicas (KIP-112), v7 leader epochs (KIP-320), v8
permitted operations (KIP-430; those of the cluster moved to DescribeCluster in v11, KIP-700), v10 topic ids,
usable in requests since v12 (KIP-516), v13 an error for the whole response (KIP-1102).
"""

from .meanings import *

request: Final = Struct(
    "topics" / NullableSince(1, Array(
        "topic_id" / Since(10, Ignorable(TopicId)) * "topic to describe, by id; zero if it is given by name",
        "name" / NullableSince(10, TopicName) * "topic to describe, by name; null if it is given by id",
    )) * "topics to describe; null (in v0 an empty list) means all of them",
    "allow_auto_topic_creation" / Since(4, Default(Boolean, True))
        * "true lets the broker create missing topics, provided auto.create.topics.enable is on",
    "include_cluster_authorized_operations" / Between(8, 10, Boolean)
        * "true requests the operations permitted on the cluster",
    "include_topic_authorized_operations" / Since(8, Boolean) * "true requests the operations permitted on topics",
)
response: Final = Struct(
    "throttle_time_ms" / Since(3, Ignorable(ThrottleTime)),
    "brokers" / Array(
        "node_id" / NodeId,
        "host" / Host * "advertised host that clients will connect to, so they must be able to resolve it",
        "port" / Port * "advertised port that clients will connect to",
        "rack" / Since(1, Ignorable(Default(Nullable(Rack), None))),
    ) * "live brokers, with the addresses they advertise on this listener",
    "cluster_id" / Since(2, Ignorable(Default(Nullable(ClusterId), None)))
        * "random, unique id of the cluster; null if the broker does not know it",
    "controller_id" / Since(1, Ignorable(Default(ControllerId, -1)))
        * "the controller; with KRaft any live broker, as all forward to it; -1 means unknown",
    "topics" / Array(
        "error_code" / ErrorCode,
        "name" / NullableSince(12, TopicName)
            * "name of the topic; null if it was requested by an id that no topic has",
        "topic_id" / Since(10, Ignorable(TopicId))
            * "id of the topic; zero if there is no such topic, or if the cluster has no topic ids",
        "is_internal" / Since(1, Ignorable(Boolean)) * "true for Kafka's own topics, such as __consumer_offsets",
        "partitions" / Array(
            "error_code" / ErrorCode,
            "partition_index" / Partition,
            "leader_id" / LeaderId * "broker to produce to and fetch from; -1 means that there is no leader at present",
            "leader_epoch" / Since(7, Ignorable(Default(LeaderEpoch, -1))),
            "replica_nodes" / Replicas,
            "isr_nodes" / Array(Int32)
                * "replicas in sync with the leader; fewer than replica_nodes means under-replicated",
            "offline_replicas" / Since(5, Ignorable(OfflineReplicas)),
        ) * "partitions of the topic, in no particular order",
        "topic_authorized_operations" / Since(8, Default(AclOperations, -(2**31))),
    ) * "one entry per requested topic; if all were requested, those the client may describe",
    "error_code" / Since(13, Ignorable(ErrorCode))
        * "error for the whole response: REBOOTSTRAP_REQUIRED sends the client back to bootstrap.servers",
    "cluster_authorized_operations" / Between(8, 10, Default(AclOperations, -(2**31))),
)
api: Final = Api(3, "Metadata", request, response, versions=range(14), flexible=9)
