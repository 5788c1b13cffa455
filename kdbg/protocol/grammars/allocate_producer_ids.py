"""AllocateProducerIds (key 67): a broker gets a block of producer ids from the controller.

KIP-730.
"""

from .meanings import *

request: Final = Struct(
    "broker_id" / BrokerId * "broker that requests the block",
    "broker_epoch" / Default(BrokerEpoch, -1),
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "producer_id_start" / Int64 * "first id of the block",
    "producer_id_len" / Int32 * "how many ids the block has, from the first one upwards",
)
api: Final = Api(67, "AllocateProducerIds", request, response, versions=range(1), flexible=0)
