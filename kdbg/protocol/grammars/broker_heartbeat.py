"""BrokerHeartbeat (key 63): a broker reports to the KRaft controller that it is alive, or requests a shutdown.

KIP-631. v1 log directories that failed (KIP-858), v2, not yet stable, cordoned ones (KIP-1066).
"""

from .meanings import *

request: Final = Struct(
    "broker_id" / BrokerId * "the broker that is alive",
    "broker_epoch" / Default(BrokerEpoch, -1),
    "current_metadata_offset" / Int64
        * "how far the broker has replayed the metadata log; it stays fenced until it has caught up",
    "want_fence" / Boolean * "true requests fencing: the broker leads nothing and is hidden from clients",
    "want_shut_down" / Boolean * "true requests a controlled shutdown: leaderships are moved away first",
    "offline_log_dirs" / Since(1, Tag(0, Array(Uuid))) * "ids of log directories that failed since the broker started",
    "cordoned_log_dirs" / Since(2, Tag(1, Default(Nullable(Array(Uuid)), None)))
        * "ids of log directories that accept no new replicas; null means unchanged",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "is_caught_up" / Boolean * "whether the broker has replayed nearly all metadata",
    "is_fenced" / Default(Boolean, True) * "true while the broker leads nothing and is hidden from clients",
    "should_shut_down" / Boolean * "true lets the broker stop, for its leaderships have been moved away",
)
api: Final = Api(63, "BrokerHeartbeat", request, response, versions=range(3), flexible=0)
