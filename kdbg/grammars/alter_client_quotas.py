"""AlterClientQuotas (key 49): sets and removes quotas of users, client ids and addresses.

KIP-546.
"""

from ..wire import Api, Array, Boolean, ErrorCode, Float64, Nullable, String, Struct
from .meanings import EntityName, EntityType, ErrorMessage, ThrottleTime, ValidateOnly

request = Struct(
    "entries" / Array(
        "entity" / Array("entity_type" / EntityType, "entity_name" / Nullable(EntityName)),
        "ops" / Array(
            "key" / String,
            "value" / Float64,
            "remove" / Boolean,
        ),
    ),
    "validate_only" / ValidateOnly,
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "entries" / Array(
        "error_code" / ErrorCode,
        "error_message" / Nullable(ErrorMessage),
        "entity" / Array("entity_type" / EntityType, "entity_name" / Nullable(EntityName)),
    ),
)
api = Api(49, "AlterClientQuotas", request, response, versions=range(2), flexible=1)
