"""AlterReplicaLogDirs (key 34): moves replicas between the log directories of one broker.

KIP-113.
"""

from .meanings import *

request: Final = Struct(
    "dirs" / Array(
        "path" / String * "absolute path of the directory on the broker",
        "topics" / Array("name" / TopicName, "partitions" / Partitions) * "replicas to move there, by topic",
    ) * "log directories, each with the replicas that shall lie there",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode * "0 when the move was accepted; the copy continues in the background",
        ) * "what became of each replica",
    ) * "what became of the replicas, by topic",
)
api: Final = Api(34, "AlterReplicaLogDirs", request, response, versions=range(3), flexible=2)
