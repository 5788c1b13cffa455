"""BrokerHeartbeat (key 63): a broker shows the KRaft controller that it lives, and asks to be fenced or to stop.

KIP-631. v1 log directories that failed (KIP-858), v2, not yet stable, cordoned ones (KIP-1066).
"""

from ..wire import Api, Array, Boolean, Default, ErrorCode, Int64, Nullable, Since, Struct, Tag, Uuid
from .meanings import BrokerEpoch, BrokerId, ThrottleTime

request = Struct(
    "broker_id" / BrokerId,
    "broker_epoch" / Default(BrokerEpoch, -1),
    "current_metadata_offset" / Int64,
    "want_fence" / Boolean,
    "want_shut_down" / Boolean,
    "offline_log_dirs" / Since(1, Tag(0, Array(Uuid))),
    "cordoned_log_dirs" / Since(2, Tag(1, Default(Nullable(Array(Uuid)), None))),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "is_caught_up" / Boolean,
    "is_fenced" / Default(Boolean, True),
    "should_shut_down" / Boolean,
)
api = Api(63, "BrokerHeartbeat", request, response, versions=range(3), flexible=0)
