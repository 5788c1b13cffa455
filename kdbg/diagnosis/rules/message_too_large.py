"""A producer sends a batch that is larger than the topic allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ...grammars.errors import error_name
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (10, 18)  # MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE
APIS = (0,)


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, topic=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"),
            facts={"size": one.session.used(0).size, "name": error_name(one.code)}, weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "message-too-large",
    Severity.ERROR,
    "a batch that is too large for its topic",
    "{client_id} writes to topic {topic} what is larger than it takes: {name}, {times} (the largest "
    "request has {size:,} bytes)",
    "Raise max.message.bytes of topic {topic} (and message.max.bytes, replica.fetch.max.bytes, fetch.max.bytes of "
    "consumers), or send less at once: smaller records, compression, max.request.size of the producer below the "
    "limit.",
    "Topic configs: max.message.bytes",
    find,
)
