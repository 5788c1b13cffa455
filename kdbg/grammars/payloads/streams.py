"""User data of Kafka Streams in the consumer protocol, for groups whose assignor is called "stream".

Instances subscribe with SubscriptionInfoData: v2 the address where they serve queries (KIP-67), v3 the newest version
they know, v7 how far each task's state is (KIP-441), v8 a byte that only makes a member join again, v9 errors, v10
named topologies, v11 client tags (KIP-708). The leader's AssignmentInfo keeps step: v4 an error, v5 topics numbered to
save bytes, v6 what standbys serve (KIP-535), v7 when to rebalance next.
"""

from ...wire import (
    Array,
    Between,
    Bytes,
    Default,
    Enum,
    Int8,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    Timestamp,
    TopicName,
    UInt16,
    Until,
    Uuid,
)
from ...wire.language.payload import Payload
from ..meanings import Host, Port

AssignorError = Enum(Int32, {
    0: "NONE", 1: "INCOMPLETE_SOURCE_TOPIC_METADATA", 2: "VERSION_PROBING", 3: "ASSIGNMENT_ERROR",
    4: "SHUTDOWN_REQUESTED",
})
tasks = Array("topic_group_id" / Int32, "partition" / Partition)

subscription_info = Payload("SubscriptionInfoData", Struct(
    "version" / Int32,
    "latest_supported_version" / Since(3, Default(Int32, -1)),
    "process_id" / Uuid,
    "prev_tasks" / Until(6, tasks),
    "standby_tasks" / Until(6, tasks),
    "user_end_point" / Since(2, Bytes),
    "task_offset_sums" / Since(7, Array(
        "topic_group_id" / Int32,
        "partition" / Since(10, Partition),
        "offset_sum" / Since(10, Int64),
        "named_topology" / Since(10, Nullable(String)),
        "partition_to_offset_sum" / Between(7, 9, Array("partition" / Partition, "offset_sum" / Int64)),
    )),
    "unique_field" / Since(8, Int8),
    "error_code" / Since(9, AssignorError),
    "client_tags" / Since(11, Array("key" / Bytes, "value" / Bytes)),
), versions=range(1, 12), frame=())

# Java's DataOutputStream writes this one: its strings are STRINGs in all that names of topics and hosts may hold.
task = (
    "topic_group_id" / Int32,
    "partition" / Partition,
    "named_topology" / Since(10, Array(UInt16)),  # UTF-16
)
named_partitions = Array("topic" / TopicName, "partition" / Partition)
numbered_partitions = Array(
    "host" / Host,
    "port" / Port,
    "partitions" / Array("topic_index" / Int32, "partition" / Partition),
)
assignment_info = Payload("AssignmentInfo", Struct(
    "version" / Int32,
    "commonly_supported_version" / Since(3, Int32),
    "active_tasks" / Array(*task),
    "standby_tasks" / Array(*task, "partitions" / named_partitions),
    "partitions_by_host" / Between(2, 4, Array("host" / Host, "port" / Port, "partitions" / named_partitions)),
    "topics" / Since(5, Array("topic_index" / Int32, "topic" / TopicName)),
    "partitions_by_host" / Since(5, numbered_partitions),
    "standby_partitions_by_host" / Since(6, numbered_partitions),
    "error_code" / Since(4, AssignorError),
    "next_rebalance_ms" / Since(7, Timestamp.means("timestamp", {2**63 - 1: "NEVER"})),
), versions=range(1, 12), frame=())
