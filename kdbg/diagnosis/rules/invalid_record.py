"""A broker refuses a record that its topic does not allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (87,)  # INVALID_RECORD
APIS = (0,)


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, topic=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "invalid-record",
    Severity.ERROR,
    "a record that its topic does not allow",
    "topic {topic} refuses a record of {client_id}: INVALID_RECORD, {times}",
    "Give every record a key where the topic is compacted (cleanup.policy=compact); see error_message and "
    "record_errors of the response.",
    "KIP-467",
    find,
)
