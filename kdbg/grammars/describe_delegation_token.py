"""DescribeDelegationToken (key 41): the delegation tokens of given owners, or all the asker may see.

KIP-48. v3 tells who requested a token (KIP-373).
"""

from ..wire import Api, Array, Bytes, ErrorCode, Nullable, Secret, Since, String, Struct, Timestamp
from .meanings import PrincipalName, PrincipalType, ThrottleTime

request = Struct(
    "owners" / Nullable(Array("principal_type" / PrincipalType, "principal_name" / PrincipalName)),
)
response = Struct(
    "error_code" / ErrorCode,
    "tokens" / Array(
        "principal_type" / PrincipalType,
        "principal_name" / PrincipalName,
        "token_requester_principal_type" / Since(3, String),
        "token_requester_principal_name" / Since(3, String),
        "issue_timestamp" / Timestamp,
        "expiry_timestamp" / Timestamp,
        "max_timestamp" / Timestamp,
        "token_id" / String,
        "hmac" / Secret(Bytes),
        "renewers" / Array("principal_type" / PrincipalType, "principal_name" / PrincipalName),
    ),
    "throttle_time_ms" / ThrottleTime,
)
api = Api(41, "DescribeDelegationToken", request, response, versions=range(4), flexible=2)
