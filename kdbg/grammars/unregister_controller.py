"""UnregisterController (key 94): takes a KRaft controller that is gone for good out of the cluster's metadata.

Since Kafka 4.4; the counterpart of UnregisterBroker.
"""

from ..wire import Api, Duration, ErrorCode, Int32, Nullable, String, Struct

request = Struct("controller_id" / Int32)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
)
api = Api(94, "UnregisterController", request, response, versions=range(1), flexible=0)
