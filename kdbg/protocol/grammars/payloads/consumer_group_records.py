"""Records of consumer groups of the new protocol in `__consumer_offsets`: members, targets, what each has (KIP-848).

Keys begin with 3 to 8, and 16 for what a regular expression resolved to. A null value deletes. Kafka 3.5 to 3.7 wrote
early forms, with the metadata of client-side assignors; 4.1 replaced the partition metadata (4) by a hash (KIP-1101).
"""

from ...wire.language.payload import Payload
from ..meanings import *
from . import classic_subscription

group: Final = Struct("group_id" / GroupId)
member: Final = Struct("group_id" / GroupId, "member_id" / MemberId)
partitions_by_topic: Final = Array("topic_id" / TopicId, "partitions" / Partitions)
current_partitions: Final = Array(
    "topic_id" / TopicId,
    "partitions" / Partitions,
    "assignment_epochs" / SinceRelease((4, 3), Tag(0, Nullable(Array(Int32))))
        * "member epoch in which each partition was assigned, in order, to fence late commits; null means unknown",
)
target: Final = Struct(
    "assignment_epoch" / AssignmentEpoch,
    "assignment_timestamp" / SinceRelease((4, 3), Ignorable(Tag(0, Timestamp)))
        * "when the target assignment was computed, in ms since 1970",
)
partition_metadata: Final = Array(
    "topic_id" / TopicId,
    "topic_name" / SinceRelease((3, 6), TopicName),
    "num_partitions" / Int32 * "number of partitions of the topic when the group last looked",
    "partition_metadata" / SinceRelease((3, 6), Array(
        "partition" / Partition,
        "racks" / Array(String) * "racks that have a replica of the partition",
    )) * "racks of the replicas, by partition; empty if unknown",
)

