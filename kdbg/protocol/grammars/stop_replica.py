"""StopReplica (key 5): the controller makes a broker stop its replicas, and perhaps delete their logs.

Only in clusters with ZooKeeper; gone in Kafka 4.0. v1 groups the partitions by topic and adds the broker
epoch (KIP-380), v3 has a leader epoch and a delete flag for each partition (KIP-570), v4 marks a KRaft
controller (KIP-866).
"""

from .meanings import *

request: Final = Struct(
    "controller_id" / ControllerId * "broker that is the controller and sends this",
    "is_kraft_controller" / Since(4, Boolean)
        * "true if the sender is a KRaft controller, during a migration from ZooKeeper",
    "controller_epoch" / ControllerEpoch
        * "goes up with each new controller; brokers refuse requests with an older one",
    "broker_epoch" / Since(1, Ignorable(Default(BrokerEpoch, -1)))
        * "registration of the receiving broker, refused if it has registered again; -1 skips the check",
    "topic_states" / Since(3, Array(
        "topic_name" / TopicName,
        "partition_states" / Array(
            "partition_index" / Partition,
            "leader_epoch" / Default(LeaderEpoch, -1)
                * "fenced if older than the replica's; -1 skips the check, -2: the topic is being deleted",
            "delete_partition" / Boolean * "true deletes the log as well",
        ) * "replicas to stop, by partition",
    )) * "replicas to stop, by topic",
    "delete_partitions" / Until(2, Boolean) * "true deletes the logs of all these partitions as well",
    "topics" / Between(1, 2, Array("name" / TopicName, "partition_indexes" / Partitions))
        * "replicas to stop, by topic",
    "ungrouped_partitions" / Until(0, Array("topic_name" / TopicName, "partition_index" / Partition))
        * "replicas to stop, each with its topic",
)
response: Final = Struct(
    "error_code" / ErrorCode * "error for the whole request, such as STALE_CONTROLLER_EPOCH",
    "partition_errors" / PartitionErrors * "results, one per partition",
)
api: Final = Api(5, "StopReplica", request, response, versions=range(5), flexible=2)
