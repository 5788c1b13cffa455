"""FindCoordinator (key 10): the broker that coordinates a consumer group, a transactional id or a share group.

"Consumer Metadata Request" in the 0.8 guide, GroupCoordinator in Kafka 0.10.1. v1 has a key type, which lets
transactions ask too (KIP-98), v4 many keys at once (KIP-699), v5 TRANSACTION_ABORTABLE (KIP-890), v6 share
groups (KIP-932).
"""

from .meanings import *

request: Final = Struct(
    "key" / Until(3, String) * "the consumer group or transactional id whose coordinator is looked for",
    "key_type" / Since(1, CoordinatorKeyType),
    "coordinator_keys" / Since(4, Array(String))
        * "keys whose coordinators are looked for; for share groups group:topicId:partition",
)
response: Final = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "coordinators" / Since(4, Array(
        "key" / String * "the key, as the request named it",
        "node_id" / NodeId * "the broker that coordinates; -1 on error",
        "host" / Host * "name or address to reach it at; empty on error",
        "port" / Port * "its port; -1 on error",
        "error_code" / ErrorCode * "COORDINATOR_NOT_AVAILABLE while its internal topic is not ready",
        "error_message" / Nullable(ErrorMessage),
    )) * "one coordinator for each key",
    "error_code" / Until(3, ErrorCode) * "COORDINATOR_NOT_AVAILABLE while its internal topic is not ready",
    "error_message" / Between(1, 3, Ignorable(Nullable(ErrorMessage))),
    "node_id" / Until(3, NodeId) * "the broker that coordinates; -1 on error",
    "host" / Until(3, Host) * "name or address to reach it at; empty on error",
    "port" / Until(3, Port) * "its port; -1 on error",
)
error_only: Final = Dialect(
    "response", range(1), "a response with an error code but no coordinator, as the 0.8 guide allows",
    Struct("error_code" / ErrorCode), unless=("error_code", 0),
)  # fmt: skip
api: Final = Api(10, "FindCoordinator", request, response, versions=range(7), flexible=3, dialects=(error_only,))
