"""User data of Kafka Streams in the consumer protocol, for groups whose assignor is called "stream".

Instances subscribe with SubscriptionInfoData: v2 the address where they serve queries (KIP-67), v3 the newest version
they know, v7 how far each task's state is (KIP-441), v8 a byte that only makes a member join again, v9 errors, v10
named topologies, v11 client tags (KIP-708). The leader's AssignmentInfo keeps step: v4 an error, v5 topics numbered to
save bytes, v6 what standbys serve (KIP-535), v7 when to rebalance next.
"""

from ...wire.language.payload import Payload
from ..meanings import *

AssignorError: Final = Enum(Int32, {
    0: "NONE", 1: "INCOMPLETE_SOURCE_TOPIC_METADATA", 2: "VERSION_PROBING", 3: "ASSIGNMENT_ERROR",
    4: "SHUTDOWN_REQUESTED",
})
tasks: Final = Array(
    "topic_group_id" / Int32 * "subtopology of the task: the part of its id before the underscore",
    "partition" / Partition * "partition of the task: the part of its id after the underscore",
)

subscription_info: Final = Payload("SubscriptionInfoData", Struct(
    "version" / Int32 * "version of this layout",
    "latest_supported_version" / Since(3, Default(Int32, -1))
        * "newest version the sender knows, so that a mixed group can agree on one; -1 means unknown",
    "process_id" / Uuid * "random id of the process, shared by all its stream threads",
    "prev_tasks" / Until(6, tasks) * "tasks the member processed records for before",
    "standby_tasks" / Until(6, tasks) * "tasks whose state the member has on disk",
    "user_end_point" / Since(2, Bytes)
        * "where the process serves interactive queries, as host:port; empty means nowhere",
    "task_offset_sums" / Since(7, Array(
        "topic_group_id" / Int32 * "subtopology of the task: the part of its id before the underscore",
        "partition" / Since(10, Partition) * "partition of the task: the part of its id after the underscore",
        "offset_sum" / Since(10, Int64) * "sum of changelog offsets; -2 means an active task, -3 unknown",
        "named_topology" / Since(10, Nullable(String))
            * "topology of that name the task belongs to; null means there is only one",
        "partition_to_offset_sum" / Between(7, 9, Array(
            "partition" / Partition * "partition of the task: the part of its id after the underscore",
            "offset_sum" / Int64 * "sum of changelog offsets; -2 means an active task, -3 unknown",
        )) * "how much state there is, by partition of the subtopology",
    )) * "how much state of each task the member has",
    "unique_field" / Since(8, Int8) * "changes so that the group rebalances; the value means nothing",
    "error_code" / Since(9, AssignorError) * "what went wrong in this process, such as SHUTDOWN_REQUESTED",
    "client_tags" / Since(11, Array(
        "key" / Bytes * "name of the label",
        "value" / Bytes * "value of the label",
    )) * "labels of the process, used to spread standby tasks over racks",
), versions=range(1, 12), frame=())

# Java's DataOutputStream writes this one: its strings are STRINGs in all that names of topics and hosts may hold.
task: Final = (
    "topic_group_id" / Int32 * "subtopology of the task: the part of its id before the underscore",
    "partition" / Partition * "partition of the task: the part of its id after the underscore",
    "named_topology" / Since(10, Array(UInt16))
        * "name of the topology the task belongs to, one number per UTF-16 unit; empty means there is only one",
)
named_partitions: Final = Array("topic" / TopicName, "partition" / Partition)
numbered_partitions: Final = Array(
    "host" / Host,
    "port" / Port,
    "partitions" / Array(
        "topic_index" / Int32 * "number of the topic in the list of topics",
        "partition" / Partition,
    ) * "partitions the process serves",
)
assignment_info: Final = Payload("AssignmentInfo", Struct(
    "version" / Int32 * "version of this layout",
    "commonly_supported_version" / Since(3, Int32) * "newest version that all members know",
    "active_tasks" / Array(*task) * "tasks to process records for, one for each assigned partition, in the same order",
    "standby_tasks" / Array(
        *task,
        "partitions" / named_partitions * "partitions of the task's input topics",
    ) * "tasks whose state to keep a copy of",
    "partitions_by_host" / Between(2, 4, Array(
        "host" / Host,
        "port" / Port,
        "partitions" / named_partitions * "partitions the process has active tasks for",
    )) * "which process serves queries for which partitions",
    "topics" / Since(5, Array(
        "topic_index" / Int32 * "number of the topic in the list of topics",
        "topic" / TopicName,
    )) * "topics, with the numbers used for them here",
    "partitions_by_host" / Since(5, numbered_partitions) * "which process serves queries for which partitions",
    "standby_partitions_by_host" / Since(6, numbered_partitions)
        * "which process has copies of the state for which partitions",
    "error_code" / Since(4, AssignorError) * "what went wrong in the leader, 0 for none",
    "next_rebalance_ms" / Since(7, Timestamp.means("timestamp", {2**63 - 1: "NEVER"}))
        * "when the member should start the next rebalance, in ms since 1970",
), versions=range(1, 12), frame=())
