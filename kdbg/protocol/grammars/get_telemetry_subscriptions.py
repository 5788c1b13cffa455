"""GetTelemetrySubscriptions (key 71): which metrics of itself a client should push, and how often.

KIP-714. The first request has an all-zero client instance id; the answer assigns one.
"""

from .meanings import *

request: Final = Struct(
    "client_instance_id" / Uuid * "id from an earlier response; all zeros requests one",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "client_instance_id" / Uuid * "the client's new id; all zeros when it has one already",
    "subscription_id" / Int32 * "number of this set of subscriptions, to be named in each push",
    "accepted_compression_types" / Array(CompressionType) * "codecs that a push may use, best first",
    "push_interval_ms" / Duration * "milliseconds to wait between pushes",
    "telemetry_max_bytes" / Int32 * "most bytes of metrics that one push may have",
    "delta_temporality" / Boolean
        * "true: counters as increase since the last push; false: as total since the start",
    "requested_metrics" / Array(String)
        * "prefixes of requested metric names; empty means none, one empty string all",
)
api: Final = Api(71, "GetTelemetrySubscriptions", request, response, versions=range(1), flexible=0)
