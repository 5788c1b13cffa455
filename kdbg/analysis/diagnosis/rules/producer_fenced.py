"""A producer is fenced, and the capture does not say by whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (47, 90)  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and subject."""
    told: dict[str, bool] = {}
    for one in failures(book, CODES):
        if told.setdefault(one.client_id, False):
            continue
        told[one.client_id] = True
        yield rule.case(
            who(one.session), one.seen.since, one.seen.until, one.seen.count, evidence(one.seen, "error_code"),
            certainty="likely",
        )  # fmt: skip


rule: Rule = Rule(
    "producer-fenced",
    Severity.ERROR,
    "producer is fenced",
    (
        "client {client_id} is fenced by broker {broker}, {times}: another producer {probably}uses the "
        "same transactional.id, or a transaction timed out"
    ),
    "Check whether another producer uses the same transactional.id, or a transaction exceeded transaction.timeout.ms.",
    "KIP-98, KIP-588",
    find,
)
