"""DescribeClientQuotas (key 48): the quotas of users, client ids and addresses.

KIP-546. Values are doubles (float64), the only ones of the protocol besides those of AlterClientQuotas.
"""

from .meanings import *

request: Final = Struct(
    "components" / Array(
        "entity_type" / EntityType,
        "match_type" / QuotaMatchType,
        "match" / Nullable(String) * "the name with EXACT; null otherwise",
    ) * "entities to describe; empty with strict false means all",
    "strict" / Boolean * "true leaves out entities with more components than the requested ones",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "entries" / Nullable(Array(
        "entity" / Array("entity_type" / EntityType, "entity_name" / Nullable(EntityName))
            * "entity of the quotas: a user, a client id, both together, or an address",
        "values" / Array(
            "key" / String * "name of the quota, such as producer_byte_rate or request_percentage",
            "value" / Float64
                * "the limit in the quota's unit: bytes or connections or mutations per second, or percent",
        ) * "quotas of that entity",
    )) * "the quotas found, entity by entity; null on error",
)
api: Final = Api(48, "DescribeClientQuotas", request, response, versions=range(2), flexible=1)
