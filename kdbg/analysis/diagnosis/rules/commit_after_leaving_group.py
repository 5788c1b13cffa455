"""A consumer commits offsets when it is no longer a member of its group, or of an older generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Evidence, Rule, Who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.groups import Member

GONE: frozenset[int] = frozenset({22, 25, 113})
"""ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH."""


def find(book: Ledgers) -> Iterator[Case]:
    """Look for commits that are refused to who is no member."""
    for group in book.groups.values():
        events = [event for event in group.events if event.kind == "commit" and event.code in GONE]
        for member_id in dict.fromkeys(event.member_id for event in events):
            seen = Occurrences()
            for event in events:
                if event.member_id == member_id:
                    seen.add(event.mark)
            member = group.members.get(member_id)
            left = member is not None and member.left is not None and member.left.time <= seen.since
            if not left and member is not None and lives(member, seen):
                continue
            session = book.sessions.get(seen.marks[0].connection)
            client = (member.client_id if member is not None else "") or (session.client_id if session else "")
            marks = (
                [member.left, *seen.marks] if left and member is not None and member.left is not None else seen.marks
            )
            yield rule.case(
                Who(client or None, session.peers.client[0] if session else None, group=group.name), seen.since,
                seen.until, seen.count,
                Evidence(tuple(mark.number for mark in marks[:6]), (), ("member_id", "error_code")),
                facts={"why": "left the group" if left else "lost its membership in a rebalance"},
                certainty="certain" if left else "likely", weight=2.1,
            )  # fmt: skip


def lives(member: Member, refused: Occurrences) -> bool:
    """Return whether a member's heartbeats are welcome while its commits are refused: then it commits wrongly."""
    answers = sum(one.count for code, one in member.errors.items() if code in GONE) - refused.count
    return member.beats.count > 0 and member.beats.until > refused.since and answers <= 0


rule: Rule = Rule(
    "commit-after-leaving-group",
    Severity.ERROR,
    "offset commit from a former group member",
    (
        "client {client_id} commits offsets in group {group} after the client {probably}{why}: the "
        "coordinator rejects the commit, {times}, and the records are consumed again"
    ),
    (
        "Commit before close() or unsubscribe(), in onPartitionsRevoked (librdkafka: the rebalance "
        "callback). Find out why a member that did not leave lost its membership."
    ),
    "KIP-62",
    find,
    (
        "the poll loop is too slow",
        "the session timed out",
    ),
)
