"""StreamsGroupHeartbeat (key 88): joins, keeps up and leaves a group of Kafka Streams instances.

KIP-1071. The first heartbeat brings the topology; the answer assigns active, standby and warm-up tasks. v1, of
Kafka 4.4, asks for the topology description (KIP-1331) and makes the lag a larger number.
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    Duration,
    ErrorCode,
    GroupId,
    Int16,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    TopicName,
    Until,
)
from .meanings import (
    ClientRack,
    ErrorMessage,
    GroupInstanceId,
    HeartbeatInterval,
    Host,
    MemberEpoch,
    MemberId,
    Partitions,
    ReachedEpoch,
    RebalanceTimeout,
    StreamsGroupStatus,
    SubtopologyId,
    ThrottleTime,
    UnsignedPort,
)

internal_topics = Array(
    "name" / TopicName,
    "partitions" / Int32,
    "replication_factor" / Int16,
    "topic_configs" / Array("key" / String, "value" / String),
)
tasks = Array("subtopology_id" / SubtopologyId, "partitions" / Partitions)
task_sums = Array("subtopology_id" / SubtopologyId, "partition" / Partition, "offset" / Int64)
endpoint = Struct("host" / Host, "port" / UnsignedPort)
request = Struct(
    "group_id" / GroupId,
    "member_id" / MemberId,
    "member_epoch" / MemberEpoch,
    "endpoint_information_epoch" / Int32,
    "instance_id" / Default(Nullable(GroupInstanceId), None),
    "rack_id" / Default(Nullable(ClientRack), None),
    "rebalance_timeout_ms" / Default(RebalanceTimeout, -1),
    "topology" / Default(Nullable(Struct(
        "epoch" / Int32,
        "subtopologies" / Array(
            "subtopology_id" / SubtopologyId,
            "source_topics" / Array(TopicName),
            "source_topic_regex" / Array(String),
            "state_changelog_topics" / internal_topics,
            "repartition_sink_topics" / Array(TopicName),
            "repartition_source_topics" / internal_topics,
            "copartition_groups" / Array(
                "source_topics" / Array(Int16),
                "source_topic_regex" / Array(Int16),
                "repartition_source_topics" / Array(Int16),
            ),
        ),
    )), None),
    "active_tasks" / Default(Nullable(tasks), None),
    "standby_tasks" / Default(Nullable(tasks), None),
    "warmup_tasks" / Default(Nullable(tasks), None),
    "process_id" / Default(Nullable(String), None),
    "user_endpoint" / Default(Nullable(endpoint), None),
    "client_tags" / Default(Nullable(Array("key" / String, "value" / String)), None),
    "task_offsets" / Default(Nullable(task_sums), None),
    "task_end_offsets" / Default(Nullable(task_sums), None),
    "shutdown_application" / Boolean,
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "member_id" / MemberId,
    "member_epoch" / ReachedEpoch,
    "heartbeat_interval_ms" / HeartbeatInterval,
    "acceptable_recovery_lag" / Until(0, Int32),
    "task_offset_interval_ms" / Duration,
    "acceptable_recovery_lag" / Since(1, Default(Int64, -1)),
    "status" / Nullable(Array("status_code" / StreamsGroupStatus, "status_detail" / String)),
    "active_tasks" / Default(Nullable(tasks), None),
    "standby_tasks" / Default(Nullable(tasks), None),
    "warmup_tasks" / Default(Nullable(tasks), None),
    "topology_description_required" / Since(1, Boolean),
    "endpoint_information_epoch" / Int32,
    "partitions_by_user_endpoint" / Default(Nullable(Array(
        "user_endpoint" / endpoint,
        "active_partitions" / Array("topic" / TopicName, "partitions" / Partitions),
        "standby_partitions" / Array("topic" / TopicName, "partitions" / Partitions),
    )), None),
)
api = Api(88, "StreamsGroupHeartbeat", request, response, versions=range(2), flexible=0)
