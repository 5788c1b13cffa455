"""DescribeTopicPartitions (key 75): topics and their partitions, page by page.

KIP-966. Like Metadata without the brokers; it adds the eligible leader replicas, and a cursor asks for the
next page.
"""

from .meanings import *

request: Final = Struct(
    "topics" / Array("name" / TopicName) * "topics to describe; empty means all",
    "response_partition_limit" / Default(Int32, 2000)
        * "most partitions in one response; the broker has its own limit",
    "cursor" / Default(Nullable(Struct(
        "topic_name" / TopicName * "first topic of the page",
        "partition_index" / Partition * "first partition of that topic to send",
    )), None) * "where the page begins; null is the first page",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "topics" / Array(
        "error_code" / ErrorCode,
        "name" / Nullable(TopicName) * "name of the topic; null when it is not known",
        "topic_id" / TopicId,
        "is_internal" / Boolean * "true for Kafka's own topics, such as __consumer_offsets",
        "partitions" / Array(
            "error_code" / ErrorCode,
            "partition_index" / Partition,
            "leader_id" / LeaderId,
            "leader_epoch" / Default(LeaderEpoch, -1),
            "replica_nodes" / Replicas,
            "isr_nodes" / InSyncReplicas,
            "eligible_leader_replicas" / Default(Nullable(Array(Int32)), None)
                * "out of sync, but sure to have all committed records; null when there is no list",
            "last_known_elr" / Default(Nullable(Array(Int32)), None)
                * "brokers last known to be eligible, for an unclean recovery; null when there is no list",
            "offline_replicas" / OfflineReplicas,
        ) * "partitions of the topic that are on this page",
        "topic_authorized_operations" / Default(AclOperations, -(2**31)),
    ) * "one page of topics",
    "next_cursor" / Default(Nullable(Struct(
        "topic_name" / TopicName * "first topic of the next page",
        "partition_index" / Partition * "first partition of that topic to describe",
    )), None) * "where the next page begins; null when this was the last one",
)
api: Final = Api(75, "DescribeTopicPartitions", request, response, versions=range(1), flexible=0)
