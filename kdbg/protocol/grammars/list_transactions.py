"""ListTransactions (key 66): the transactions a broker coordinates.

KIP-664. v1 only those that last longer than given (KIP-994), v2 those whose id matches a pattern (KIP-1152).
"""

from .meanings import *

request: Final = Struct(
    "state_filters" / Array(String) * "states of the transactions to list, such as Ongoing; none lists all",
    "producer_id_filters" / Array(Int64) * "producers whose transactions to list; none lists all",
    "duration_filter" / Since(1, Default(Int64, -1))
        * "lists only transactions open for more milliseconds than this; -1 lists all",
    "transactional_id_pattern" / Since(2, Default(Nullable(String), None))
        * "regular expression that transactional ids must match; null or empty lists all",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "unknown_state_filters" / Array(String) * "requested states that the broker does not know",
    "transaction_states" / Array(
        "transactional_id" / TransactionalId,
        "producer_id" / ProducerId,
        "transaction_state" / String * "state of the transaction, such as Ongoing, PrepareCommit or CompleteAbort",
    ) * "transactions that this broker coordinates",
)
api: Final = Api(66, "ListTransactions", request, response, versions=range(3), flexible=0)
