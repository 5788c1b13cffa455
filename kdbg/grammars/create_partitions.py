"""CreatePartitions (key 37): adds partitions to topics; `count` is the new total.

KIP-195. v3 quotas on such changes (KIP-599).
"""

from ..wire import Api, Array, Boolean, Default, Duration, ErrorCode, Int32, Nullable, String, Struct, TopicName

request = Struct(
    "topics" / Array(
        "name" / TopicName,
        "count" / Int32,
        "assignments" / Nullable(Array("broker_ids" / Array(Int32))),
    ),
    "timeout_ms" / Duration,
    "validate_only" / Boolean,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "results" / Array(
        "name" / TopicName,
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(String), None),
    ),
)
api = Api(37, "CreatePartitions", request, response, versions=range(4), flexible=2)
