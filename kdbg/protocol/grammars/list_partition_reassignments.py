"""ListPartitionReassignments (key 46): the moves of partitions that are under way.

KIP-455. A null list asks for all topics.
"""

from .meanings import *

request: Final = Struct(
    "timeout_ms" / Default(Timeout, 60000),
    "topics" / Default(Nullable(Array("name" / TopicName, "partition_indexes" / Partitions)), None)
        * "partitions to list, by topic; null means all",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "replicas" / Array(Int32) * "broker ids of all replicas at present, old and new",
            "adding_replicas" / AddingReplicas,
            "removing_replicas" / RemovingReplicas,
        ) * "partitions of the topic that are on the move",
    ) * "partitions on the move, by topic; others are left out",
)
api: Final = Api(46, "ListPartitionReassignments", request, response, versions=range(1), flexible=0)
