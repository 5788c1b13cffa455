"""CreatePartitions (key 37): adds partitions to topics; `count` is the new total.

KIP-195. v3 quotas on such changes (KIP-599).
"""

from .meanings import *

request: Final = Struct(
    "topics" / Array(
        "name" / TopicName,
        "count" / Int32 * "how many partitions the topic shall have in all, more than it has now",
        "assignments" / Nullable(Array(
            "broker_ids" / Array(Int32) * "replicas of one new partition, preferred leader first",
        )) * "brokers of each new partition; null lets the controller choose",
    ) * "topics to enlarge",
    "timeout_ms" / Timeout * "milliseconds to wait for the new partitions; they may come even if it runs out",
    "validate_only" / ValidateOnly,
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array(
        "name" / TopicName,
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(ErrorMessage), None),
    ) * "what became of each topic",
)
api: Final = Api(37, "CreatePartitions", request, response, versions=range(4), flexible=2)
