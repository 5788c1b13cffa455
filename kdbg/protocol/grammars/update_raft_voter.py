"""UpdateRaftVoter (key 82): a voter sends the leader of its KRaft quorum its new endpoints and versions.

KIP-853.
"""

from .meanings import *

request: Final = Struct(
    "cluster_id" / Nullable(TargetClusterId),
    "current_leader_epoch" / Int32 * "leader epoch of the quorum that the voter knows; -1 means unknown",
    "voter_id" / VoterId * "node id of the voter that sends this",
    "voter_directory_id" / VoterDirectoryId,
    "listeners" / ListenerEndpoints * "addresses the voter can now be reached at",
    "kraft_version_feature" / Struct(
        "min_supported_version" / MinSupportedVersion,
        "max_supported_version" / MaxSupportedVersion,
    ) * "levels of kraft.version that the voter supports",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "current_leader" / Tag(0, Struct(
        "leader_id" / Default(LeaderId, -1),
        "leader_epoch" / Default(LeaderEpoch, -1),
        "host" / Host,
        "port" / Port,
    )) * "leader of the quorum, to send to instead",
)
api: Final = Api(82, "UpdateRaftVoter", request, response, versions=range(1), flexible=0)
