"""ControllerRegistration (key 70): a KRaft controller registers its endpoints and features with the active one.

KIP-919.
"""

from ..wire import Api, Array, Boolean, Duration, ErrorCode, Int16, Int32, Nullable, String, Struct, UInt16, Uuid
from .meanings import SecurityProtocol

request = Struct(
    "controller_id" / Int32,
    "incarnation_id" / Uuid,
    "zk_migration_ready" / Boolean,
    "listeners" / Array(
        "name" / String,
        "host" / String,
        "port" / UInt16,
        "security_protocol" / SecurityProtocol,
    ),
    "features" / Array(
        "name" / String,
        "min_supported_version" / Int16,
        "max_supported_version" / Int16,
    ),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
)
api = Api(70, "ControllerRegistration", request, response, versions=range(1), flexible=0)
