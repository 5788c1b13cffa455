"""UpdateMetadata (key 6): the controller sends every broker the metadata that clients will ask it for.

Only in clusters with ZooKeeper; gone in Kafka 4.0. v1 several endpoints per broker, v2 racks (KIP-36), v3
listener names (KIP-103), v4 offline replicas (KIP-112), v5 partitions by topic and the broker epoch
(KIP-380), v7 topic ids (KIP-516), v8 marks a KRaft controller (KIP-866).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Int32,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    Tag,
    TopicId,
    TopicName,
    Until,
)
from .meanings import (
    BrokerEpoch,
    ControllerEpoch,
    ControllerId,
    ControlRequestType,
    Host,
    LeaderEpoch,
    Port,
    Rack,
    SecurityProtocol,
)

request = Struct(
    "controller_id" / ControllerId,
    "is_kraft_controller" / Since(8, Boolean),
    "controller_epoch" / ControllerEpoch,
    "broker_epoch" / Since(5, Ignorable(Default(BrokerEpoch, -1))),
    "topic_states" / Since(5, Array(
        "topic_name" / TopicName,
        "topic_id" / Since(7, Ignorable(TopicId)),
        "partition_states" / Array(
            "partition_index" / Partition,
            "controller_epoch" / ControllerEpoch,
            "leader" / Int32,
            "leader_epoch" / LeaderEpoch,
            "isr" / Array(Int32),
            "zk_version" / Int32,
            "replicas" / Array(Int32),
            "offline_replicas" / Array(Int32),
        ),
    )),
    "ungrouped_partition_states" / Until(4, Array(
        "topic_name" / TopicName,
        "partition_index" / Partition,
        "controller_epoch" / ControllerEpoch,
        "leader" / Int32,
        "leader_epoch" / LeaderEpoch,
        "isr" / Array(Int32),
        "zk_version" / Int32,
        "replicas" / Array(Int32),
        "offline_replicas" / Since(4, Ignorable(Array(Int32))),
    )),
    "live_brokers" / Array(
        "id" / Int32,
        "endpoints" / Since(1, Ignorable(Array(
            "port" / Port,
            "host" / Host,
            "listener" / Since(3, Ignorable(String)),
            "security_protocol" / SecurityProtocol,
        ))),
        "rack" / Since(2, Ignorable(Nullable(Rack))),
        "v0_host" / Until(0, Ignorable(String)),
        "v0_port" / Until(0, Ignorable(Int32)),
    ),
    "type" / Since(8, Tag(0, ControlRequestType)),
)
response = Struct("error_code" / ErrorCode)
api = Api(6, "UpdateMetadata", request, response, versions=range(9), flexible=6)
