"""UnregisterBroker (key 64): removes a broker's registration from a KRaft cluster.

KIP-631.
"""

from ..wire import Api, Duration, ErrorCode, Int32, Nullable, String, Struct

request = Struct("broker_id" / Int32)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
)
api = Api(64, "UnregisterBroker", request, response, versions=range(1), flexible=0)
