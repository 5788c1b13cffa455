"""ElectLeaders (key 43): elects the leaders of partitions anew.

KIP-183, at first for the preferred replica only. v1 adds the unclean election and a top-level error
(KIP-460).
"""

from ..wire import Api, Array, Default, ErrorCode, Nullable, Partition, Since, Struct, TopicName
from .meanings import ElectionType, ErrorMessage, Partitions, ThrottleTime, Timeout

request = Struct(
    "election_type" / Since(1, ElectionType),
    "topic_partitions" / Nullable(Array("topic" / TopicName, "partitions" / Partitions)),
    "timeout_ms" / Default(Timeout, 60000),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / Since(1, ErrorCode),
    "replica_election_results" / Array(
        "topic" / TopicName,
        "partition_result" / Array(
            "partition_id" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Nullable(ErrorMessage),
        ),
    ),
)
api = Api(43, "ElectLeaders", request, response, versions=range(3), flexible=2)
