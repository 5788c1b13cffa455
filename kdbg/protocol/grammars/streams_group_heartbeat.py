"""StreamsGroupHeartbeat (key 88): joins, keeps up and leaves a group of Kafka Streams instances.

KIP-1071. The first heartbeat brings the topology; the answer assigns active, standby and warm-up tasks. v1, of
Kafka 4.4, asks for the topology description (KIP-1331) and makes the lag a larger number.
"""

from .meanings import *
from .topology import client_tags, subtopologies, task_offsets, tasks

endpoint: Final = Struct("host" / ApplicationHost, "port" / ApplicationPort)
request: Final = Struct(
    "group_id" / GroupId,
    "member_id" / MemberId,
    "member_epoch" / MemberEpoch
        * "0 joins, -1 leaves, -2 leaves as a static member that will be back; otherwise the last one received",
    "endpoint_information_epoch" / Int32 * "epoch of the newest partitions_by_user_endpoint the member has received",
    "instance_id" / Default(Nullable(GroupInstanceId), None)
        * "group.instance.id of a static member; null means none, or unchanged",
    "rack_id" / Default(Nullable(ClientRack), None) * "client.rack of the member; null means none, or unchanged",
    "rebalance_timeout_ms" / Default(RebalanceTimeout, -1)
        * "how long the member may take to give up tasks, in ms; -1 means unchanged",
    "topology" / Default(Nullable(Struct(
        "epoch" / Int32 * "version of the topology, compared with the one the group runs",
        "subtopologies" / subtopologies * "parts of the topology that run independently",
    )), None) * "topology of the application, sent when joining; null in later heartbeats",
    "active_tasks" / Default(Nullable(tasks), None) * "tasks the member processes records for; null means unchanged",
    "standby_tasks" / Default(Nullable(tasks), None)
        * "tasks whose state the member keeps a copy of; null means unchanged",
    "warmup_tasks" / Default(Nullable(tasks), None)
        * "tasks whose state the member restores to take them over; null means unchanged",
    "process_id" / Default(Nullable(String), None)
        * "id of the member's process, shared by all its stream threads; null means unchanged",
    "user_endpoint" / Default(Nullable(endpoint), None)
        * "where the process serves interactive queries; null means nowhere, or unchanged",
    "client_tags" / Default(Nullable(client_tags), None)
        * "labels of the process, used to spread standby tasks over racks; null means unchanged",
    "task_offsets" / Default(Nullable(task_offsets), None)
        * "how much state the member has, as a sum of changelog offsets per task; null means unchanged",
    "task_end_offsets" / Default(Nullable(task_offsets), None)
        * "where those changelogs end, as a sum per task; null means unchanged",
    "shutdown_application" / Boolean * "true requests a shutdown of all members of the group",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "member_id" / MemberId,
    "member_epoch" / ReachedEpoch * "epoch to send with the next heartbeat",
    "heartbeat_interval_ms" / HeartbeatInterval,
    "acceptable_recovery_lag_legacy" / Until(0, Int32)
        * "offsets a warm-up task may lag and still count as caught up; -1 means not set",
    "task_offset_interval_ms" / Duration * "how often the member should send its task offsets, in ms",
    "acceptable_recovery_lag" / Since(1, Default(Int64, -1))
        * "offsets a warm-up task may lag and still count as caught up; -1 means not set",
    "status" / Nullable(Array(
        "status_code" / StreamsGroupStatus,
        "status_detail" / String * "the condition in words",
    )) * "conditions of the group to act on, such as missing source topics; null means none",
    "active_tasks" / Default(Nullable(tasks), None) * "tasks to process records for; null means unchanged",
    "standby_tasks" / Default(Nullable(tasks), None) * "tasks whose state to keep a copy of; null means unchanged",
    "warmup_tasks" / Default(Nullable(tasks), None) * "tasks whose state to restore; null means unchanged",
    "topology_description_required" / Since(1, Boolean)
        * "true requests a StreamsGroupTopologyDescriptionUpdate from the member",
    "endpoint_information_epoch" / Int32 * "epoch of partitions_by_user_endpoint, raised when it changes",
    "partitions_by_user_endpoint" / Default(Nullable(Array(
        "user_endpoint" / endpoint * "where the process serves interactive queries",
        "active_partitions" / Array("topic" / TopicName, "partitions" / Partitions)
            * "partitions the process has active tasks for, by topic",
        "standby_partitions" / Array("topic" / TopicName, "partitions" / Partitions)
            * "partitions the process has standby tasks for, by topic",
    )), None) * "which process serves queries for which partitions; null means unchanged",
)
api: Final = Api(88, "StreamsGroupHeartbeat", request, response, versions=range(2), flexible=0)
