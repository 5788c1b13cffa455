"""ExpireDelegationToken (key 40): sets a new expiry for a delegation token, or ends it at once.

KIP-48. The token is named by its HMAC.
"""

from .meanings import *

request: Final = Struct(
    "hmac" / Secret(Bytes) * "secret of the token, which names it here",
    "expiry_time_period_ms" / Duration64
        * "milliseconds that the token shall live from now on; negative ends it at once",
)
response: Final = Struct(
    "error_code" / ErrorCode,
    "expiry_timestamp_ms" / Timestamp * "when the token ends, after the change",
    "throttle_time_ms" / ThrottleTime,
)
api: Final = Api(40, "ExpireDelegationToken", request, response, versions=range(3), flexible=2)
