"""LeaderAndIsr (key 4): the controller sends a broker the partitions that it leads and those that it follows.

Only in clusters with ZooKeeper; gone in Kafka 4.0. v2 groups the partitions by topic and adds the broker
epoch (KIP-380), v3 replicas being added and removed (KIP-455), v5 topic ids (KIP-516), v6 leader recovery
(KIP-704), v7 tells a KRaft controller from one on ZooKeeper (KIP-866).
"""

from .meanings import *

request: Final = Struct(
    "controller_id" / ControllerId * "the controller that sends this",
    "is_kraft_controller" / Since(7, Boolean)
        * "true when that controller runs on KRaft, during a migration from ZooKeeper",
    "controller_epoch" / ControllerEpoch * "raised with each new controller; brokers refuse an older one",
    "broker_epoch" / Since(2, Ignorable(Default(BrokerEpoch, -1)))
        * "epoch of the broker addressed, which refuses what its earlier run was sent; -1 skips the check",
    "type" / Since(5, ControlRequestType)
        * "FULL lists every replica of the broker, so that it can drop others; INCREMENTAL what changed",
    "topic_states" / Since(2, Array(
        "topic_name" / TopicName,
        "topic_id" / Since(5, Ignorable(TopicId)),
        "partition_states" / Array(
            "partition_index" / Partition,
            "controller_epoch" / ControllerEpoch * "epoch of the controller that last changed the partition",
            "leader" / Int32 * "broker that leads the partition; -1 when none does",
            "leader_epoch" / LeaderEpoch,
            "isr" / InSyncReplicas,
            "partition_epoch" / PartitionEpoch * "version of the partition's state, in ZooKeeper that of its node",
            "replicas" / Replicas,
            "adding_replicas" / Since(3, Ignorable(AddingReplicas)),
            "removing_replicas" / Since(3, Ignorable(RemovingReplicas)),
            "is_new" / Boolean
                * "true when the replica is new, so that its log is made even while a log directory is offline",
            "leader_recovery_state" / Since(6, LeaderRecoveryState),
        ) * "one state for each partition",
    )) * "partitions that the broker leads or follows, by topic",
    "ungrouped_partition_states" / Until(1, Array(
        "topic_name" / TopicName,
        "partition_index" / Partition,
        "controller_epoch" / ControllerEpoch * "epoch of the controller that last changed the partition",
        "leader" / Int32 * "broker that leads the partition; -1 when none does",
        "leader_epoch" / LeaderEpoch,
        "isr" / InSyncReplicas,
        "partition_epoch" / PartitionEpoch * "version of the partition's state, in ZooKeeper that of its node",
        "replicas" / Replicas,
        "is_new" / Since(1, Ignorable(Boolean))
            * "true when the replica is new, so that its log is made even while a log directory is offline",
    )) * "partitions that the broker leads or follows",
    "live_leaders" / Array(
        "broker_id" / BrokerId,
        "host_name" / String * "name or address to reach the broker at",
        "port" / Port,
    ) * "where the leaders named above are reached",
)
response: Final = Struct(
    "error_code" / RequestError,
    "topics" / Since(5, Array(
        "topic_id" / TopicId,
        "partition_errors" / Array("partition_index" / Partition, "error_code" / ErrorCode)
            * "what became of each partition",
    )) * "what became of the partitions, by topic",
    "partition_errors" / Until(4, PartitionErrors) * "what became of each partition",
)
api: Final = Api(4, "LeaderAndIsr", request, response, versions=range(8), flexible=4)
