"""DescribeClientQuotas (key 48): the quotas of users, client ids and addresses.

KIP-546. Values are doubles (float64), the only ones of the protocol besides those of AlterClientQuotas.
"""

from ..wire import Api, Array, Boolean, ErrorCode, Float64, Nullable, String, Struct
from .meanings import EntityName, EntityType, ErrorMessage, QuotaMatchType, ThrottleTime

request = Struct(
    "components" / Array(
        "entity_type" / EntityType,
        "match_type" / QuotaMatchType,
        "match" / Nullable(String),
    ),
    "strict" / Boolean,
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "entries" / Nullable(Array(
        "entity" / Array("entity_type" / EntityType, "entity_name" / Nullable(EntityName)),
        "values" / Array("key" / String, "value" / Float64),
    )),
)
api = Api(48, "DescribeClientQuotas", request, response, versions=range(2), flexible=1)
