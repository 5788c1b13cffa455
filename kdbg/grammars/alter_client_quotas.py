"""AlterClientQuotas (key 49): sets and removes quotas of users, client ids and addresses.

KIP-546.
"""

from ..wire import Api, Array, Boolean, Duration, ErrorCode, Float64, Nullable, String, Struct

request = Struct(
    "entries" / Array(
        "entity" / Array("entity_type" / String, "entity_name" / Nullable(String)),
        "ops" / Array(
            "key" / String,
            "value" / Float64,
            "remove" / Boolean,
        ),
    ),
    "validate_only" / Boolean,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "entries" / Array(
        "error_code" / ErrorCode,
        "error_message" / Nullable(String),
        "entity" / Array("entity_type" / String, "entity_name" / Nullable(String)),
    ),
)
api = Api(49, "AlterClientQuotas", request, response, versions=range(2), flexible=1)
