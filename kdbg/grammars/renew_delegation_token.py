"""RenewDelegationToken (key 39): puts off the expiry of a delegation token.

KIP-48. The token is named by its HMAC.
"""

from ..wire import Api, Bytes, ErrorCode, Secret, Struct, Timestamp
from .meanings import BrokerDefault, ThrottleTime

request = Struct("hmac" / Secret(Bytes), "renew_period_ms" / BrokerDefault)
response = Struct(
    "error_code" / ErrorCode,
    "expiry_timestamp_ms" / Timestamp,
    "throttle_time_ms" / ThrottleTime,
)
api = Api(39, "RenewDelegationToken", request, response, versions=range(3), flexible=2)
