"""CreateAcls (key 30): creates access rules.

KIP-140. v1 patterns of resource names (KIP-290), v3 users as resources (KIP-373).
"""

from ..wire import Api, Array, Default, ErrorCode, Nullable, Since, String, Struct
from .meanings import (
    AclOperation,
    AclPatternType,
    AclPermissionType,
    AclResourceType,
    ErrorMessage,
    ResourceName,
    ThrottleTime,
)

request = Struct(
    "creations" / Array(
        "resource_type" / AclResourceType,
        "resource_name" / ResourceName,
        "resource_pattern_type" / Since(1, Default(AclPatternType, 3)),
        "principal" / String,
        "host" / String,
        "operation" / AclOperation,
        "permission_type" / AclPermissionType,
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array("error_code" / ErrorCode, "error_message" / Nullable(ErrorMessage)),
)
api = Api(30, "CreateAcls", request, response, versions=range(4), flexible=2)
