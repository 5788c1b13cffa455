"""A producer asks for transactions that may stay open longer than the broker allows."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "invalid-transaction-timeout",
    "a transaction timeout above the limit",
    "{client_id} asks for transactions (transactional id {transactional_id}) that may last longer than the broker "
    "allows: INVALID_TRANSACTION_TIMEOUT",
    "Set transaction.timeout.ms of the producer to at most transaction.max.timeout.ms of the brokers (15 minutes "
    "unless changed), or raise that.",
    "KIP-98",
    errors=(50,),  # INVALID_TRANSACTION_TIMEOUT
    subject="transactional_id",
    weight=2.5,
)
