"""LeaderAndIsr (key 4): the controller tells a broker which partitions it leads and which it follows.

Only in clusters with ZooKeeper; gone in Kafka 4.0. v2 groups the partitions by topic and adds the broker
epoch (KIP-380), v3 replicas being added and removed (KIP-455), v5 topic ids (KIP-516), v6 leader recovery
(KIP-704), v7 tells a KRaft controller from one on ZooKeeper (KIP-866).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Int32,
    Partition,
    Since,
    String,
    Struct,
    TopicId,
    TopicName,
    Until,
)
from .meanings import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ControllerId,
    ControlRequestType,
    LeaderEpoch,
    LeaderRecoveryState,
    PartitionEpoch,
    Port,
)

request = Struct(
    "controller_id" / ControllerId,
    "is_kraft_controller" / Since(7, Boolean),
    "controller_epoch" / ControllerEpoch,
    "broker_epoch" / Since(2, Ignorable(Default(BrokerEpoch, -1))),
    "type" / Since(5, ControlRequestType),
    "topic_states" / Since(2, Array(
        "topic_name" / TopicName,
        "topic_id" / Since(5, Ignorable(TopicId)),
        "partition_states" / Array(
            "partition_index" / Partition,
            "controller_epoch" / ControllerEpoch,
            "leader" / Int32,
            "leader_epoch" / LeaderEpoch,
            "isr" / Array(Int32),
            "partition_epoch" / PartitionEpoch,
            "replicas" / Array(Int32),
            "adding_replicas" / Since(3, Ignorable(Array(Int32))),
            "removing_replicas" / Since(3, Ignorable(Array(Int32))),
            "is_new" / Boolean,
            "leader_recovery_state" / Since(6, LeaderRecoveryState),
        ),
    )),
    "ungrouped_partition_states" / Until(1, Array(
        "topic_name" / TopicName,
        "partition_index" / Partition,
        "controller_epoch" / ControllerEpoch,
        "leader" / Int32,
        "leader_epoch" / LeaderEpoch,
        "isr" / Array(Int32),
        "partition_epoch" / PartitionEpoch,
        "replicas" / Array(Int32),
        "is_new" / Since(1, Ignorable(Boolean)),
    )),
    "live_leaders" / Array(
        "broker_id" / BrokerId,
        "host_name" / String,
        "port" / Port,
    ),
)
response = Struct(
    "error_code" / ErrorCode,
    "topics" / Since(5, Array(
        "topic_id" / TopicId,
        "partition_errors" / Array("partition_index" / Partition, "error_code" / ErrorCode),
    )),
    "partition_errors" / Until(4, Array(
        "topic_name" / TopicName,
        "partition_index" / Partition,
        "error_code" / ErrorCode,
    )),
)
api = Api(4, "LeaderAndIsr", request, response, versions=range(8), flexible=4)
