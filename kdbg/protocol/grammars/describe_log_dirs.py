"""DescribeLogDirs (key 35): the log directories of a broker, and size and lag of the replicas in them.

KIP-113. v3 a top-level error (KIP-784), v4 total and usable bytes of the volume (KIP-827), v5, not yet
stable, cordoned directories (KIP-1066).
"""

from .meanings import *

request: Final = Struct(
    "topics" / Nullable(Array("topic" / TopicName, "partitions" / Partitions))
        * "replicas to describe, by topic; null means all",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / Since(3, Ignorable(RequestError)),
    "results" / Array(
        "error_code" / ErrorCode * "KAFKA_STORAGE_ERROR when the directory went offline",
        "log_dir" / String * "absolute path of the directory",
        "topics" / Array(
            "name" / TopicName,
            "partitions" / Array(
                "partition_index" / Partition,
                "partition_size" / Int64 * "bytes of all segments of the replica's log",
                "offset_lag" / Int64
                    * "offsets by which the replica lags the high watermark, or the replica that it will replace",
                "is_future_key" / Boolean
                    * "true for a copy under way that will replace the replica in another directory",
            ) * "replicas in that directory",
        ) * "replicas in that directory, by topic",
        "total_bytes" / Since(4, Ignorable(Default(Int64, -1)))
            * "size of the volume that the directory is on; -1 when unknown",
        "usable_bytes" / Since(4, Ignorable(Default(Int64, -1))) * "bytes still free on that volume; -1 when unknown",
        "is_cordoned" / Since(5, Ignorable(Boolean)) * "true when the directory takes no new replicas",
    ) * "the broker's log directories",
)
api: Final = Api(35, "DescribeLogDirs", request, response, versions=range(6), flexible=2)
