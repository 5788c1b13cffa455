"""AlterReplicaLogDirs (key 34): moves replicas between the log directories of one broker.

KIP-113.
"""

from ..wire import Api, Array, ErrorCode, Partition, String, Struct, TopicName
from .meanings import Partitions, ThrottleTime

request = Struct(
    "dirs" / Array(
        "path" / String,
        "topics" / Array("name" / TopicName, "partitions" / Partitions),
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array(
        "topic_name" / TopicName,
        "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode),
    ),
)
api = Api(34, "AlterReplicaLogDirs", request, response, versions=range(3), flexible=2)
