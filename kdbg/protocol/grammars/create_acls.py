"""CreateAcls (key 30): creates access rules.

KIP-140. v1 patterns of resource names (KIP-290), v3 users as resources (KIP-373).
"""

from .meanings import *

request: Final = Struct(
    "creations" / Array(
        "resource_type" / AclResourceType,
        "resource_name" / ResourceName
            * "name of the resource, or the start of its name with PREFIXED; * with LITERAL is all of them",
        "resource_pattern_type" / Since(1, Default(AclPatternType, 3)),
        "principal" / String * "principal of the rule, such as User:alice; User:* is every user",
        "host" / String * "address the rule is for; * is every address",
        "operation" / AclOperation,
        "permission_type" / AclPermissionType,
    ) * "rules to create",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array("error_code" / ErrorCode, "error_message" / Nullable(ErrorMessage))
        * "what became of each rule, in the order of the request",
)
api: Final = Api(30, "CreateAcls", request, response, versions=range(4), flexible=2)
