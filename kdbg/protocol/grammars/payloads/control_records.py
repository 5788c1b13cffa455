"""Control records: those that brokers write into a log themselves, in batches marked so; consumers never see them.

The ends of transactions (KIP-98), and in the log of a KRaft quorum a new leader (KIP-595), the two ends of a snapshot
(KIP-630), the KRaft version and the voters (KIP-853). LeaderChangeMessage v1 tells the voters' directories.
"""

from ...wire.language.payload import Payload
from ...wire.records.sets import CONTROL_TYPES
from ..meanings import *

key: Final = Payload("ControlRecordKey", Struct(
    "type" / Enum(Int16, CONTROL_TYPES) * "kind of control record",
))

end_txn_marker: Final = Payload("EndTxnMarker", Struct(
    "coordinator_epoch" / Int32 * "epoch of the transaction coordinator; markers with an older one are refused",
))

voter: Final = Struct("voter_id" / VoterId, "voter_directory_id" / Since(1, VoterDirectoryId))
leader_change: Final = Payload("LeaderChangeMessage", Struct(
    "version" / SinceRelease((3, 0), Int16) * "version of the record's layout",
    "leader_id" / LeaderId * "node that has become leader of the quorum",
    "voters" / Array(voter) * "all voters of the quorum",
    "granting_voters" / SinceRelease((2, 8), Array(voter)) * "voters that elected the leader",
), versions=range(2), flexible=0, frame=(), releases=((2, 8), (2, 7)))
snapshot_header: Final = Payload("SnapshotHeaderRecord", Struct(
    "version" / Int16 * "version of the record's layout",
    "last_contained_log_timestamp" / Timestamp
        * "when the last record that the snapshot covers was appended, in ms since 1970",
), flexible=0, frame=())
snapshot_footer: Final = Payload("SnapshotFooterRecord", Struct(
    "version" / Int16 * "version of the record's layout",
), flexible=0, frame=())
kraft_version: Final = Payload("KRaftVersionRecord", Struct(
    "version" / Int16 * "version of the record's layout",
    "kraft_version" / Int16 * "level of kraft.version from here on: 0 with fixed voters, 1 with voters that can change",
), flexible=0, frame=())
voters: Final = Payload("VotersRecord", Struct(
    "version" / Int16 * "version of the record's layout",
    "voters" / Array(
        "voter_id" / VoterId,
        "voter_directory_id" / VoterDirectoryId,
        "endpoints" / ListenerEndpoints * "addresses of the voter, one per listener",
        "kraft_version_feature" / Struct(
            "min_supported_version" / MinSupportedVersion,
            "max_supported_version" / MaxSupportedVersion,
        ) * "levels of kraft.version that the voter supports",
    ) * "all voters of the quorum from here on",
), flexible=0, frame=())
