"""A producer asks for transactions that may stay open longer than the broker allows."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "invalid-transaction-timeout",
    "transaction.timeout.ms exceeds the broker limit",
    (
        "client {client_id} requests a transaction.timeout.ms above transaction.max.timeout.ms of broker "
        "{broker} for transactional id {transactional_id}: INVALID_TRANSACTION_TIMEOUT, {times}"
    ),
    (
        "Set transaction.timeout.ms on the producer to at most transaction.max.timeout.ms of the brokers "
        "(default 15 minutes), or raise the broker limit."
    ),
    "KIP-98",
    errors=(50,),  # INVALID_TRANSACTION_TIMEOUT
    subject="transactional_id",
    weight=2.5,
)
