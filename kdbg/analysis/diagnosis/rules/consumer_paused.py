"""A member of a group holds partitions, sends heartbeats, and does not fetch from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule, Who
from ..queries import SECOND

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.groups import Member

LONG = 3 * SECOND
WRITTEN = 5


def silent_since(book: Ledgers, member: Member, topic: str) -> int | None:
    """Return when a member fetched last from a topic; None where no fetch of it was captured."""
    times = [
        fetched.requests.until
        for (number, name, _), fetched in book.fetched.items()
        if name == topic and book.sessions[number].client_id == member.client_id
    ]
    return max(times, default=None)


def fetches_at_all(book: Ledgers, member: Member, since: int) -> int:
    """Return when a member's client fetched last from anywhere."""
    return max(
        (polls.times[-1] for number, polls in book.polls.items()
         if polls.times and book.sessions[number].client_id == member.client_id),
        default=since,
    )  # fmt: skip


def find(book: Ledgers) -> Iterator[Case]:
    """Look for assigned topics that are written to and not fetched from, to the end, by members that live."""
    for group in book.groups.values():
        for member in group.known_members():
            if not member.assigned or not member.beats:
                continue
            for topic in member.assigned:
                since = silent_since(book, member, topic)
                if since is None or member.beats.until - since < LONG or fetches_at_all(book, member, since) > since:
                    continue
                written = sum(
                    one.requests.count for (_, name, _), one in book.written.items()
                    if name == topic and one.requests.until > since
                )  # fmt: skip
                if written < WRITTEN:
                    continue
                yield rule.case(
                    Who(member.client_id or None, member.host or None, topic=topic, group=group.name), since,
                    member.beats.until, written, Evidence(member.beats.numbers, (), ("assignment",)),
                    facts={"silent": member.beats.until - since}, certainty="likely", weight=1.6,
                )  # fmt: skip


rule: Rule = Rule(
    "consumer-paused",
    Severity.WARNING,
    "consumer sends heartbeats but does not fetch",
    (
        "client {client_id} owns partitions of topic {topic} in group {group} and sends heartbeats, but "
        "has sent no Fetch request for {silent!d}, while {count:Produce request} wrote to the topic: the "
        "consumer is {probably}paused"
    ),
    (
        "Check whether the consumer calls pause() without resume(), or its poll loop is stuck; a stuck "
        "loop ends the membership when max.poll.interval.ms expires."
    ),
    "KIP-62; Consumer API: pause, resume",
    find,
    ("the poll loop is stuck, but max.poll.interval.ms has not expired yet",),
    frozenset({"consumer-too-slow"}),
)
