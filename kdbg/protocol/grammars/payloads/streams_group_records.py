"""Records of streams groups in `__consumer_offsets`: members, their tasks, and the topology they run (KIP-1071).

Keys begin with 17 to 23; 18 is not in use. Kafka 4.2 added the epoch that each task was assigned in, and what the group
last knew of its topology and configuration; 4.4 which description of the topology is stored (KIP-1331).
"""

from ...wire.language.payload import Payload
from ..meanings import *
from ..topology import client_tags, settings, subtopologies, tasks
from .consumer_group_records import group, member, target

metadata_key: Final = Payload("StreamsGroupMetadataKey", group, versions=range(17, 18))
metadata_value: Final = Payload("StreamsGroupMetadataValue", Struct(
    "epoch" / Int32 * "group epoch: goes up when members, the topology or the partitions of its topics change",
    "metadata_hash" / Int64 * "hash over the topics of the topology, to notice that they changed",
    "validated_topology_epoch" / SinceRelease((4, 2), Tag(0, Default(Int32, -1)))
        * "topology whose topics were found to be in order; -1 means none",
    "last_assignment_configs" / SinceRelease((4, 2), Tag(1, Nullable(settings)))
        * "settings of the group that the last assignment was computed with; null means unknown",
    "stored_description_topology_epoch" / SinceRelease((4, 4), Tag(2, Default(Int32, -1)))
        * "topology whose description is stored; -1 means none",
    "failed_description_topology_epoch" / SinceRelease((4, 4), Tag(3, Default(Int32, -1)))
        * "topology whose description could not be stored; -1 means none",
), flexible=0)
member_metadata_key: Final = Payload("StreamsGroupMemberMetadataKey", member, versions=range(19, 20))
member_metadata_value: Final = Payload("StreamsGroupMemberMetadataValue", Struct(
    "instance_id" / Nullable(GroupInstanceId),
    "rack_id" / Nullable(ClientRack),
    "client_id" / ClientId,
    "client_host" / ClientHost,
    "rebalance_timeout_ms" / Default(RebalanceTimeout, -1)
        * "how long the member may take to give up tasks, in ms; -1 means not set",
    "topology_epoch" / Int32 * "version of the topology the member runs",
    "process_id" / String * "id of the member's process, shared by all its stream threads",
    "user_endpoint" / Default(Nullable(Struct("host" / Host, "port" / UnsignedPort)), None)
        * "where the process serves interactive queries; null means nowhere",
    "client_tags" / client_tags * "labels of the process, used to spread standby tasks over racks",
), flexible=0)
target_metadata_key: Final = Payload("StreamsGroupTargetAssignmentMetadataKey", group, versions=range(20, 21))
target_metadata_value: Final = Payload("StreamsGroupTargetAssignmentMetadataValue", target, flexible=0)
target_member_key: Final = Payload("StreamsGroupTargetAssignmentMemberKey", member, versions=range(21, 22))
target_member_value: Final = Payload("StreamsGroupTargetAssignmentMemberValue", Struct(
    "active_tasks" / tasks * "tasks the member is meant to process records for",
    "standby_tasks" / tasks * "tasks whose state the member is meant to keep a copy of",
    "warmup_tasks" / tasks * "tasks whose state the member is meant to restore",
), flexible=0)
current_tasks: Final = Array(
    "subtopology_id" / SubtopologyId,
    "partitions" / Partitions * "partitions of the input topics; each makes one task",
    "assignment_epochs" / SinceRelease((4, 2), Tag(0, Nullable(Array(Int32))))
        * "member epoch in which each task was assigned, in order, to fence late commits; null unless active",
)
current_key: Final = Payload("StreamsGroupCurrentMemberAssignmentKey", member, versions=range(22, 23))
current_value: Final = Payload("StreamsGroupCurrentMemberAssignmentValue", Struct(
    "member_epoch" / ReachedEpoch,
    "previous_member_epoch" / Int32 * "epoch before it, which the member may still send if it missed the last response",
    "state" / StreamsMemberState,
    "active_tasks" / current_tasks * "tasks the member processes records for",
    "standby_tasks" / current_tasks * "tasks whose state the member keeps a copy of",
    "warmup_tasks" / current_tasks * "tasks whose state the member restores to take them over",
    "active_tasks_pending_revocation" / current_tasks * "active tasks the member must give up first",
    "standby_tasks_pending_revocation" / current_tasks * "standby tasks the member must give up first",
    "warmup_tasks_pending_revocation" / current_tasks * "warm-up tasks the member must give up first",
), flexible=0)
topology_key: Final = Payload("StreamsGroupTopologyKey", group, versions=range(23, 24))
topology_value: Final = Payload("StreamsGroupTopologyValue", Struct(
    "epoch" / Int32 * "version of the topology, raised by the application when it changes",
    "subtopologies" / subtopologies * "parts of the topology that run independently",
), flexible=0)
