"""Records of the share coordinator in `__share_group_state`: how far a share group is with a partition (KIP-932).

A snapshot tells all of it, an update what has changed since; keys begin with 0 and 1. Kafka 4.0's preview had smaller
epochs and no times; 4.2 counts what was delivered for good (KIP-1226).
"""

from ...wire import (
    Array,
    BeforeRelease,
    Default,
    GroupId,
    Int32,
    Int64,
    Partition,
    SinceRelease,
    Struct,
    Tag,
    Timestamp,
    TopicId,
    UInt16,
)
from ...wire.language.payload import Payload
from ..meanings import DeliveryCount, LeaderEpoch, ShareDeliveryState, StateEpoch

key = Struct("group_id" / GroupId, "topic_id" / TopicId, "partition" / Partition)
delivery_complete_count = SinceRelease((4, 2), Tag(0, Default(Int32, -1)))
state_batches = Array(
    "first_offset" / Int64,
    "last_offset" / Int64,
    "delivery_state" / ShareDeliveryState,
    "delivery_count" / DeliveryCount,
)
snapshot_key = Payload("ShareSnapshotKey", key, versions=range(1))
snapshot_value = Payload("ShareSnapshotValue", Struct(
    "snapshot_epoch" / BeforeRelease((4, 1), UInt16),
    "snapshot_epoch" / SinceRelease((4, 1), Int32),
    "state_epoch" / StateEpoch,
    "leader_epoch" / LeaderEpoch,
    "start_offset" / Int64,
    "delivery_complete_count" / delivery_complete_count,
    "create_timestamp" / SinceRelease((4, 1), Timestamp),
    "write_timestamp" / SinceRelease((4, 1), Timestamp),
    "state_batches" / state_batches,
), flexible=0, releases=((4, 0),))
update_key = Payload("ShareUpdateKey", key, versions=range(1, 2))
update_value = Payload("ShareUpdateValue", Struct(
    "snapshot_epoch" / BeforeRelease((4, 1), UInt16),
    "snapshot_epoch" / SinceRelease((4, 1), Int32),
    "leader_epoch" / LeaderEpoch,
    "start_offset" / Int64,
    "delivery_complete_count" / delivery_complete_count,
    "state_batches" / state_batches,
), flexible=0, releases=((4, 0),))
