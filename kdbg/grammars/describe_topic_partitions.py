"""DescribeTopicPartitions (key 75): topics and their partitions, page by page.

KIP-966. Like Metadata without the brokers; it adds the eligible leader replicas, and a cursor asks for the
next page.
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Int32,
    Nullable,
    Partition,
    Struct,
    TopicId,
    TopicName,
)
from .meanings import AclOperations, LeaderEpoch, LeaderId, ThrottleTime

request = Struct(
    "topics" / Array("name" / TopicName),
    "response_partition_limit" / Default(Int32, 2000),
    "cursor" / Default(Nullable(Struct("topic_name" / TopicName, "partition_index" / Partition)), None),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "topics" / Array(
        "error_code" / ErrorCode,
        "name" / Nullable(TopicName),
        "topic_id" / TopicId,
        "is_internal" / Boolean,
        "partitions" / Array(
            "error_code" / ErrorCode,
            "partition_index" / Partition,
            "leader_id" / LeaderId,
            "leader_epoch" / Default(LeaderEpoch, -1),
            "replica_nodes" / Array(Int32),
            "isr_nodes" / Array(Int32),
            "eligible_leader_replicas" / Default(Nullable(Array(Int32)), None),
            "last_known_elr" / Default(Nullable(Array(Int32)), None),
            "offline_replicas" / Array(Int32),
        ),
        "topic_authorized_operations" / Default(AclOperations, -(2**31)),
    ),
    "next_cursor" / Default(Nullable(Struct("topic_name" / TopicName, "partition_index" / Partition)), None),
)
api = Api(75, "DescribeTopicPartitions", request, response, versions=range(1), flexible=0)
