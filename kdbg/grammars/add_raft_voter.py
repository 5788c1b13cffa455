"""AddRaftVoter (key 80): adds a voter to a KRaft quorum.

KIP-853. v1 chooses whether the answer waits until the change is committed.
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    Duration,
    ErrorCode,
    Int32,
    Nullable,
    Since,
    String,
    Struct,
    UInt16,
    Uuid,
)

request = Struct(
    "cluster_id" / Nullable(String),
    "timeout_ms" / Duration,
    "voter_id" / Int32,
    "voter_directory_id" / Uuid,
    "listeners" / Array(
        "name" / String,
        "host" / String,
        "port" / UInt16,
    ),
    "ack_when_committed" / Since(1, Default(Boolean, True)),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
)
api = Api(80, "AddRaftVoter", request, response, versions=range(2), flexible=0)
