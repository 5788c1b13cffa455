"""AddRaftVoter (key 80): adds a voter to a KRaft quorum.

KIP-853. v1 chooses whether the answer waits until the change is committed.
"""

from .meanings import *

request: Final = Struct(
    "cluster_id" / Nullable(TargetClusterId),
    "timeout_ms" / Timeout * "milliseconds that the leader may take to add the voter",
    "voter_id" / VoterId * "node id of the controller that becomes a voter",
    "voter_directory_id" / VoterDirectoryId
        * "id of that controller's metadata directory; a replaced disk has another one",
    "listeners" / ListenerEndpoints * "where the other controllers reach the new voter",
    "ack_when_committed" / Since(1, Default(Boolean, True))
        * "true: the response follows the commit of the new voters; false: their write by the leader",
)
response: Final = ErrorResponse
api: Final = Api(80, "AddRaftVoter", request, response, versions=range(2), flexible=0)
