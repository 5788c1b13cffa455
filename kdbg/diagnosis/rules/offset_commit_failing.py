"""Commits of offsets fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ...grammars.errors import error_name
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

COMMIT, TXN_COMMIT = 8, 28
OTHERS: frozenset[int] = frozenset({0, 14, 16, 22, 25, 27, 29, 30, 47, 82, 90, 113})
"""Codes that other rules are about, or that are steps of a protocol."""


def find(book: Ledgers) -> Iterator[Case]:
    """Look for errors in answers to OffsetCommit."""
    codes = {failure.code for failure in book.failures.values() if failure.api_key in (COMMIT, TXN_COMMIT)} - OTHERS
    for one in failures(book, codes, (COMMIT, TXN_COMMIT)):
        groups = [group.name for group in book.groups.values() if (COMMIT, one.code) in group.errors
                  and one.client_id in group.clients]  # fmt: skip
        yield rule.case(
            who(one.session, topic=one.subject or None, group=groups[0] if groups else None), one.seen.since,
            one.seen.until, one.seen.count, evidence(one.seen, "error_code"), facts={"error": error_name(one.code)},
            weight=2.1,
        )  # fmt: skip


rule: Rule = Rule(
    "offset-commit-failing",
    Severity.ERROR,
    "commits that fail",
    "{client_id} cannot commit offsets of topic {topic} in group {group}: {error}, {times}; after a "
    "restart it "
    "reads from older offsets",
    "Look up the error (kdbg errors {error}): OFFSET_METADATA_TOO_LARGE wants shorter metadata "
    "(offset.metadata.max.bytes), UNKNOWN_TOPIC_OR_PARTITION a topic that still exists.",
    "Kafka protocol guide: OffsetCommit",
    find,
)
