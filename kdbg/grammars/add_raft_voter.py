"""AddRaftVoter (key 80): adds a voter to a KRaft quorum.

KIP-853. v1 chooses whether the answer waits until the change is committed.
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Nullable,
    Since,
    String,
    Struct,
)
from .meanings import ClusterId, ErrorMessage, Host, ThrottleTime, Timeout, UnsignedPort, VoterDirectoryId, VoterId

request = Struct(
    "cluster_id" / Nullable(ClusterId),
    "timeout_ms" / Timeout,
    "voter_id" / VoterId,
    "voter_directory_id" / VoterDirectoryId,
    "listeners" / Array(
        "name" / String,
        "host" / Host,
        "port" / UnsignedPort,
    ),
    "ack_when_committed" / Since(1, Default(Boolean, True)),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
)
api = Api(80, "AddRaftVoter", request, response, versions=range(2), flexible=0)
