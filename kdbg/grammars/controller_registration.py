"""ControllerRegistration (key 70): a KRaft controller registers its endpoints and features with the active one.

KIP-919.
"""

from ..wire import Api, Array, Boolean, ErrorCode, Nullable, String, Struct
from .meanings import (
    ControllerId,
    ErrorMessage,
    Host,
    IncarnationId,
    MaxSupportedVersion,
    MinSupportedVersion,
    SecurityProtocol,
    ThrottleTime,
    UnsignedPort,
)

request = Struct(
    "controller_id" / ControllerId,
    "incarnation_id" / IncarnationId,
    "zk_migration_ready" / Boolean,
    "listeners" / Array(
        "name" / String,
        "host" / Host,
        "port" / UnsignedPort,
        "security_protocol" / SecurityProtocol,
    ),
    "features" / Array(
        "name" / String,
        "min_supported_version" / MinSupportedVersion,
        "max_supported_version" / MaxSupportedVersion,
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
)
api = Api(70, "ControllerRegistration", request, response, versions=range(1), flexible=0)
