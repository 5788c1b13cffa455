"""A group has members that get no partition: there are more of them than partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule, Who
from ..queries import SECOND
from ..text import named

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.groups import Member

SETTLED = SECOND


def find(book: Ledgers) -> Iterator[Case]:
    """Look for members that were given nothing, while all partitions are given to others."""
    for group in book.groups.values():
        living = [member for member in group.known_members() if member.assigned is not None and settled(member)]
        idle = [member for member in living if not member.assigned]
        busy = [member for member in living if member.assigned]
        if not idle or not busy:
            continue
        given = sum(len(partitions) for member in busy for partitions in (member.assigned or {}).values())
        topics = sorted({topic for member in living for topic in member.topics})
        exist = sum(len(book.clusters.topics[name].partitions) for name in topics if name in book.clusters.topics)
        if exist > given or len(living) <= given:
            continue
        counted = bool(topics) and all(name in book.clusters.topics for name in topics)
        if not counted and not all(member.joined.count for member in group.known_members()):
            continue  # what was given before the capture began is not known, nor how many partitions there are
        marks = [member.synced.last for member in idle if member.synced.last is not None]
        yield rule.case(
            Who(idle[0].client_id or None, idle[0].host or None, topic=topics[0] if topics else None, group=group.name),
            marks[0].time, max(member.last_sign for member in idle), len(idle),
            Evidence(tuple(mark.number for mark in marks[:6]), (), ("assignment",)),
            facts={"members": len(living), "partitions": given,
                   "topics": named("topic", topics),
                   "names": named("client", dict.fromkeys(member.client_id for member in idle))},
        )  # fmt: skip


def settled(member: Member) -> bool:
    """Return whether a member kept its last assignment for a while, before it left, if it did."""
    last = member.synced.last
    if last is None:
        return False
    until = member.left.time if member.left is not None else member.last_sign
    return until - last.end >= SETTLED


rule: Rule = Rule(
    "idle-consumers",
    Severity.WARNING,
    "more consumers than partitions",
    ("group {group} has {members:member} for {partitions:partition} of {topics}: no partition is assigned to {names}"),
    "Add partitions to {topics}, or run at most {partitions:consumer} in group {group}.",
    "Kafka documentation, Consumers",
    find,
    ("standby consumers are kept deliberately",),
)
