"""Records of share groups in `__consumer_offsets`: members, what each reads, and which partitions have state (KIP-932).

Keys begin with 9 to 15. Kafka 3.9 and 4.0 had early forms, with partition metadata (9) where a hash now says whether
the topics have changed.
"""

from ...wire.language.payload import Payload
from ..meanings import *
from .consumer_group_records import group, member, partition_metadata, partitions_by_topic, target

topics: Final = Array("topic_id" / TopicId, "topic_name" / TopicName)
topics_with_partitions: Final = Array("topic_id" / TopicId, "topic_name" / TopicName, "partitions" / Partitions)

partition_metadata_key: Final = Payload("ShareGroupPartitionMetadataKey", group, versions=range(9, 10))
partition_metadata_value: Final = Payload("ShareGroupPartitionMetadataValue", Struct(
    "initialized_topics" / BeforeRelease((4, 0), topics_with_partitions)
        * "partitions whose share state exists, by topic",
    "deleting_topics" / BeforeRelease((4, 0), topics) * "topics whose share state is still to be deleted",
    "topics" / SinceRelease((4, 0), partition_metadata)
        * "partitions of the subscribed topics, to notice that they changed",
), flexible=0, releases=((3, 9),))
member_metadata_key: Final = Payload("ShareGroupMemberMetadataKey", member, versions=range(10, 11))
member_metadata_value: Final = Payload("ShareGroupMemberMetadataValue", Struct(
    "rack_id" / Nullable(ClientRack),
    "client_id" / ClientId,
    "client_host" / ClientHost,
    "subscribed_topic_names" / Array(TopicName) * "topics the member subscribes to",
), flexible=0)
metadata_key: Final = Payload("ShareGroupMetadataKey", group, versions=range(11, 12))
metadata_value: Final = Payload("ShareGroupMetadataValue", Struct(
    "epoch" / Int32 * "group epoch: goes up when members, subscriptions or the partitions of topics change",
    "metadata_hash" / SinceRelease((4, 1), Int64) * "hash over the subscribed topics, to notice that they changed",
), flexible=0, releases=((4, 0),))
target_metadata_key: Final = Payload("ShareGroupTargetAssignmentMetadataKey", group, versions=range(12, 13))
target_metadata_value: Final = Payload("ShareGroupTargetAssignmentMetadataValue", target, flexible=0)
target_member_key: Final = Payload("ShareGroupTargetAssignmentMemberKey", member, versions=range(13, 14))
target_member_value: Final = Payload("ShareGroupTargetAssignmentMemberValue", Struct(
    "topic_partitions" / partitions_by_topic * "partitions the member is meant to have, by topic",
), flexible=0)
current_key: Final = Payload("ShareGroupCurrentMemberAssignmentKey", member, versions=range(14, 15))
current_value: Final = Payload("ShareGroupCurrentMemberAssignmentValue", Struct(
    "member_epoch" / ReachedEpoch,
    "previous_member_epoch" / Int32 * "epoch before it, which the member may still send if it missed the last response",
    "state" / GroupMemberState,
    "assigned_partitions" / partitions_by_topic * "partitions the member has, by topic",
), flexible=0)
state_key: Final = Payload("ShareGroupStatePartitionMetadataKey", group, versions=range(15, 16))
state_value: Final = Payload("ShareGroupStatePartitionMetadataValue", Struct(
    "initializing_topics" / SinceRelease((4, 1), topics_with_partitions)
        * "partitions whose share state is being created, by topic",
    "initialized_topics" / topics_with_partitions * "partitions whose share state exists, by topic",
    "deleting_topics" / topics * "topics whose share state is still to be deleted",
), flexible=0, releases=((4, 0),))