metadata_key: Final = Payload("ConsumerGroupMetadataKey", group, versions=range(3, 4))
metadata_value: Final = Payload("ConsumerGroupMetadataValue", Struct(
    "epoch" / Int32 * "group epoch: goes up when members, subscriptions or the partitions of topics change",
    "metadata_hash" / SinceRelease((4, 1), Tag(0, Int64))
        * "hash over the subscribed topics, to notice that they changed",
), flexible=0)
partition_metadata_key: Final = Payload("ConsumerGroupPartitionMetadataKey", group, versions=range(4, 5))
partition_metadata_value: Final = Payload("ConsumerGroupPartitionMetadataValue", Struct(
    "epoch" / BeforeRelease((3, 8), Int32) * "group epoch in which the topics were looked at",
    "topics" / partition_metadata * "partitions of the subscribed topics, to notice that they changed",
), flexible=0, releases=((3, 7), (3, 5)))
member_metadata_key: Final = Payload("ConsumerGroupMemberMetadataKey", member, versions=range(5, 6))
member_metadata_value: Final = Payload("ConsumerGroupMemberMetadataValue", Struct(
    "group_epoch" / BeforeRelease((3, 6), GroupEpoch),
    "instance_id" / Nullable(GroupInstanceId),
    "rack_id" / Nullable(ClientRack),
    "client_id" / ClientId,
    "client_host" / ClientHost,
    "subscribed_topic_names" / Array(TopicName) * "topics the member subscribes to",
    "subscribed_topic_regex" / Nullable(String)
        * "regular expression for further topics of the member; null or empty means none",
    "rebalance_timeout_ms" / SinceRelease((3, 6), Default(RebalanceTimeout, -1))
        * "how long the member may take to give up partitions, in ms; -1 means not set",
    "server_assignor" / SinceRelease((3, 6), Nullable(String))
        * "assignor in the coordinator that the member prefers; null means the coordinator's default",
    "assignors" / BeforeRelease((3, 8), Array(
        "name" / String * "name of the assignor",
        "minimum_version" / Int16 * "lowest version of metadata the assignor can read",
        "maximum_version" / Int16 * "highest version of metadata the assignor can read",
        "reason" / Int8 * "why the assignor requests a new assignment, as a number of its own",
        "version" / Int16 * "version of the assignor's metadata",
        "metadata" / Bytes * "metadata of the assignor for the member that assigns",
    )) * "assignors in the client, a plan that was dropped in Kafka 3.8",
    "classic_member_metadata" / SinceRelease((3, 8), Tag(0, Nullable(Struct(
        "session_timeout_ms" / SessionTimeout,
        "supported_protocols" / Array(
            "name" / String * "name of the assignor",
            "metadata" / Holds(Bytes, classic_subscription) * "subscription the member offered for this assignor",
        ) * "assignors the member offered, in its order of preference",
    )))) * "what a member that uses the classic protocol joined with; null for other members",
), flexible=0, releases=((3, 7), (3, 5)))
target_metadata_key: Final = Payload("ConsumerGroupTargetAssignmentMetadataKey", group, versions=range(6, 7))
target_metadata_value: Final = Payload("ConsumerGroupTargetAssignmentMetadataValue", target, flexible=0)
target_member_key: Final = Payload("ConsumerGroupTargetAssignmentMemberKey", member, versions=range(7, 8))
target_member_value: Final = Payload("ConsumerGroupTargetAssignmentMemberValue", Struct(
    "error" / BeforeRelease((3, 8), Int8) * "error of an assignor in the client, by a number of its own; 0 for none",
    "topic_partitions" / partitions_by_topic * "partitions the member is meant to have, by topic",
    "metadata_version" / BeforeRelease((3, 8), Int16) * "version of metadata_bytes",
    "metadata_bytes" / BeforeRelease((3, 8), Bytes) * "metadata of a client-side assignor for the member",
), flexible=0, releases=((3, 7),))
current_key: Final = Payload("ConsumerGroupCurrentMemberAssignmentKey", member, versions=range(8, 9))
current_value: Final = Payload("ConsumerGroupCurrentMemberAssignmentValue", Struct(
    "member_epoch" / ReachedEpoch,
    "error" / BeforeRelease((3, 6), Int8) * "error of an assignor in the client, by a number of its own; 0 for none",
    "topic_partitions" / BeforeRelease((3, 6), partitions_by_topic) * "partitions of the member, by topic",
    "previous_member_epoch" / SinceRelease((3, 6), Int32)
        * "epoch before it, which the member may still send if it missed the last response",
    "target_member_epoch" / SinceRelease((3, 6), BeforeRelease((3, 8), Int32))
        * "epoch of the assignment the member is moving to",
    "state" / SinceRelease((3, 8), GroupMemberState),
    "assigned_partitions" / SinceRelease((3, 6), current_partitions) * "partitions the member has, by topic",
    "partitions_pending_revocation" / SinceRelease((3, 6), current_partitions)
        * "partitions the member must give up first, by topic",
    "partitions_pending_assignment" / SinceRelease((3, 6), BeforeRelease((3, 8), partitions_by_topic))
        * "partitions the member gets once others have given them up, by topic",
    "error" / SinceRelease((3, 6), BeforeRelease((3, 8), Int8))
        * "error of an assignor in the client, by a number of its own; 0 for none",
    "metadata_version" / BeforeRelease((3, 8), Int16) * "version of metadata_bytes",
    "metadata_bytes" / BeforeRelease((3, 8), Bytes) * "metadata of a client-side assignor for the member",
), flexible=0, releases=((3, 7), (3, 5)))
regular_expression_key: Final = Payload("ConsumerGroupRegularExpressionKey", Struct(
    "group_id" / GroupId,
    "regular_expression" / String * "the regular expression, as members sent it",
), versions=range(16, 17))
regular_expression_value: Final = Payload("ConsumerGroupRegularExpressionValue", Struct(
    "topics" / Array(TopicName) * "topics that match the regular expression",
    "version" / Int64 * "version of the cluster's metadata in which the topics were looked up",
    "timestamp" / Timestamp * "when the topics were looked up, in ms since 1970",
), flexible=0, frame=(
    "record_version" / Int16 * "version of the record's layout",
))
