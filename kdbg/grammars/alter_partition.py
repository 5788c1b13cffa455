"""AlterPartition (key 56): the leader of a partition proposes a new set of in-sync replicas.

KIP-497, first named AlterIsr. v1 leader recovery (KIP-704), v2 topic ids (KIP-841), v3 broker epochs of the
replicas (KIP-903).
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    Ignorable,
    Int32,
    Partition,
    Since,
    Struct,
    TopicId,
    TopicName,
    Until,
)
from .meanings import BrokerEpoch, BrokerId, LeaderEpoch, LeaderId, LeaderRecoveryState, PartitionEpoch, ThrottleTime

request = Struct(
    "broker_id" / BrokerId,
    "broker_epoch" / Default(BrokerEpoch, -1),
    "topics" / Array(
        "topic_id" / Since(2, Ignorable(TopicId)),
        "topic_name" / Until(1, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "leader_epoch" / LeaderEpoch,
            "new_isr_with_epochs" / Since(3, Array("broker_id" / BrokerId, "broker_epoch" / Default(BrokerEpoch, -1))),
            "new_isr" / Until(2, Array(Int32)),
            "leader_recovery_state" / Since(1, LeaderRecoveryState),
            "partition_epoch" / PartitionEpoch,
        ),
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "topics" / Array(
        "topic_id" / Since(2, Ignorable(TopicId)),
        "topic_name" / Until(1, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "leader_id" / LeaderId,
            "leader_epoch" / LeaderEpoch,
            "isr" / Array(Int32),
            "leader_recovery_state" / Since(1, Ignorable(LeaderRecoveryState)),
            "partition_epoch" / PartitionEpoch,
        ),
    ),
)
api = Api(56, "AlterPartition", request, response, versions=range(4), flexible=0)
