"""Produce (key 0): record batches from a client to the leaders of their partitions.

The 0.8 guide has it as "Produce API"; with acks 0 the broker never answers. v1 throttling (KIP-13), v2 the
log append time (KIP-32), v3 transactions and record batches of magic 2 (KIP-98), v7 zstd (KIP-110), v8 errors
per record (KIP-467), v10 the new leader in the answer (KIP-951), v11 and v12 transactions guarded by the
broker (KIP-890), v13 topic ids instead of names (KIP-516).
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    Ignorable,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    Tag,
    Timestamp,
    TopicId,
    TopicName,
    Until,
)
from .meanings import (
    Acks,
    ErrorMessage,
    Host,
    LeaderEpoch,
    LeaderId,
    LogStartOffset,
    NodeId,
    Port,
    Rack,
    ThrottleTime,
    Timeout,
    TransactionalId,
)
from .records import Records

request = Struct(
    "transactional_id" / Since(3, Default(Nullable(TransactionalId), None)),
    "acks" / Acks,
    "timeout_ms" / Timeout,
    "topic_data" / Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "name" / Until(12, Ignorable(TopicName)),
        "partition_data" / Array("index" / Partition, "records" / Nullable(Records)),
    ),
)
response = Struct(
    "responses" / Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "name" / Until(12, Ignorable(TopicName)),
        "partition_responses" / Array(
            "index" / Partition,
            "error_code" / ErrorCode,
            "base_offset" / Int64,
            "log_append_time_ms" / Since(2, Ignorable(Default(Timestamp, -1))),
            "log_start_offset" / Since(5, Ignorable(Default(LogStartOffset, -1))),
            "record_errors" / Since(8, Ignorable(Array(
                "batch_index" / Int32,
                "batch_index_error_message" / Default(Nullable(String), None),
            ))),
            "error_message" / Since(8, Ignorable(Default(Nullable(ErrorMessage), None))),
            "current_leader" / Since(10, Tag(0, Struct(
                "leader_id" / Default(LeaderId, -1),
                "leader_epoch" / Default(LeaderEpoch, -1),
            ))),
        ),
    ),
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "node_endpoints" / Since(10, Tag(0, Array(
        "node_id" / NodeId,
        "host" / Host,
        "port" / Port,
        "rack" / Default(Nullable(Rack), None),
    ))),
)
api = Api(0, "Produce", request, response, versions=range(14), flexible=9)
