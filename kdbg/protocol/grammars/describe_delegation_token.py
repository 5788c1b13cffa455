"""DescribeDelegationToken (key 41): the delegation tokens of given owners, or all the asker may see.

KIP-48. v3 tells who requested a token (KIP-373).
"""

from .meanings import *

request: Final = Struct(
    "owners" / Nullable(Array(
        "principal_type" / PrincipalType * "type of the owner, such as User",
        "principal_name" / PrincipalName * "name of the owner",
    )) * "owners of the requested tokens; null means all that the client may see",
)
response: Final = Struct(
    "error_code" / ErrorCode,
    "tokens" / Array(
        "principal_type" / PrincipalType * "type of the token's owner, such as User",
        "principal_name" / PrincipalName * "name of the token's owner",
        "token_requester_principal_type" / Since(3, String) * "type of the requesting principal, such as User",
        "token_requester_principal_name" / Since(3, String) * "requesting principal, maybe for another one",
        "issue_timestamp" / Timestamp * "when the token was made",
        "expiry_timestamp" / Timestamp * "when the token ends unless it is renewed",
        "max_timestamp" / Timestamp * "when the token ends even if it is renewed",
        "token_id" / String * "public name of the token: the user name of a login with it",
        "hmac" / Secret(Bytes) * "secret of the token: in base64 the password of a login with it",
        "renewers" / TokenRenewers * "who may renew the token besides its owner",
    ) * "the tokens found, with their secrets",
    "throttle_time_ms" / ThrottleTime,
)
api: Final = Api(41, "DescribeDelegationToken", request, response, versions=range(4), flexible=2)
