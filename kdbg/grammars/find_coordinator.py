"""FindCoordinator (key 10): the broker that coordinates a consumer group, a transactional id or a share group.

"Consumer Metadata Request" in the 0.8 guide, GroupCoordinator in Kafka 0.10.1. v1 has a key type, which lets
transactions ask too (KIP-98), v4 many keys at once (KIP-699), v5 TRANSACTION_ABORTABLE (KIP-890), v6 share
groups (KIP-932).
"""

from ..wire import Api, Array, Between, Duration, ErrorCode, Ignorable, Int32, Nullable, Since, String, Struct, Until
from .meanings import CoordinatorKeyType

request = Struct(
    "key" / Until(3, String),
    "key_type" / Since(1, CoordinatorKeyType),
    "coordinator_keys" / Since(4, Array(String)),
)
response = Struct(
    "throttle_time_ms" / Since(1, Ignorable(Duration)),
    "coordinators" / Since(4, Array(
        "key" / String,
        "node_id" / Int32,
        "host" / String,
        "port" / Int32,
        "error_code" / ErrorCode,
        "error_message" / Nullable(String),
    )),
    "error_code" / Until(3, ErrorCode),
    "error_message" / Between(1, 3, Ignorable(Nullable(String))),
    "node_id" / Until(3, Int32),
    "host" / Until(3, String),
    "port" / Until(3, Int32),
)
api = Api(10, "FindCoordinator", request, response, versions=range(7), flexible=3)
