"""PushTelemetry (key 72): a client pushes metrics of itself to a broker.

KIP-714. The metrics are OpenTelemetry's MetricsData (protobuf), perhaps compressed.
"""

from ..wire import Api, Boolean, Bytes, ErrorCode, Holds, Int32, Struct, Uuid
from .meanings import CompressionType, ThrottleTime
from .payloads.telemetry import metrics

request = Struct(
    "client_instance_id" / Uuid,
    "subscription_id" / Int32,
    "terminating" / Boolean,
    "compression_type" / CompressionType,
    "metrics" / Holds(Bytes, metrics),
)
response = Struct("throttle_time_ms" / ThrottleTime, "error_code" / ErrorCode)
api = Api(72, "PushTelemetry", request, response, versions=range(1), flexible=0)
