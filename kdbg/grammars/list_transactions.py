"""ListTransactions (key 66): the transactions a broker coordinates.

KIP-664. v1 only those that last longer than given (KIP-994), v2 those whose id matches a pattern (KIP-1152).
"""

from ..wire import Api, Array, Default, Duration, ErrorCode, Int64, Nullable, Since, String, Struct

request = Struct(
    "state_filters" / Array(String),
    "producer_id_filters" / Array(Int64),
    "duration_filter" / Since(1, Default(Int64, -1)),
    "transactional_id_pattern" / Since(2, Default(Nullable(String), None)),
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "unknown_state_filters" / Array(String),
    "transaction_states" / Array(
        "transactional_id" / String,
        "producer_id" / Int64,
        "transaction_state" / String,
    ),
)
api = Api(66, "ListTransactions", request, response, versions=range(3), flexible=0)
