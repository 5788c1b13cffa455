"""DeleteAcls (key 31): deletes the ACLs that match filters, and returns them.

KIP-140. v1 patterns of resource names (KIP-290), v3 users as resources (KIP-373).
"""

from .meanings import *

request: Final = Struct(
    "filters" / Array(
        "resource_type_filter" / AclResourceType,
        "resource_name_filter" / Nullable(String) * "name of that resource; null matches every name",
        "pattern_type_filter" / Since(1, Default(AclPatternType, 3))
            * "form of the name; MATCH finds all rules that apply to it, ANY every form",
        "principal_filter" / Nullable(String) * "principal of the rules, such as User:alice; null matches any",
        "host_filter" / Nullable(String)
            * "address the rules are for; null matches any, * only rules for every address",
        "operation" / AclOperation,
        "permission_type" / AclPermissionType,
    ) * "each deletes all rules that match it",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "filter_results" / Array(
        "error_code" / ErrorCode * "error of the filter; ACLs have their own error codes",
        "error_message" / Nullable(ErrorMessage),
        "matching_acls" / Array(
            "error_code" / ErrorCode * "0 when the rule was deleted, else why it was not",
            "error_message" / Nullable(ErrorMessage),
            "resource_type" / AclResourceType,
            "resource_name" / ResourceName * "name of the resource, or the start of its name with PREFIXED",
            "pattern_type" / Since(1, Default(AclPatternType, 3)),
            "principal" / String * "principal of the rule, such as User:alice",
            "host" / String * "address the rule was for; * is every address",
            "operation" / AclOperation,
            "permission_type" / AclPermissionType,
        ) * "rules that matched",
    ) * "what each filter deleted, in the order of the request",
)
api: Final = Api(31, "DeleteAcls", request, response, versions=range(4), flexible=2)
