"""RenewDelegationToken (key 39): puts off the expiry of a delegation token.

KIP-48. The token is named by its HMAC.
"""

from .meanings import *

request: Final = Struct(
    "hmac" / Secret(Bytes) * "secret of the token, which also identifies it",
    "renew_period_ms" / BrokerDefault
        * "how long the token shall be valid from now on, in ms; -1 means the broker's default",
)
response: Final = Struct(
    "error_code" / ErrorCode,
    "expiry_timestamp_ms" / Timestamp * "when the token now expires, in ms since 1970; at most its maximum lifetime",
    "throttle_time_ms" / ThrottleTime,
)
api: Final = Api(39, "RenewDelegationToken", request, response, versions=range(3), flexible=2)
