"""RemoveRaftVoter (key 81): removes a voter from a KRaft quorum.

KIP-853.
"""

from .meanings import *

request: Final = Struct(
    "cluster_id" / Nullable(TargetClusterId),
    "voter_id" / VoterId * "node id of the voter to remove",
    "voter_directory_id" / VoterDirectoryId
        * "metadata directory of that voter; a replacement with the same id has another one",
)
response: Final = ErrorResponse
api: Final = Api(81, "RemoveRaftVoter", request, response, versions=range(1), flexible=0)
