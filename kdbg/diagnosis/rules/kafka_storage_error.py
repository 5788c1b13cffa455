"""A broker's disk fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (56,)  # KAFKA_STORAGE_ERROR
APIS = None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, topic=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "kafka-storage-error",
    Severity.ERROR,
    "a broker's disk that fails",
    "{broker} cannot read or write topic {topic}: KAFKA_STORAGE_ERROR, {times}",
    "Look at the broker's log.dirs, its disk and its log.",
    "KIP-112",
    find,
)
