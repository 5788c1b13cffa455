"""BrokerRegistration (key 62): a starting broker registers with the KRaft controller and gets its epoch.

KIP-631. v1 brokers that migrate from ZooKeeper (KIP-866), v2 log directories (KIP-858), v3 the epoch before a
restart (KIP-966), v4 lets a feature start at 0 (KAFKA-17011).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    Duration,
    ErrorCode,
    Ignorable,
    Int16,
    Int32,
    Int64,
    Nullable,
    Since,
    String,
    Struct,
    UInt16,
    Uuid,
)
from .meanings import SecurityProtocol

request = Struct(
    "broker_id" / Int32,
    "cluster_id" / String,
    "incarnation_id" / Uuid,
    "listeners" / Array(
        "name" / String,
        "host" / String,
        "port" / UInt16,
        "security_protocol" / SecurityProtocol,
    ),
    "features" / Array(
        "name" / String,
        "min_supported_version" / Int16,
        "max_supported_version" / Int16,
    ),
    "rack" / Nullable(String),
    "is_migrating_zk_broker" / Since(1, Boolean),
    "log_dirs" / Since(2, Ignorable(Array(Uuid))),
    "previous_broker_epoch" / Since(3, Ignorable(Default(Int64, -1))),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "broker_epoch" / Default(Int64, -1),
)
api = Api(62, "BrokerRegistration", request, response, versions=range(5), flexible=0)
