"""Records of classic groups in `__consumer_offsets`: the offsets they have committed, and their members.

Keys begin with 0 or 1 for an offset, 2 for a group; a null value deletes. Offsets: only v1 of the value has an expiry
of its own (KIP-211), v3 the leader epoch (KIP-320), v4 is flexible, since Kafka 4.1 with the topic's id. Groups: v1 the
rebalance timeout (KIP-62), v2 when the state began (KIP-211), v3 static members (KIP-345), v4 is flexible.
"""

from ...wire.language.payload import Payload
from ..meanings import *
from . import assignment, subscription

offset_commit_key: Final = Payload("OffsetCommitKey", Struct(
    "group" / GroupId,
    "topic" / TopicName,
    "partition" / Partition,
), versions=range(2))
offset_commit_value: Final = Payload("OffsetCommitValue", Struct(
    "offset" / Int64 * "next record the group will read",
    "leader_epoch" / Since(3, Ignorable(Default(LeaderEpoch, -1)))
        * "leader epoch of the last record that was processed; -1 means unknown",
    "metadata" / String * "free text that was committed with the offset",
    "commit_timestamp" / Timestamp * "when it was committed, in ms since 1970",
    "expire_timestamp" / Only(1, Ignorable(Default(Timestamp, -1)))
        * "when the offset may be deleted, in ms since 1970; -1 means by the broker's offsets.retention.minutes",
    "topic_id" / SinceRelease((4, 1), Ignorable(Tag(0, TopicId))),
), versions=range(5), flexible=4)
group_metadata_key: Final = Payload("GroupMetadataKey", Struct("group" / GroupId), versions=range(2, 3))
group_metadata_value: Final = Payload("GroupMetadataValue", Struct(
    "protocol_type" / ProtocolType * "kind of group, such as consumer or connect; empty if it only stores offsets",
    "generation" / Int32 * "goes up with each rebalance",
    "protocol" / Nullable(String) * "assignor the group uses; null if it has no members",
    "leader" / Nullable(String) * "member id of the member that assigns; null if there are no members",
    "current_state_timestamp" / Since(2, Ignorable(Default(Timestamp, -1)))
        * "when the group entered its state, in ms since 1970; -1 means unknown",
    "members" / Array(
        "member_id" / MemberId,
        "group_instance_id" / Since(3, Ignorable(Default(Nullable(GroupInstanceId), None))),
        "client_id" / ClientId,
        "client_host" / ClientHost,
        "rebalance_timeout" / Since(1, Ignorable(Default(Duration, -1)))
            * "how long the member may take to rejoin in a rebalance, in ms; -1 means as session_timeout",
        "session_timeout" / Duration * "time without a heartbeat after which the member is removed, in ms",
        "subscription" / Holds(Bytes, subscription)
            * "what the member joined with; its format depends on the protocol type",
        "assignment" / Holds(Bytes, assignment) * "what the member is to do; its format depends on the protocol type",
    ) * "members of the group; none if they have all left",
), versions=range(5), flexible=4)
