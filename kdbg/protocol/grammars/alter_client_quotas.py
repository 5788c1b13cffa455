"""AlterClientQuotas (key 49): sets and removes quotas of users, client ids and addresses.

KIP-546.
"""

from .meanings import *

request: Final = Struct(
    "entries" / Array(
        "entity" / Array("entity_type" / EntityType, "entity_name" / Nullable(EntityName))
            * "entity of the quota: a user, a client id, both together, or an address",
        "ops" / Array(
            "key" / String * "name of the quota, such as producer_byte_rate or request_percentage",
            "value" / Float64
                * "the new limit in the quota's unit: bytes or connections or mutations per second, or percent",
            "remove" / Boolean * "true removes the quota, and the value is not looked at",
        ) * "quotas to set or to remove",
    ) * "the changes, one entry for each entity",
    "validate_only" / ValidateOnly,
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "entries" / Array(
        "error_code" / ErrorCode,
        "error_message" / Nullable(ErrorMessage),
        "entity" / Array("entity_type" / EntityType, "entity_name" / Nullable(EntityName))
            * "the entity, as the request named it",
    ) * "what became of the changes, entity by entity",
)
api: Final = Api(49, "AlterClientQuotas", request, response, versions=range(2), flexible=1)
