"""CreateDelegationToken (key 38): creates a delegation token, a credential others can use in its owner's name.

KIP-48. v3 a token may be requested for another user (KIP-373).
"""

from ..wire import Api, Array, Bytes, ErrorCode, Nullable, Secret, Since, String, Struct, Timestamp
from .meanings import BrokerDefault, PrincipalName, PrincipalType, ThrottleTime

request = Struct(
    "owner_principal_type" / Since(3, Nullable(String)),
    "owner_principal_name" / Since(3, Nullable(String)),
    "renewers" / Array("principal_type" / PrincipalType, "principal_name" / PrincipalName),
    "max_lifetime_ms" / BrokerDefault,
)
response = Struct(
    "error_code" / ErrorCode,
    "principal_type" / PrincipalType,
    "principal_name" / PrincipalName,
    "token_requester_principal_type" / Since(3, String),
    "token_requester_principal_name" / Since(3, String),
    "issue_timestamp_ms" / Timestamp,
    "expiry_timestamp_ms" / Timestamp,
    "max_timestamp_ms" / Timestamp,
    "token_id" / String,
    "hmac" / Secret(Bytes),
    "throttle_time_ms" / ThrottleTime,
)
api = Api(38, "CreateDelegationToken", request, response, versions=range(4), flexible=2)
