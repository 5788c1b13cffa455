"""UpdateMetadata (key 6): the controller sends every broker the metadata that its clients request.

Only in clusters with ZooKeeper; gone in Kafka 4.0. v1 several endpoints per broker, v2 racks (KIP-36), v3
listener names (KIP-103), v4 offline replicas (KIP-112), v5 partitions by topic and the broker epoch
(KIP-380), v7 topic ids (KIP-516), v8 marks a KRaft controller (KIP-866).
"""

from .meanings import *

request: Final = Struct(
    "controller_id" / ControllerId * "broker that is the controller and sends this",
    "is_kraft_controller" / Since(8, Boolean)
        * "true if the sender is a KRaft controller, during a migration from ZooKeeper",
    "controller_epoch" / ControllerEpoch
        * "goes up with each new controller; brokers refuse requests with an older one",
    "broker_epoch" / Since(5, Ignorable(Default(BrokerEpoch, -1)))
        * "registration of the receiving broker, refused if it has registered again; -1 skips the check",
    "topic_states" / Since(5, Array(
        "topic_name" / TopicName,
        "topic_id" / Since(7, Ignorable(TopicId)),
        "partition_states" / Array(
            "partition_index" / Partition,
            "controller_epoch" / ControllerEpoch * "epoch of the controller that decided this state",
            "leader" / Int32 * "broker that leads the partition; -1 means none, -2 that the topic is being deleted",
            "leader_epoch" / LeaderEpoch,
            "isr" / InSyncReplicas,
            "zk_version" / Int32 * "version of the partition's state, which goes up with each change",
            "replicas" / Replicas,
            "offline_replicas" / OfflineReplicas,
        ) * "new state of partitions",
    )) * "new state of partitions, by topic",
    "ungrouped_partition_states" / Until(4, Array(
        "topic_name" / TopicName,
        "partition_index" / Partition,
        "controller_epoch" / ControllerEpoch * "epoch of the controller that decided this state",
        "leader" / Int32 * "broker that leads the partition; -1 means none, -2 that the topic is being deleted",
        "leader_epoch" / LeaderEpoch,
        "isr" / InSyncReplicas,
        "zk_version" / Int32 * "version of the partition's state, which goes up with each change",
        "replicas" / Replicas,
        "offline_replicas" / Since(4, Ignorable(OfflineReplicas)),
    )) * "new state of partitions, each with its topic",
    "live_brokers" / Array(
        "id" / Int32 * "node id of the broker",
        "endpoints" / Since(1, Ignorable(Array(
            "port" / Port,
            "host" / Host,
            "listener" / Since(3, Ignorable(ListenerName)),
            "security_protocol" / SecurityProtocol,
        ))) * "addresses of the broker, one per listener",
        "rack" / Since(2, Ignorable(Nullable(Rack))),
        "v0_host" / Until(0, Ignorable(String)) * "host of the broker's only listener",
        "v0_port" / Until(0, Ignorable(Int32)) * "port of the broker's only listener",
    ) * "all brokers that are alive",
    "type" / Since(8, Tag(0, ControlRequestType)),
)
response: Final = Struct("error_code" / ErrorCode)
api: Final = Api(6, "UpdateMetadata", request, response, versions=range(9), flexible=6)
