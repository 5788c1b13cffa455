"""BrokerRegistration (key 62): a starting broker registers with the KRaft controller and gets its epoch.

KIP-631. v1 brokers that migrate from ZooKeeper (KIP-866), v2 log directories (KIP-858), v3 the epoch before a
restart (KIP-966), v4 lets a feature start at 0 (KAFKA-17011).
"""

from .meanings import *

request: Final = Struct(
    "broker_id" / BrokerId * "the broker that registers",
    "cluster_id" / ClusterId * "cluster the broker belongs to; a controller of another one refuses it",
    "incarnation_id" / IncarnationId,
    "listeners" / SecuredEndpoints * "where clients and other brokers reach this one",
    "features" / SupportedFeatures * "cluster features that the broker's software is able to run",
    "rack" / Nullable(Rack),
    "is_migrating_zk_broker" / Since(1, Boolean) * "true when the broker still runs on ZooKeeper and is being migrated",
    "log_dirs" / Since(2, Ignorable(Array(Uuid))) * "ids of the broker's log directories that work",
    "previous_broker_epoch" / Since(3, Ignorable(Default(Int64, -1)))
        * "epoch before a clean shutdown; -1 at the first start and after a crash",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "broker_epoch" / Default(BrokerEpoch, -1) * "epoch of this registration, named in later requests; -1 on error",
)
api: Final = Api(62, "BrokerRegistration", request, response, versions=range(5), flexible=0)
