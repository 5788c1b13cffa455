"""StreamsGroupDescribe (key 89): state, topology, members and tasks of streams groups.

KIP-1071. v1, of Kafka 4.4, brings the topology as the clients describe it (KIP-1331) and the assignor (KIP-1357).
"""

from .meanings import *
from .topology import client_tags, internal_topics, task_offsets, tasks, topology

assignment: Final = Struct(
    "active_tasks" / tasks * "tasks that process records",
    "standby_tasks" / tasks * "tasks that keep a copy of the state, ready to take over",
    "warmup_tasks" / tasks * "tasks that restore state until they are ready to become active",
)
request: Final = Struct(
    "group_ids" / Array(GroupId) * "groups to describe",
    "include_authorized_operations" / IncludeOperations,
    "include_topology_description" / Since(1, Boolean) * "true also requests the topology as its clients describe it",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "groups" / Array(
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(ErrorMessage), None),
        "group_id" / GroupId,
        "group_state" / GroupState
            * "state of the group: Empty, NotReady, Assigning, Reconciling, Stable or Dead; empty after an error",
        "group_epoch" / GroupEpoch,
        "assignment_epoch" / AssignmentEpoch
            * "group epoch the current assignment was computed for; lower than group_epoch if a new one is pending",
        "topology" / Default(Nullable(Struct(
            "epoch" / Int32 * "version of the topology, raised by the application when it changes",
            "subtopologies" / Default(Nullable(Array(
                "subtopology_id" / SubtopologyId,
                "source_topics" / Array(TopicName) * "topics it reads",
                "repartition_sink_topics" / Array(TopicName) * "repartition topics it produces to",
                "state_changelog_topics" / internal_topics * "topics its state stores are restored from",
                "repartition_source_topics" / internal_topics * "repartition topics it reads",
            )), None) * "parts of the topology that run independently; null if the topology is not ready",
        )), None) * "topology the tasks are made from; null after an error",
        "members" / Array(
            "member_id" / MemberId,
            "member_epoch" / ReachedEpoch,
            "instance_id" / Default(Nullable(GroupInstanceId), None),
            "rack_id" / Default(Nullable(ClientRack), None),
            "client_id" / ClientId,
            "client_host" / ClientHost,
            "topology_epoch" / Int32
                * "version of the topology the member runs; lower than the group's until it is upgraded",
            "process_id" / String * "id of the member's process, shared by all its stream threads",
            "user_endpoint" / Default(Nullable(Struct("host" / ApplicationHost, "port" / ApplicationPort)), None)
                * "where the process serves interactive queries (application.server); null means nowhere",
            "client_tags" / client_tags * "labels of the process, used to spread standby tasks over racks",
            "task_offsets" / task_offsets * "how much state the member has, as a sum of changelog offsets per task",
            "task_end_offsets" / task_offsets * "where those changelogs end, as a sum per task",
            "assignment" / assignment * "tasks the member has now",
            "target_assignment" / assignment
                * "tasks the member is meant to have; equals assignment once it is reconciled",
            "is_classic" / Boolean * "true if the member still uses the classic protocol",
        ) * "members of the group",
        "authorized_operations" / Default(AclOperations, -(2**31)),
        "topology_description" / Since(1, Default(Nullable(topology), None))
            * "the topology as a member described it; null unless requested and stored",
        "topology_description_status" / Since(1, TopologyDescriptionStatus),
        "assignor_name" / Since(1, Ignorable(Default(Nullable(String), None)))
            * "assignor in the coordinator that distributes the tasks; null if it is not known",
    ) * "one entry per requested group",
)
api: Final = Api(89, "StreamsGroupDescribe", request, response, versions=range(2), flexible=0)
