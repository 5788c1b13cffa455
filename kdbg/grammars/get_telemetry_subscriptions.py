"""GetTelemetrySubscriptions (key 71): which metrics of itself a client should push, and how often.

KIP-714. The first request has an all-zero client instance id; the answer assigns one.
"""

from ..wire import Api, Array, Boolean, Duration, ErrorCode, Int32, String, Struct, Uuid
from .meanings import CompressionType, ThrottleTime

request = Struct("client_instance_id" / Uuid)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "client_instance_id" / Uuid,
    "subscription_id" / Int32,
    "accepted_compression_types" / Array(CompressionType),
    "push_interval_ms" / Duration,
    "telemetry_max_bytes" / Int32,
    "delta_temporality" / Boolean,
    "requested_metrics" / Array(String),
)
api = Api(71, "GetTelemetrySubscriptions", request, response, versions=range(1), flexible=0)
