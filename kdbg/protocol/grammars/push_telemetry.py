"""PushTelemetry (key 72): a client pushes metrics of itself to a broker.

KIP-714. The metrics are OpenTelemetry's MetricsData (protobuf), perhaps compressed.
"""

from .meanings import *
from .payloads.telemetry import metrics

request: Final = Struct(
    "client_instance_id" / Uuid * "id of this client instance, from GetTelemetrySubscriptions",
    "subscription_id" / Int32
        * "subscription of these metrics; an outdated one fails with UNKNOWN_SUBSCRIPTION_ID",
    "terminating" / Boolean * "true for the last push of a closing client, which need not wait for the push interval",
    "compression_type" / CompressionType * "codec of the metrics, one that the broker accepts",
    "metrics" / Holds(Bytes, metrics)
        * "the metrics: MetricsData of OpenTelemetry in protobuf, compressed with that codec",
)
response: Final = Struct("throttle_time_ms" / ThrottleTime, "error_code" / ErrorCode)
api: Final = Api(72, "PushTelemetry", request, response, versions=range(1), flexible=0)
