"""DescribeAcls (key 29): the access rules that match a filter.

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
    "resource_type_filter" / AclResourceType,
    "resource_name_filter" / Nullable(String),
    "pattern_type_filter" / Since(1, Default(AclPatternType, 3)),
    "principal_filter" / Nullable(String),
    "host_filter" / Nullable(String),
    "operation" / AclOperation,
    "permission_type" / AclPermissionType,
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "resources" / Array(
        "resource_type" / AclResourceType,
        "resource_name" / ResourceName,
        "pattern_type" / Since(1, Default(AclPatternType, 3)),
        "acls" / Array(
            "principal" / String,
            "host" / String,
            "operation" / AclOperation,
            "permission_type" / AclPermissionType,
        ),
    ),
)
api = Api(29, "DescribeAcls", request, response, versions=range(4), flexible=2)
