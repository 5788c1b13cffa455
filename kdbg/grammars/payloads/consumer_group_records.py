"""Records of consumer groups of the new protocol in `__consumer_offsets`: members, targets, what each has (KIP-848).

Keys begin with 3 to 8, and 16 for what a regular expression resolved to. A null value deletes. Kafka 3.5 to 3.7 wrote
early forms, with the metadata of client-side assignors; 4.1 replaced the partition metadata (4) by a hash (KIP-1101).
"""

from ...wire import (
    Array,
    BeforeRelease,
    Bytes,
    Default,
    GroupId,
    Holds,
    Ignorable,
    Int8,
    Int16,
    Int32,
    Int64,
    Nullable,
    Partition,
    SinceRelease,
    String,
    Struct,
    Tag,
    Timestamp,
    TopicId,
    TopicName,
)
from ...wire.language.payload import Payload
from ..meanings import (
    AssignmentEpoch,
    ClientHost,
    ClientId,
    ClientRack,
    GroupEpoch,
    GroupInstanceId,
    GroupMemberState,
    MemberId,
    Partitions,
    ReachedEpoch,
    RebalanceTimeout,
    SessionTimeout,
)
from .holdings import classic_subscription

group = Struct("group_id" / GroupId)
member = Struct("group_id" / GroupId, "member_id" / MemberId)
partitions_by_topic = Array("topic_id" / TopicId, "partitions" / Partitions)
current_partitions = Array(
    "topic_id" / TopicId,
    "partitions" / Partitions,
    "assignment_epochs" / SinceRelease((4, 3), Tag(0, Nullable(Array(Int32)))),
)
target = Struct(
    "assignment_epoch" / AssignmentEpoch,
    "assignment_timestamp" / SinceRelease((4, 3), Ignorable(Tag(0, Timestamp))),
)
partition_metadata = Array(
    "topic_id" / TopicId,
    "topic_name" / SinceRelease((3, 6), TopicName),
    "num_partitions" / Int32,
    "partition_metadata" / SinceRelease((3, 6), Array("partition" / Partition, "racks" / Array(String))),
)

metadata_key = Payload("ConsumerGroupMetadataKey", group, versions=range(3, 4))
metadata_value = Payload("ConsumerGroupMetadataValue", Struct(
    "epoch" / Int32,
    "metadata_hash" / SinceRelease((4, 1), Tag(0, Int64)),
), flexible=0)
partition_metadata_key = Payload("ConsumerGroupPartitionMetadataKey", group, versions=range(4, 5))
partition_metadata_value = Payload("ConsumerGroupPartitionMetadataValue", Struct(
    "epoch" / BeforeRelease((3, 8), Int32),
    "topics" / partition_metadata,
), flexible=0, releases=((3, 7), (3, 5)))
member_metadata_key = Payload("ConsumerGroupMemberMetadataKey", member, versions=range(5, 6))
member_metadata_value = Payload("ConsumerGroupMemberMetadataValue", Struct(
    "group_epoch" / BeforeRelease((3, 6), GroupEpoch),
    "instance_id" / Nullable(GroupInstanceId),
    "rack_id" / Nullable(ClientRack),
    "client_id" / ClientId,
    "client_host" / ClientHost,
    "subscribed_topic_names" / Array(TopicName),
    "subscribed_topic_regex" / Nullable(String),
    "rebalance_timeout_ms" / SinceRelease((3, 6), Default(RebalanceTimeout, -1)),
    "server_assignor" / SinceRelease((3, 6), Nullable(String)),
    "assignors" / BeforeRelease((3, 8), Array(
        "name" / String,
        "minimum_version" / Int16,
        "maximum_version" / Int16,
        "reason" / Int8,
        "version" / Int16,
        "metadata" / Bytes,
    )),
    "classic_member_metadata" / SinceRelease((3, 8), Tag(0, Nullable(Struct(
        "session_timeout_ms" / SessionTimeout,
        "supported_protocols" / Array("name" / String, "metadata" / Holds(Bytes, classic_subscription)),
    )))),
), flexible=0, releases=((3, 7), (3, 5)))
target_metadata_key = Payload("ConsumerGroupTargetAssignmentMetadataKey", group, versions=range(6, 7))
target_metadata_value = Payload("ConsumerGroupTargetAssignmentMetadataValue", target, flexible=0)
target_member_key = Payload("ConsumerGroupTargetAssignmentMemberKey", member, versions=range(7, 8))
target_member_value = Payload("ConsumerGroupTargetAssignmentMemberValue", Struct(
    "error" / BeforeRelease((3, 8), Int8),
    "topic_partitions" / partitions_by_topic,
    "metadata_version" / BeforeRelease((3, 8), Int16),
    "metadata_bytes" / BeforeRelease((3, 8), Bytes),
), flexible=0, releases=((3, 7),))
current_key = Payload("ConsumerGroupCurrentMemberAssignmentKey", member, versions=range(8, 9))
current_value = Payload("ConsumerGroupCurrentMemberAssignmentValue", Struct(
    "member_epoch" / ReachedEpoch,
    "error" / BeforeRelease((3, 6), Int8),
    "topic_partitions" / BeforeRelease((3, 6), partitions_by_topic),
    "previous_member_epoch" / SinceRelease((3, 6), Int32),
    "target_member_epoch" / SinceRelease((3, 6), BeforeRelease((3, 8), Int32)),
    "state" / SinceRelease((3, 8), GroupMemberState),
    "assigned_partitions" / SinceRelease((3, 6), current_partitions),
    "partitions_pending_revocation" / SinceRelease((3, 6), current_partitions),
    "partitions_pending_assignment" / SinceRelease((3, 6), BeforeRelease((3, 8), partitions_by_topic)),
    "error" / SinceRelease((3, 6), BeforeRelease((3, 8), Int8)),
    "metadata_version" / BeforeRelease((3, 8), Int16),
    "metadata_bytes" / BeforeRelease((3, 8), Bytes),
), flexible=0, releases=((3, 7), (3, 5)))
regular_expression_key = Payload("ConsumerGroupRegularExpressionKey", Struct(
    "group_id" / GroupId,
    "regular_expression" / String,
), versions=range(16, 17))
regular_expression_value = Payload("ConsumerGroupRegularExpressionValue", Struct(
    "topics" / Array(TopicName),
    "version" / Int64,
    "timestamp" / Timestamp,
), flexible=0, frame=("record_version" / Int16,))
