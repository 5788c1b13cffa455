"""StreamsGroupDescribe (key 89): state, topology, members and tasks of streams groups.

KIP-1071. v1, of Kafka 4.4, brings the topology as the clients describe it (KIP-1331) and the assignor (KIP-1357).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    Duration,
    ErrorCode,
    GroupId,
    Ignorable,
    Int16,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    TopicName,
    UInt16,
)
from .meanings import AclOperations, TopologyDescriptionStatus
from .topology import topology

request = Struct(
    "group_ids" / Array(GroupId),
    "include_authorized_operations" / Boolean,
    "include_topology_description" / Since(1, Boolean),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "groups" / Array(
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(String), None),
        "group_id" / GroupId,
        "group_state" / String,
        "group_epoch" / Int32,
        "assignment_epoch" / Int32,
        "topology" / Default(Nullable(Struct(
            "epoch" / Int32,
            "subtopologies" / Default(Nullable(Array(
                "subtopology_id" / String,
                "source_topics" / Array(TopicName),
                "repartition_sink_topics" / Array(TopicName),
                "state_changelog_topics" / Array(
                    "name" / TopicName,
                    "partitions" / Partition,
                    "replication_factor" / Int16,
                    "topic_configs" / Array("key" / String, "value" / String),
                ),
                "repartition_source_topics" / Array(
                    "name" / TopicName,
                    "partitions" / Partition,
                    "replication_factor" / Int16,
                    "topic_configs" / Array("key" / String, "value" / String),
                ),
            )), None),
        )), None),
        "members" / Array(
            "member_id" / String,
            "member_epoch" / Int32,
            "instance_id" / Default(Nullable(String), None),
            "rack_id" / Default(Nullable(String), None),
            "client_id" / String,
            "client_host" / String,
            "topology_epoch" / Int32,
            "process_id" / String,
            "user_endpoint" / Default(Nullable(Struct("host" / String, "port" / UInt16)), None),
            "client_tags" / Array("key" / String, "value" / String),
            "task_offsets" / Array(
                "subtopology_id" / String,
                "partition" / Partition,
                "offset" / Int64,
            ),
            "task_end_offsets" / Array(
                "subtopology_id" / String,
                "partition" / Partition,
                "offset" / Int64,
            ),
            "assignment" / Struct(
                "active_tasks" / Array("subtopology_id" / String, "partitions" / Array(Partition)),
                "standby_tasks" / Array("subtopology_id" / String, "partitions" / Array(Partition)),
                "warmup_tasks" / Array("subtopology_id" / String, "partitions" / Array(Partition)),
            ),
            "target_assignment" / Struct(
                "active_tasks" / Array("subtopology_id" / String, "partitions" / Array(Partition)),
                "standby_tasks" / Array("subtopology_id" / String, "partitions" / Array(Partition)),
                "warmup_tasks" / Array("subtopology_id" / String, "partitions" / Array(Partition)),
            ),
            "is_classic" / Boolean,
        ),
        "authorized_operations" / Default(AclOperations, -(2**31)),
        "topology_description" / Since(1, Default(Nullable(topology), None)),
        "topology_description_status" / Since(1, TopologyDescriptionStatus),
        "assignor_name" / Since(1, Ignorable(Default(Nullable(String), None))),
    ),
)
api = Api(89, "StreamsGroupDescribe", request, response, versions=range(2), flexible=0)
