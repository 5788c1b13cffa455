"""DescribeClientQuotas (key 48): the quotas of users, client ids and addresses.

KIP-546. Values are doubles (float64), the only ones of the protocol besides those of AlterClientQuotas.
"""

from ..wire import Api, Array, Boolean, Duration, ErrorCode, Float64, Nullable, String, Struct
from .meanings import QuotaMatchType

request = Struct(
    "components" / Array(
        "entity_type" / String,
        "match_type" / QuotaMatchType,
        "match" / Nullable(String),
    ),
    "strict" / Boolean,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
    "entries" / Nullable(Array(
        "entity" / Array("entity_type" / String, "entity_name" / Nullable(String)),
        "values" / Array("key" / String, "value" / Float64),
    )),
)
api = Api(48, "DescribeClientQuotas", request, response, versions=range(2), flexible=1)
