"""Clients with different tasks use the same group.id: each takes partitions from the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule, Who
from ..text import UNKNOWN, named

LIKE = 3
"""Letters at their beginning that client ids of one program have in common, at least."""

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.groups import Member


def find(book: Ledgers) -> Iterator[Case]:
    """Look for groups whose members subscribe to topics that have nothing in common."""
    for group in book.groups.values():
        by_client: dict[str, Member] = {}
        for member in group.known_members():
            if member.topics:
                by_client[member.client_id] = member
        members = list(by_client.values())
        pair = next(
            (
                (one, other)
                for place, one in enumerate(members)
                for other in members[place + 1 :]
                if together(one, other) and (subscriptions_differ(one, other) or unlike(one.client_id, other.client_id))
            ),
            None,
        )
        if pair is None:
            continue
        one, other = pair
        marks = [mark for member in pair for mark in (*member.joined.marks[:2], *member.beats.marks[:1])]
        yield rule.case(
            Who(one.client_id or None, one.host or None, topic=one.topics[0], group=group.name),
            min(mark.time for mark in marks), max(mark.end for mark in marks), len(members),
            Evidence(tuple(dict.fromkeys(mark.number for mark in marks)), (), ("group_id", "topics")),
            facts={"other": other.client_id or UNKNOWN["client_id"], "topics": named("topic", one.topics),
                   "others": named("topic", other.topics)},
            certainty="likely" if subscriptions_differ(one, other) else "guess", weight=2.0,
        )  # fmt: skip


def together(one: Member, other: Member) -> bool:
    """Return whether two members belonged to a group at the same time."""
    first = min((mark.time for mark in (*one.joined.marks, *one.beats.marks)), default=0)
    second = min((mark.time for mark in (*other.joined.marks, *other.beats.marks)), default=0)
    return bool(first and second) and one.last_sign >= second and other.last_sign >= first


def subscriptions_differ(one: Member, other: Member) -> bool:
    """Return whether two members subscribe to topics that have nothing in common."""
    return not set(one.topics) & set(other.topics)


def unlike(one: str, other: str) -> bool:
    """Return whether two client ids were given for different programs: they do not even begin alike."""
    return bool(one and other) and one[:LIKE].casefold() != other[:LIKE].casefold()


rule: Rule = Rule(
    "group-id-shared",
    Severity.WARNING,
    "unrelated consumers share a group.id",
    (
        "client {client_id} with {topics} and client {other} with {others} share group {group}: they are "
        "{probably}different applications, and each rebalance of one interrupts the other"
    ),
    "Set a different group.id for each application.",
    "Consumer configs: group.id",
    find,
    ("one application subscribes to several topics deliberately",),
    frozenset({"idle-consumers"}),
)
