"""RemoveRaftVoter (key 81): removes a voter from a KRaft quorum.

KIP-853.
"""

from ..wire import Api, Duration, ErrorCode, Int32, Nullable, String, Struct, Uuid

request = Struct(
    "cluster_id" / Nullable(String),
    "voter_id" / Int32,
    "voter_directory_id" / Uuid,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
)
api = Api(81, "RemoveRaftVoter", request, response, versions=range(1), flexible=0)
