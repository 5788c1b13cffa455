"""AssignReplicasToDirs (key 73): a broker tells the KRaft controller in which log directory its replicas lie.

KIP-858.
"""

from ..wire import Api, Array, Default, ErrorCode, Partition, Struct, TopicId, Uuid
from .meanings import BrokerEpoch, BrokerId, ThrottleTime

request = Struct(
    "broker_id" / BrokerId,
    "broker_epoch" / Default(BrokerEpoch, -1),
    "directories" / Array(
        "id" / Uuid,
        "topics" / Array(
            "topic_id" / TopicId,
            "partitions" / Array("partition_index" / Partition),
        ),
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
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
