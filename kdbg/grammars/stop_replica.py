"""StopReplica (key 5): the controller tells a broker to stop its replicas, and perhaps delete their logs.

Only in clusters with ZooKeeper; gone in Kafka 4.0. v1 groups the partitions by topic and adds the broker
epoch (KIP-380), v3 has a leader epoch and a delete flag for each partition (KIP-570), v4 marks a KRaft
controller (KIP-866).
"""

from ..wire import (
    Api,
    Array,
    Between,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Partition,
    Since,
    Struct,
    TopicName,
    Until,
)
from .meanings import BrokerEpoch, ControllerEpoch, ControllerId, LeaderEpoch, Partitions

request = Struct(
    "controller_id" / ControllerId,
    "is_kraft_controller" / Since(4, Boolean),
    "controller_epoch" / ControllerEpoch,
    "broker_epoch" / Since(1, Ignorable(Default(BrokerEpoch, -1))),
    "topic_states" / Since(3, Array(
        "topic_name" / TopicName,
        "partition_states" / Array(
            "partition_index" / Partition,
            "leader_epoch" / Default(LeaderEpoch, -1),
            "delete_partition" / Boolean,
        ),
    )),
    "delete_partitions" / Until(2, Boolean),
    "topics" / Between(1, 2, Array("name" / TopicName, "partition_indexes" / Partitions)),
    "ungrouped_partitions" / Until(0, Array("topic_name" / TopicName, "partition_index" / Partition)),
)
response = Struct(
    "error_code" / ErrorCode,
    "partition_errors" / Array(
        "topic_name" / TopicName,
        "partition_index" / Partition,
        "error_code" / ErrorCode,
    ),
)
api = Api(5, "StopReplica", request, response, versions=range(5), flexible=2)
