"""DescribeLogDirs (key 35): the log directories of a broker, and size and lag of the replicas in them.

KIP-113. v3 a top-level error (KIP-784), v4 total and usable bytes of the volume (KIP-827), v5, not yet
stable, cordoned directories (KIP-1066).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Int64,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    TopicName,
)
from .meanings import Partitions, ThrottleTime

request = Struct(
    "topics" / Nullable(Array("topic" / TopicName, "partitions" / Partitions)),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / Since(3, Ignorable(ErrorCode)),
    "results" / Array(
        "error_code" / ErrorCode,
        "log_dir" / String,
        "topics" / Array(
            "name" / TopicName,
            "partitions" / Array(
                "partition_index" / Partition,
                "partition_size" / Int64,
                "offset_lag" / Int64,
                "is_future_key" / Boolean,
            ),
        ),
        "total_bytes" / Since(4, Ignorable(Default(Int64, -1))),
        "usable_bytes" / Since(4, Ignorable(Default(Int64, -1))),
        "is_cordoned" / Since(5, Ignorable(Boolean)),
    ),
)
api = Api(35, "DescribeLogDirs", request, response, versions=range(6), flexible=2)
