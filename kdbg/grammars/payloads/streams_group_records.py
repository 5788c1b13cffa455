"""Records of streams groups in `__consumer_offsets`: members, their tasks, and the topology they run (KIP-1071).

Keys begin with 17 to 23; 18 is not in use. Kafka 4.2 added the epoch that each task was assigned in, and what the group
last knew of its topology and configuration; 4.4 which description of the topology is stored (KIP-1331).
"""

from ...wire import (
    Array,
    Default,
    Int16,
    Int32,
    Int64,
    Nullable,
    SinceRelease,
    String,
    Struct,
    Tag,
    TopicName,
)
from ...wire.language.payload import Payload
from ..meanings import (
    ClientHost,
    ClientId,
    ClientRack,
    GroupInstanceId,
    Host,
    Partitions,
    ReachedEpoch,
    RebalanceTimeout,
    StreamsMemberState,
    SubtopologyId,
    UnsignedPort,
)
from .consumer_group_records import group, member, target

metadata_key = Payload("StreamsGroupMetadataKey", group, versions=range(17, 18))
metadata_value = Payload("StreamsGroupMetadataValue", Struct(
    "epoch" / Int32,
    "metadata_hash" / Int64,
    "validated_topology_epoch" / SinceRelease((4, 2), Tag(0, Default(Int32, -1))),
    "last_assignment_configs" / SinceRelease((4, 2), Tag(1, Nullable(Array("key" / String, "value" / String)))),
    "stored_description_topology_epoch" / SinceRelease((4, 4), Tag(2, Default(Int32, -1))),
    "failed_description_topology_epoch" / SinceRelease((4, 4), Tag(3, Default(Int32, -1))),
), flexible=0)
member_metadata_key = Payload("StreamsGroupMemberMetadataKey", member, versions=range(19, 20))
member_metadata_value = Payload("StreamsGroupMemberMetadataValue", Struct(
    "instance_id" / Nullable(GroupInstanceId),
    "rack_id" / Nullable(ClientRack),
    "client_id" / ClientId,
    "client_host" / ClientHost,
    "rebalance_timeout_ms" / Default(RebalanceTimeout, -1),
    "topology_epoch" / Int32,
    "process_id" / String,
    "user_endpoint" / Default(Nullable(Struct("host" / Host, "port" / UnsignedPort)), None),
    "client_tags" / Array("key" / String, "value" / String),
), flexible=0)
target_metadata_key = Payload("StreamsGroupTargetAssignmentMetadataKey", group, versions=range(20, 21))
target_metadata_value = Payload("StreamsGroupTargetAssignmentMetadataValue", target, flexible=0)
target_tasks = Array("subtopology_id" / SubtopologyId, "partitions" / Partitions)
target_member_key = Payload("StreamsGroupTargetAssignmentMemberKey", member, versions=range(21, 22))
target_member_value = Payload("StreamsGroupTargetAssignmentMemberValue", Struct(
    "active_tasks" / target_tasks,
    "standby_tasks" / target_tasks,
    "warmup_tasks" / target_tasks,
), flexible=0)
tasks = Array(
    "subtopology_id" / SubtopologyId,
    "partitions" / Partitions,
    "assignment_epochs" / SinceRelease((4, 2), Tag(0, Nullable(Array(Int32)))),
)
current_key = Payload("StreamsGroupCurrentMemberAssignmentKey", member, versions=range(22, 23))
current_value = Payload("StreamsGroupCurrentMemberAssignmentValue", Struct(
    "member_epoch" / ReachedEpoch,
    "previous_member_epoch" / Int32,
    "state" / StreamsMemberState,
    "active_tasks" / tasks,
    "standby_tasks" / tasks,
    "warmup_tasks" / tasks,
    "active_tasks_pending_revocation" / tasks,
    "standby_tasks_pending_revocation" / tasks,
    "warmup_tasks_pending_revocation" / tasks,
), flexible=0)
internal_topics = Array(
    "name" / TopicName,
    "partitions" / Int32,
    "replication_factor" / Int16,
    "topic_configs" / Array("key" / String, "value" / String),
)
topology_key = Payload("StreamsGroupTopologyKey", group, versions=range(23, 24))
topology_value = Payload("StreamsGroupTopologyValue", Struct(
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
), flexible=0)
