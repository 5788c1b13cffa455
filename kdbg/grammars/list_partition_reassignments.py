"""ListPartitionReassignments (key 46): the moves of partitions that are under way.

KIP-455. A null list asks for all topics.
"""

from ..wire import Api, Array, Default, Duration, ErrorCode, Int32, Nullable, Partition, String, Struct, TopicName

request = Struct(
    "timeout_ms" / Default(Duration, 60000),
    "topics" / Default(Nullable(Array("name" / TopicName, "partition_indexes" / Array(Partition))), None),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "replicas" / Array(Int32),
            "adding_replicas" / Array(Int32),
            "removing_replicas" / Array(Int32),
        ),
    ),
)
api = Api(46, "ListPartitionReassignments", request, response, versions=range(1), flexible=0)
