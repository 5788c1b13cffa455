"""InitProducerId (key 22): gives a producer its id and epoch, and ends what an earlier instance left open.

KIP-98. v3 a producer may keep its id and raise its epoch after an error (KIP-360), v4 PRODUCER_FENCED
(KIP-588), v5 TRANSACTION_ABORTABLE (KIP-890), v6, not yet stable, two-phase commit (KIP-939).
"""

from .meanings import *

request: Final = Struct(
    "transactional_id" / Nullable(TransactionalId),
    "transaction_timeout_ms" / Duration
        * "milliseconds that a transaction may stay open before the coordinator aborts it",
    "producer_id" / Since(3, Default(ProducerId, -1)) * "id that the producer has and keeps; -1 requests one",
    "producer_epoch" / Since(3, Default(ProducerEpoch, -1))
        * "epoch that the producer has, to be raised; -1 with a new id",
    "enable2_pc" / Since(6, Boolean)
        * "true for two-phase commit: the coordinator never aborts a transaction for its age",
    "keep_prepared_txn" / Since(6, Boolean)
        * "true leaves a prepared transaction of an earlier run open, for its owner to decide",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "producer_id" / Default(ProducerId, -1) * "id for the producer's batches; -1 on error",
    "producer_epoch" / ProducerEpoch * "epoch for the producer's batches; it fences all with an earlier one",
    "ongoing_txn_producer_id" / Since(6, Default(Int64, -1))
        * "id that the transaction kept open was begun with; -1 when there is none",
    "ongoing_txn_producer_epoch" / Since(6, Default(Int16, -1))
        * "epoch that the transaction kept open was begun with; -1 when there is none",
)
api: Final = Api(22, "InitProducerId", request, response, versions=range(7), flexible=2)
