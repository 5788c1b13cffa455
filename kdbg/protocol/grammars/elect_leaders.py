"""ElectLeaders (key 43): elects the leaders of partitions anew.

KIP-183, at first for the preferred replica only. v1 adds the unclean election and a top-level error
(KIP-460).
"""

from .meanings import *

request: Final = Struct(
    "election_type" / Since(1, ElectionType),
    "topic_partitions" / Nullable(Array("topic" / TopicName, "partitions" / Partitions))
        * "partitions to elect leaders for, by topic; null means all",
    "timeout_ms" / Default(Timeout, 60000) * "milliseconds to wait until the elections are done",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / Since(1, RequestError),
    "replica_election_results" / Array(
        "topic" / TopicName,
        "partition_result" / Array(
            "partition_id" / Partition,
            "error_code" / ErrorCode * "ELECTION_NOT_NEEDED when the right broker leads already",
            "error_message" / Nullable(ErrorMessage),
        ) * "what became of each election",
    ) * "what became of the elections, by topic",
)
api: Final = Api(43, "ElectLeaders", request, response, versions=range(3), flexible=2)
