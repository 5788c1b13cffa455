"""AlterPartitionReassignments (key 45): moves partitions to other brokers, or cancels such moves.

KIP-455. A null list of replicas cancels. v1 can forbid a change of the replication factor (KIP-860).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Int32,
    Nullable,
    Partition,
    Since,
    Struct,
    TopicName,
)
from .meanings import ErrorMessage, ThrottleTime, Timeout

request = Struct(
    "timeout_ms" / Default(Timeout, 60000),
    "allow_replication_factor_change" / Since(1, Default(Boolean, True)),
    "topics" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "replicas" / Default(Nullable(Array(Int32)), None),
        ),
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "allow_replication_factor_change" / Since(1, Ignorable(Default(Boolean, True))),
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "responses" / Array(
        "name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Nullable(ErrorMessage),
        ),
    ),
)
api = Api(45, "AlterPartitionReassignments", request, response, versions=range(2), flexible=0)
