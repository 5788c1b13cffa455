"""A producer asks for transactions that may stay open longer than the broker allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (50,)  # INVALID_TRANSACTION_TIMEOUT
APIS = None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and id."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, transactional_id=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "invalid-transaction-timeout",
    Severity.ERROR,
    "a transaction timeout above the limit",
    "{client_id} asks for transactions (transactional id {transactional_id}) that may last longer than the broker "
    "allows: INVALID_TRANSACTION_TIMEOUT",
    "Set transaction.timeout.ms of the producer to at most transaction.max.timeout.ms of the brokers (15 minutes "
    "unless changed), or raise that.",
    "KIP-98",
    find,
)
