"""A broker refuses a batch whose checksum is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (2,)  # CORRUPT_MESSAGE
APIS = (0,)


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, topic=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "corrupt-batch",
    Severity.ERROR,
    "a batch that is damaged when it reaches the broker",
    "a batch that {client_id} writes to topic {topic} does not match its checksum: CORRUPT_MESSAGE, {times}",
    "Look at what makes or changes the bytes: the client library (CRC-32C over the batch from its attributes on), "
    "a proxy between, memory of the host.",
    "Kafka protocol guide: record batch",
    find,
)
