"""AlterReplicaLogDirs (key 34): moves replicas between the log directories of one broker.

KIP-113.
"""

from ..wire import Api, Array, Duration, ErrorCode, Partition, String, Struct, TopicName

request = Struct(
    "dirs" / Array(
        "path" / String,
        "topics" / Array("name" / TopicName, "partitions" / Array(Partition)),
    ),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "results" / Array(
        "topic_name" / TopicName,
        "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode),
    ),
)
api = Api(34, "AlterReplicaLogDirs", request, response, versions=range(3), flexible=2)
