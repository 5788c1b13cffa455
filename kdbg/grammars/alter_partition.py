"""AlterPartition (key 56): the leader of a partition proposes a new set of in-sync replicas.

KIP-497, first named AlterIsr. v1 leader recovery (KIP-704), v2 topic ids (KIP-841), v3 broker epochs of the
replicas (KIP-903).
"""

from ..wire import (
    Api,
    Array,
    Default,
    Duration,
    ErrorCode,
    Ignorable,
    Int32,
    Int64,
    Partition,
    Since,
    Struct,
    TopicId,
    TopicName,
    Until,
)
from .meanings import LeaderRecoveryState

request = Struct(
    "broker_id" / Int32,
    "broker_epoch" / Default(Int64, -1),
    "topics" / Array(
        "topic_id" / Since(2, Ignorable(TopicId)),
        "topic_name" / Until(1, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "leader_epoch" / Int32,
            "new_isr_with_epochs" / Since(3, Array("broker_id" / Int32, "broker_epoch" / Default(Int64, -1))),
            "new_isr" / Until(2, Array(Int32)),
            "leader_recovery_state" / Since(1, LeaderRecoveryState),
            "partition_epoch" / Int32,
        ),
    ),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "topics" / Array(
        "topic_id" / Since(2, Ignorable(TopicId)),
        "topic_name" / Until(1, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "leader_id" / Int32,
            "leader_epoch" / Int32,
            "isr" / Array(Int32),
            "leader_recovery_state" / Since(1, Ignorable(LeaderRecoveryState)),
            "partition_epoch" / Int32,
        ),
    ),
)
api = Api(56, "AlterPartition", request, response, versions=range(4), flexible=0)
