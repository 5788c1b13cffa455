"""Commits of offsets fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ....protocol.grammars.errors import error_name
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import evidence, failures, who
from .commit_after_leaving_group import GONE, lives

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.groups import Member

COMMIT, TXN_COMMIT = 8, 28
OTHERS: frozenset[int] = frozenset({0, 14, 16, 22, 25, 27, 29, 30, 47, 82, 90, 113})
"""Codes that other rules are about, or that are steps of a protocol."""


def find(book: Ledgers) -> Iterator[Case]:
    """Look for errors in answers to OffsetCommit."""
    codes = {failure.code for failure in book.failures.values() if failure.api_key in (COMMIT, TXN_COMMIT)} - OTHERS
    clients = {member.client_id for member in members_that_live(book)}
    wrong = [one for one in failures(book, GONE, (COMMIT,)) if one.client_id in clients]
    for one in [*failures(book, codes, (COMMIT, TXN_COMMIT)), *wrong]:
        groups = [group.name for group in book.groups.values() if (COMMIT, one.code) in group.errors
                  and one.client_id in group.clients]  # fmt: skip
        yield rule.case(
            who(one.session, topic=one.subject or None, group=groups[0] if groups else None), one.seen.since,
            one.seen.until, one.seen.count, evidence(one.seen, "error_code"), facts={"error": error_name(one.code)},
            weight=2.1,
        )  # fmt: skip


def members_that_live(book: Ledgers) -> Iterator[Member]:
    """Yield the members whose commits are refused as if they were none, though their heartbeats are welcome."""
    for group in book.groups.values():
        for member in group.known_members():
            refused = Occurrences.of(seen for code, seen in member.errors.items() if code in GONE)
            commits = [
                event
                for event in group.events
                if event.kind == "commit" and event.code in GONE and event.member_id == member.member_id
            ]
            if commits and member.left is None and len(commits) >= refused.count and lives(member, refused):
                yield member


rule: Rule = Rule(
    "offset-commit-failing",
    Severity.ERROR,
    "offset commits fail",
    (
        "the coordinator rejects offset commits of client {client_id} for topic {topic} in group "
        "{group}: {error}, {times}; after a restart the client resumes from older offsets"
    ),
    (
        "Check the error (kdbg errors {error}). If the metadata is too large, shorten it or raise "
        "offset.metadata.max.bytes; if the topic is unknown, check that it exists."
    ),
    "Kafka protocol guide: OffsetCommit",
    find,
)
