"""InitProducerId (key 22): gives a producer its id and epoch, and ends what an earlier instance left open.

KIP-98. v3 a producer may keep its id and raise its epoch after an error (KIP-360), v4 PRODUCER_FENCED
(KIP-588), v5 TRANSACTION_ABORTABLE (KIP-890), v6, not yet stable, two-phase commit (KIP-939).
"""

from ..wire import Api, Boolean, Default, Duration, ErrorCode, Int16, Int64, Nullable, Since, Struct
from .meanings import ProducerEpoch, ProducerId, ThrottleTime, TransactionalId

request = Struct(
    "transactional_id" / Nullable(TransactionalId),
    "transaction_timeout_ms" / Duration,
    "producer_id" / Since(3, Default(ProducerId, -1)),
    "producer_epoch" / Since(3, Default(ProducerEpoch, -1)),
    "enable2_pc" / Since(6, Boolean),
    "keep_prepared_txn" / Since(6, Boolean),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "producer_id" / Default(ProducerId, -1),
    "producer_epoch" / ProducerEpoch,
    "ongoing_txn_producer_id" / Since(6, Default(Int64, -1)),
    "ongoing_txn_producer_epoch" / Since(6, Default(Int16, -1)),
)
api = Api(22, "InitProducerId", request, response, versions=range(7), flexible=2)
