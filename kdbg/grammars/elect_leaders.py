"""ElectLeaders (key 43): elects the leaders of partitions anew.

KIP-183, at first for the preferred replica only. v1 adds the unclean election and a top-level error
(KIP-460).
"""

from ..wire import Api, Array, Default, Duration, ErrorCode, Nullable, Partition, Since, String, Struct, TopicName
from .meanings import ElectionType

request = Struct(
    "election_type" / Since(1, ElectionType),
    "topic_partitions" / Nullable(Array("topic" / TopicName, "partitions" / Array(Partition))),
    "timeout_ms" / Default(Duration, 60000),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / Since(1, ErrorCode),
    "replica_election_results" / Array(
        "topic" / TopicName,
        "partition_result" / Array(
            "partition_id" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Nullable(String),
        ),
    ),
)
api = Api(43, "ElectLeaders", request, response, versions=range(3), flexible=2)
