"""A producer's timestamps are too far from the broker's clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (32,)  # INVALID_TIMESTAMP
APIS = (0,)


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, topic=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "invalid-timestamp",
    Severity.ERROR,
    "records with a timestamp that the broker refuses",
    "{client_id} writes records to topic {topic} whose timestamps the broker refuses: INVALID_TIMESTAMP, {count:,} "
    "times",
    "Correct the clock or the timestamps of {client_id} (milliseconds, not seconds or microseconds), or raise "
    "message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic.",
    "KIP-937",
    find,
)
