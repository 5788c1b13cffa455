"""CreateDelegationToken (key 38): creates a delegation token, a credential others can use in its owner's name.

KIP-48. v3 a token may be requested for another user (KIP-373).
"""

from .meanings import *

request: Final = Struct(
    "owner_principal_type" / Since(3, Nullable(String))
        * "type of the owner, such as User; null makes the sender the owner",
    "owner_principal_name" / Since(3, Nullable(String))
        * "in whose name the token logs in; null makes the sender the owner",
    "renewers" / TokenRenewers * "who may renew the token besides its owner",
    "max_lifetime_ms" / BrokerDefault
        * "milliseconds that renewing can keep the token alive; -1 takes the broker's limit",
)
response: Final = Struct(
    "error_code" / ErrorCode,
    "principal_type" / PrincipalType * "type of the token's owner, such as User",
    "principal_name" / PrincipalName * "name of the token's owner",
    "token_requester_principal_type" / Since(3, String) * "type of the requesting principal, such as User",
    "token_requester_principal_name" / Since(3, String) * "requesting principal, maybe for another one",
    "issue_timestamp_ms" / Timestamp * "when the token was made",
    "expiry_timestamp_ms" / Timestamp * "when the token ends unless it is renewed",
    "max_timestamp_ms" / Timestamp * "when the token ends even if it is renewed",
    "token_id" / String * "public name of the token: the user name of a login with it",
    "hmac" / Secret(Bytes) * "secret of the token: in base64 the password of a login with it",
    "throttle_time_ms" / ThrottleTime,
)
api: Final = Api(38, "CreateDelegationToken", request, response, versions=range(4), flexible=2)
