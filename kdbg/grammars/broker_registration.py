"""BrokerRegistration (key 62): a starting broker registers with the KRaft controller and gets its epoch.

KIP-631. v1 brokers that migrate from ZooKeeper (KIP-866), v2 log directories (KIP-858), v3 the epoch before a
restart (KIP-966), v4 lets a feature start at 0 (KAFKA-17011).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Int64,
    Nullable,
    Since,
    String,
    Struct,
    Uuid,
)
from .meanings import (
    BrokerEpoch,
    BrokerId,
    ClusterId,
    Host,
    IncarnationId,
    MaxSupportedVersion,
    MinSupportedVersion,
    Rack,
    SecurityProtocol,
    ThrottleTime,
    UnsignedPort,
)

request = Struct(
    "broker_id" / BrokerId,
    "cluster_id" / ClusterId,
    "incarnation_id" / IncarnationId,
    "listeners" / Array(
        "name" / String,
        "host" / Host,
        "port" / UnsignedPort,
        "security_protocol" / SecurityProtocol,
    ),
    "features" / Array(
        "name" / String,
        "min_supported_version" / MinSupportedVersion,
        "max_supported_version" / MaxSupportedVersion,
    ),
    "rack" / Nullable(Rack),
    "is_migrating_zk_broker" / Since(1, Boolean),
    "log_dirs" / Since(2, Ignorable(Array(Uuid))),
    "previous_broker_epoch" / Since(3, Ignorable(Default(Int64, -1))),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "broker_epoch" / Default(BrokerEpoch, -1),
)
api = Api(62, "BrokerRegistration", request, response, versions=range(5), flexible=0)
