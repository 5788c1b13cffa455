"""Control records: those that brokers write into a log themselves, in batches marked so; consumers never see them.

The ends of transactions (KIP-98), and in the log of a KRaft quorum a new leader (KIP-595), the two ends of a snapshot
(KIP-630), the KRaft version and the voters (KIP-853). LeaderChangeMessage v1 tells the voters' directories.
"""

from ...wire import Array, Enum, Int16, Int32, Since, SinceRelease, String, Struct, Timestamp
from ...wire.language.payload import Payload
from ...wire.records.sets import CONTROL_TYPES
from ..meanings import Host, LeaderId, MaxSupportedVersion, MinSupportedVersion, UnsignedPort, VoterDirectoryId, VoterId

key = Payload("ControlRecordKey", Struct("type" / Enum(Int16, CONTROL_TYPES)))

end_txn_marker = Payload("EndTxnMarker", Struct("coordinator_epoch" / Int32))

voter = Struct("voter_id" / VoterId, "voter_directory_id" / Since(1, VoterDirectoryId))
leader_change = Payload("LeaderChangeMessage", Struct(
    "version" / SinceRelease((3, 0), Int16),
    "leader_id" / LeaderId,
    "voters" / Array(voter),
    "granting_voters" / SinceRelease((2, 8), Array(voter)),
), versions=range(2), flexible=0, frame=(), releases=((2, 8), (2, 7)))
snapshot_header = Payload("SnapshotHeaderRecord", Struct(
    "version" / Int16,
    "last_contained_log_timestamp" / Timestamp,
), flexible=0, frame=())
snapshot_footer = Payload("SnapshotFooterRecord", Struct("version" / Int16), flexible=0, frame=())
kraft_version = Payload("KRaftVersionRecord", Struct(
    "version" / Int16,
    "kraft_version" / Int16,
), flexible=0, frame=())
voters = Payload("VotersRecord", Struct(
    "version" / Int16,
    "voters" / Array(
        "voter_id" / VoterId,
        "voter_directory_id" / VoterDirectoryId,
        "endpoints" / Array("name" / String, "host" / Host, "port" / UnsignedPort),
        "kraft_version_feature" / Struct(
            "min_supported_version" / MinSupportedVersion,
            "max_supported_version" / MaxSupportedVersion,
        ),
    ),
), flexible=0, frame=())
