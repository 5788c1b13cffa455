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
    UInt16,
    Until,
)
from .meanings import MemberEpoch, StreamsGroupStatus

request = Struct(
    "group_id" / GroupId,
    "member_id" / String,
    "member_epoch" / MemberEpoch,
    "endpoint_information_epoch" / Int32,
    "instance_id" / Default(Nullable(String), None),
    "rack_id" / Default(Nullable(String), None),
    "rebalance_timeout_ms" / Default(Duration, -1),
    "topology" / Default(Nullable(Struct(
        "epoch" / Int32,
        "subtopologies" / Array(
            "subtopology_id" / String,
            "source_topics" / Array(TopicName),
            "source_topic_regex" / Array(String),
            "state_changelog_topics" / Array(
                "name" / TopicName,
                "partitions" / Partition,
                "replication_factor" / Int16,
                "topic_configs" / Array("key" / String, "value" / String),
            ),
            "repartition_sink_topics" / Array(TopicName),
            "repartition_source_topics" / Array(
                "name" / TopicName,
                "partitions" / Partition,
                "replication_factor" / Int16,
                "topic_configs" / Array("key" / String, "value" / String),
            ),
            "copartition_groups" / Array(
                "source_topics" / Array(Int16),
                "source_topic_regex" / Array(Int16),
                "repartition_source_topics" / Array(Int16),
            ),
        ),
    )), None),
    "active_tasks" / Default(Nullable(Array("subtopology_id" / String, "partitions" / Array(Partition))), None),
    "standby_tasks" / Default(Nullable(Array("subtopology_id" / String, "partitions" / Array(Partition))), None),
    "warmup_tasks" / Default(Nullable(Array("subtopology_id" / String, "partitions" / Array(Partition))), None),
    "process_id" / Default(Nullable(String), None),
    "user_endpoint" / Default(Nullable(Struct("host" / String, "port" / UInt16)), None),
    "client_tags" / Default(Nullable(Array("key" / String, "value" / String)), None),
    "task_offsets" / Default(Nullable(Array(
        "subtopology_id" / String,
        "partition" / Partition,
        "offset" / Int64,
    )), None),
    "task_end_offsets" / Default(Nullable(Array(
        "subtopology_id" / String,
        "partition" / Partition,
        "offset" / Int64,
    )), None),
    "shutdown_application" / Boolean,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(String), None),
    "member_id" / String,
    "member_epoch" / Int32,
    "heartbeat_interval_ms" / Duration,
    "acceptable_recovery_lag" / Until(0, Int32),
    "task_offset_interval_ms" / Duration,
    "acceptable_recovery_lag" / Since(1, Default(Int64, -1)),
    "status" / Nullable(Array("status_code" / StreamsGroupStatus, "status_detail" / String)),
    "active_tasks" / Default(Nullable(Array("subtopology_id" / String, "partitions" / Array(Partition))), None),
    "standby_tasks" / Default(Nullable(Array("subtopology_id" / String, "partitions" / Array(Partition))), None),
    "warmup_tasks" / Default(Nullable(Array("subtopology_id" / String, "partitions" / Array(Partition))), None),
    "topology_description_required" / Since(1, Boolean),
    "endpoint_information_epoch" / Int32,
    "partitions_by_user_endpoint" / Default(Nullable(Array(
        "user_endpoint" / Struct("host" / String, "port" / UInt16),
        "active_partitions" / Array("topic" / TopicName, "partitions" / Array(Partition)),
        "standby_partitions" / Array("topic" / TopicName, "partitions" / Array(Partition)),
    )), None),
)
api = Api(88, "StreamsGroupHeartbeat", request, response, versions=range(2), flexible=0)
