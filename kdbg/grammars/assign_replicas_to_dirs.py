"""AssignReplicasToDirs (key 73): a broker tells the KRaft controller in which log directory its replicas lie.

KIP-858.
"""

from ..wire import Api, Array, Default, Duration, ErrorCode, Int32, Int64, Partition, Struct, TopicId, Uuid

request = Struct(
    "broker_id" / Int32,
    "broker_epoch" / Default(Int64, -1),
    "directories" / Array(
        "id" / Uuid,
        "topics" / Array(
            "topic_id" / TopicId,
            "partitions" / Array("partition_index" / Partition),
        ),
    ),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "directories" / Array(
        "id" / Uuid,
        "topics" / Array(
            "topic_id" / TopicId,
            "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode),
        ),
    ),
)
api = Api(73, "AssignReplicasToDirs", request, response, versions=range(1), flexible=0)
