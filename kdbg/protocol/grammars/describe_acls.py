"""DescribeAcls (key 29): the access rules that match a filter.

KIP-140. v1 patterns of resource names (KIP-290), v3 users as resources (KIP-373).
"""

from .meanings import *

request: Final = Struct(
    "resource_type_filter" / AclResourceType,
    "resource_name_filter" / Nullable(String) * "name of that resource; null matches every name",
    "pattern_type_filter" / Since(1, Default(AclPatternType, 3))
        * "form of the name; MATCH finds all rules that apply to it, ANY every form",
    "principal_filter" / Nullable(String) * "principal of the rules, such as User:alice; null matches any",
    "host_filter" / Nullable(String) * "address the rules are for; null matches any, * only rules for every address",
    "operation" / AclOperation,
    "permission_type" / AclPermissionType,
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "resources" / Array(
        "resource_type" / AclResourceType,
        "resource_name" / ResourceName
            * "name of the resource, or the start of its name with PREFIXED; * with LITERAL is all of them",
        "pattern_type" / Since(1, Default(AclPatternType, 3)),
        "acls" / Array(
            "principal" / String * "principal of the rule, such as User:alice; User:* is every user",
            "host" / String * "address the rule is for; * is every address",
            "operation" / AclOperation,
            "permission_type" / AclPermissionType,
        ) * "rules for that resource",
    ) * "the rules found, by what they guard",
)
api: Final = Api(29, "DescribeAcls", request, response, versions=range(4), flexible=2)
