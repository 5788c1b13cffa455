"""Too few replicas of a partition are in sync for acks=all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (19, 20)  # NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND
APIS = (0,)


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, topic=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "not-enough-replicas",
    Severity.ERROR,
    "too few replicas in sync to write",
    "topic {topic} has fewer in-sync replicas than min.insync.replicas: what {client_id} writes with acks=all is "
    "refused, {times}",
    "Bring the missing brokers back, or see why their replicas fall behind; min.insync.replicas above the number "
    "of live brokers can never be met.",
    "Topic configs: min.insync.replicas",
    find,
    explains=frozenset({"partition-offline"}),
)
