"""UpdateRaftVoter (key 82): a voter tells the leader of its KRaft quorum its new endpoints and versions.

KIP-853.
"""

from ..wire import Api, Array, Default, ErrorCode, Int32, Nullable, String, Struct, Tag
from .meanings import (
    ClusterId,
    Host,
    LeaderEpoch,
    LeaderId,
    MaxSupportedVersion,
    MinSupportedVersion,
    Port,
    ThrottleTime,
    UnsignedPort,
    VoterDirectoryId,
    VoterId,
)

request = Struct(
    "cluster_id" / Nullable(ClusterId),
    "current_leader_epoch" / Int32,
    "voter_id" / VoterId,
    "voter_directory_id" / VoterDirectoryId,
    "listeners" / Array(
        "name" / String,
        "host" / Host,
        "port" / UnsignedPort,
    ),
    "kraft_version_feature" / Struct(
        "min_supported_version" / MinSupportedVersion,
        "max_supported_version" / MaxSupportedVersion,
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "current_leader" / Tag(0, Struct(
        "leader_id" / Default(LeaderId, -1),
        "leader_epoch" / Default(LeaderEpoch, -1),
        "host" / Host,
        "port" / Port,
    )),
)
api = Api(82, "UpdateRaftVoter", request, response, versions=range(1), flexible=0)
