"""Records of the share coordinator in `__share_group_state`: how far a share group is with a partition (KIP-932).

A snapshot tells all of it, an update what has changed since; keys begin with 0 and 1. Kafka 4.0's preview had smaller
epochs and no times; 4.2 counts what was delivered for good (KIP-1226).
"""

from ...wire.language.payload import Payload
from ..meanings import *

key: Final = Struct("group_id" / GroupId, "topic_id" / TopicId, "partition" / Partition)
delivery_complete_count: Final = SinceRelease((4, 2), Tag(0, Default(Int32, -1)))
snapshot_key: Final = Payload("ShareSnapshotKey", key, versions=range(1))
snapshot_value: Final = Payload("ShareSnapshotValue", Struct(
    "snapshot_epoch" / BeforeRelease((4, 1), UInt16) * "number of this snapshot; updates that carry it belong to it",
    "snapshot_epoch" / SinceRelease((4, 1), Int32) * "number of this snapshot; updates that carry it belong to it",
    "state_epoch" / StateEpoch * "raised each time the state is initialized; writes with an older one are fenced",
    "leader_epoch" / LeaderEpoch * "leader epoch of the leader that wrote the state",
    "start_offset" / Int64 * "first record whose delivery is not finished; -1 means that the state is not initialized",
    "delivery_complete_count" / delivery_complete_count
        * "records from start_offset on that are finished already, for computing lag; -1 means unknown",
    "create_timestamp" / SinceRelease((4, 1), Timestamp) * "when the state was created, in ms since 1970",
    "write_timestamp" / SinceRelease((4, 1), Timestamp) * "when this snapshot was written, in ms since 1970",
    "state_batches" / StateBatches * "state of the records from start_offset on, in ranges",
), flexible=0, releases=((4, 0),))
update_key: Final = Payload("ShareUpdateKey", key, versions=range(1, 2))
update_value: Final = Payload("ShareUpdateValue", Struct(
    "snapshot_epoch" / BeforeRelease((4, 1), UInt16) * "snapshot that this update changes",
    "snapshot_epoch" / SinceRelease((4, 1), Int32) * "snapshot that this update changes",
    "leader_epoch" / LeaderEpoch * "leader epoch of the leader that wrote the state",
    "start_offset" / Int64 * "first record whose delivery is not finished; -1 means unchanged",
    "delivery_complete_count" / delivery_complete_count
        * "records from start_offset on that are finished already, for computing lag; -1 means unknown",
    "state_batches" / StateBatches * "ranges of records whose state has changed",
), flexible=0, releases=((4, 0),))
