"""UpdateRaftVoter (key 82): a voter tells the leader of its KRaft quorum its new endpoints and versions.

KIP-853.
"""

from ..wire import Api, Array, Default, Duration, ErrorCode, Int16, Int32, Nullable, String, Struct, Tag, UInt16, Uuid

request = Struct(
    "cluster_id" / Nullable(String),
    "current_leader_epoch" / Int32,
    "voter_id" / Int32,
    "voter_directory_id" / Uuid,
    "listeners" / Array(
        "name" / String,
        "host" / String,
        "port" / UInt16,
    ),
    "kraft_version_feature" / Struct(
        "min_supported_version" / Int16,
        "max_supported_version" / Int16,
    ),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "current_leader" / Tag(0, Struct(
        "leader_id" / Default(Int32, -1),
        "leader_epoch" / Default(Int32, -1),
        "host" / String,
        "port" / Int32,
    )),
)
api = Api(82, "UpdateRaftVoter", request, response, versions=range(1), flexible=0)
