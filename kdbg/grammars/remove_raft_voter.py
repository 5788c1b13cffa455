"""RemoveRaftVoter (key 81): removes a voter from a KRaft quorum.

KIP-853.
"""

from ..wire import Api, ErrorCode, Nullable, Struct
from .meanings import ErrorMessage, TargetClusterId, ThrottleTime, VoterDirectoryId, VoterId

request = Struct(
    "cluster_id" / Nullable(TargetClusterId),
    "voter_id" / VoterId * "node id of the voter to remove",
    "voter_directory_id" / VoterDirectoryId
        * "metadata directory of that voter, which tells it from a replacement with the same id",
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
)
api = Api(81, "RemoveRaftVoter", request, response, versions=range(1), flexible=0)
