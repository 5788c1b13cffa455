"""AlterPartitionReassignments (key 45): moves partitions to other brokers, or cancels such moves.

KIP-455. A null list of replicas cancels. v1 can forbid a change of the replication factor (KIP-860).
"""

from .meanings import *

request: Final = Struct(
    "timeout_ms" / Default(Timeout, 60000)
        * "timeout of the controller; the move of the data continues after it",
    "allow_replication_factor_change" / Since(1, Default(Boolean, True))
        * "false refuses moves to more or fewer replicas than there are now",
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "replicas" / Default(Nullable(Array(Int32)), None)
                * "broker ids of the replicas, preferred leader first; null cancels a move under way",
        ) * "where each partition shall go",
    ) * "partitions to move, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "allow_replication_factor_change" / Since(1, Ignorable(Default(Boolean, True)))
        * "whether the number of replicas was free to change, as in the request",
    "error_code" / RequestError,
    "error_message" / Nullable(ErrorMessage),
    "responses" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Nullable(ErrorMessage),
        ) * "what became of each partition",
    ) * "which moves were accepted, by topic",
)
api: Final = Api(45, "AlterPartitionReassignments", request, response, versions=range(2), flexible=0)
