"""AlterPartition (key 56): the leader of a partition proposes a new set of in-sync replicas.

KIP-497, first named AlterIsr. v1 leader recovery (KIP-704), v2 topic ids (KIP-841), v3 broker epochs of the
replicas (KIP-903).
"""

from .meanings import *

request: Final = Struct(
    "broker_id" / BrokerId * "the broker that leads the partitions and proposes the change",
    "broker_epoch" / Default(BrokerEpoch, -1),
    "topics" / Array(
        "topic_id" / Since(2, Ignorable(TopicId)),
        "topic_name" / Until(1, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "leader_epoch" / LeaderEpoch
                * "epoch the sender leads the partition in; the controller refuses an older one",
            "new_isr_with_epochs" / Since(3, Array(
                "broker_id" / BrokerId * "a replica that is in sync",
                "broker_epoch" / Default(BrokerEpoch, -1) * "epoch that replica fetched with; -1 skips its check",
            )) * "proposed in-sync replicas, with epochs so that a broker restarted meanwhile is not taken in",
            "new_isr" / Until(2, Array(Int32)) * "broker ids of the proposed in-sync replicas",
            "leader_recovery_state" / Since(1, LeaderRecoveryState),
            "partition_epoch" / PartitionEpoch
                * "version of the partition's state that the change builds on; an outdated one is refused",
        ) * "one proposal for each partition",
    ) * "partitions to change, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / RequestError,
    "topics" / Array(
        "topic_id" / Since(2, Ignorable(TopicId)),
        "topic_name" / Until(1, Ignorable(TopicName)),
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "leader_id" / LeaderId,
            "leader_epoch" / LeaderEpoch,
            "isr" / Array(Int32) * "broker ids of the in-sync replicas",
            "leader_recovery_state" / Since(1, Ignorable(LeaderRecoveryState)),
            "partition_epoch" / PartitionEpoch * "version of the partition's state, to be named in the next change",
        ) * "state of each partition after the request",
    ) * "the partitions as they are now, by topic",
)
api: Final = Api(56, "AlterPartition", request, response, versions=range(4), flexible=0)
