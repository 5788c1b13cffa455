"""StreamsGroupDescribe (key 89): state, topology, members and tasks of streams groups.

KIP-1071. v1, of Kafka 4.4, brings the topology as the clients describe it (KIP-1331) and the assignor (KIP-1357).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
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
)
from .meanings import (
    AclOperations,
    AssignmentEpoch,
    ClientHost,
    ClientId,
    ClientRack,
    ErrorMessage,
    GroupEpoch,
    GroupInstanceId,
    GroupState,
    Host,
    IncludeOperations,
    MemberId,
    Partitions,
    ReachedEpoch,
    SubtopologyId,
    ThrottleTime,
    TopologyDescriptionStatus,
    UnsignedPort,
)
from .topology import topology

internal_topics = Array(
    "name" / TopicName,
    "partitions" / Int32,
    "replication_factor" / Int16,
    "topic_configs" / Array("key" / String, "value" / String),
)
tasks = Array("subtopology_id" / SubtopologyId, "partitions" / Partitions)
task_offsets = Array("subtopology_id" / SubtopologyId, "partition" / Partition, "offset" / Int64)
assignment = Struct("active_tasks" / tasks, "standby_tasks" / tasks, "warmup_tasks" / tasks)
request = Struct(
    "group_ids" / Array(GroupId),
    "include_authorized_operations" / IncludeOperations,
    "include_topology_description" / Since(1, Boolean),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "groups" / Array(
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(ErrorMessage), None),
        "group_id" / GroupId,
        "group_state" / GroupState,
        "group_epoch" / GroupEpoch,
        "assignment_epoch" / AssignmentEpoch,
        "topology" / Default(Nullable(Struct(
            "epoch" / Int32,
            "subtopologies" / Default(Nullable(Array(
                "subtopology_id" / SubtopologyId,
                "source_topics" / Array(TopicName),
                "repartition_sink_topics" / Array(TopicName),
                "state_changelog_topics" / internal_topics,
                "repartition_source_topics" / internal_topics,
            )), None),
        )), None),
        "members" / Array(
            "member_id" / MemberId,
            "member_epoch" / ReachedEpoch,
            "instance_id" / Default(Nullable(GroupInstanceId), None),
            "rack_id" / Default(Nullable(ClientRack), None),
            "client_id" / ClientId,
            "client_host" / ClientHost,
            "topology_epoch" / Int32,
            "process_id" / String,
            "user_endpoint" / Default(Nullable(Struct("host" / Host, "port" / UnsignedPort)), None),
            "client_tags" / Array("key" / String, "value" / String),
            "task_offsets" / task_offsets,
            "task_end_offsets" / task_offsets,
            "assignment" / assignment,
            "target_assignment" / assignment,
            "is_classic" / Boolean,
        ),
        "authorized_operations" / Default(AclOperations, -(2**31)),
        "topology_description" / Since(1, Default(Nullable(topology), None)),
        "topology_description_status" / Since(1, TopologyDescriptionStatus),
        "assignor_name" / Since(1, Ignorable(Default(Nullable(String), None))),
    ),
)
api = Api(89, "StreamsGroupDescribe", request, response, versions=range(2), flexible=0)
