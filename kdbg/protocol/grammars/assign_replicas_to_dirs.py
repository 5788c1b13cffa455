"""AssignReplicasToDirs (key 73): a broker reports to the KRaft controller in which log directory its replicas are.

KIP-858.
"""

from .meanings import *

request: Final = Struct(
    "broker_id" / BrokerId * "the broker whose directories these are",
    "broker_epoch" / Default(BrokerEpoch, -1),
    "directories" / Array(
        "id" / Uuid * "id of the directory, from its meta.properties",
        "topics" / Array(
            "topic_id" / TopicId,
            "partitions" / Array("partition_index" / Partition) * "replicas in that directory",
        ) * "replicas in that directory, by topic",
    ) * "log directories of the broker, each with replicas that lie there",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / RequestError,
    "directories" / Array(
        "id" / Uuid * "id of the directory",
        "topics" / Array(
            "topic_id" / TopicId,
            "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode)
                * "whether the controller took note of each replica",
        ) * "replicas in that directory, by topic",
    ) * "log directories, as the request named them",
)
api: Final = Api(73, "AssignReplicasToDirs", request, response, versions=range(1), flexible=0)
